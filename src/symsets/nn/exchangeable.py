"""Maps between sets of points."""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from symsets._checks import check_choice, check_number
from symsets.nn._explain import explained
from symsets.nn.base import ElementMap
from symsets.sets import pool as summarise

POOLS = ("max", "mean", "sum")


class Exchangeable(ElementMap):
    r"""Mix every point of an element with a summary of all its points.

    .. math:: y_p = A x_p + B \operatorname{pool}_{q=1}^{P} x_q + b

    With ``pool="sum"`` this is every linear map that commutes with reorderings of the points.
    The summary is mapped once per element and then added to all points. At initialisation
    outputs have about the scale of the inputs, for sums where :math:`P` = ``size``. Where several
    points hold the maximum, its gradient is shared between them, so that it has the symmetry too.

    Args:
        in_channels: Channels of each point.
        out_channels: Channels of each point of the output.
        bias: Whether to add :math:`b`.
        pool: ``"sum"``, ``"mean"`` or ``"max"``.
        size: A constant that sums are divided by, such as the number of points of training.

    Shape:
        - x: ``(B, C, P)``, or ``(B, C, *P)`` with points on several axes.
        - output: ``(B, C', P)`` or ``(B, C', *P)``.

    Symmetry:
        Equivariant to :math:`S_P`.

    Example:
        >>> layer = Exchangeable(3, 8)
        >>> x, perm = torch.randn(2, 3, 5), torch.randperm(5)
        >>> torch.allclose(layer(x[..., perm]), layer(x)[..., perm], atol=1e-5)
        True

    Reference:
        Zaheer et al., "Deep Sets", NeurIPS 2017.
    """

    axes = ("P",)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        bias: bool = True,
        pool: Literal["sum", "mean", "max"] = "sum",
        size: float = 1.0,
    ) -> None:
        super().__init__(in_channels, out_channels)
        check_choice("pool", pool, POOLS)
        check_number("size", size, zero=False)
        self.pool, self.size = pool, size
        self.weight = nn.Parameter(torch.empty(2, self.out_channels, self.in_channels))  # A and B
        self.bias = nn.Parameter(torch.empty(self.out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights; the two maps share the variance."""
        self._draw((1.5 / self.in_channels) ** 0.5)

    def check_input(self, x: Tensor) -> None:
        super().check_input(x.flatten(2) if isinstance(x, Tensor) and x.ndim > 3 else x)

    @explained
    def forward(self, x: Tensor) -> Tensor:
        own, pooled = self.weight.unbind()
        points = x.flatten(2)  # (B, C, P)
        summary = summarise(points.mT, self.pool, size=self.size)  # (B, C)
        context = linear(summary, pooled, self.bias)  # (B, C')
        y = torch.baddbmm(context.unsqueeze(-1), own.expand(x.shape[0], -1, -1), points)
        return y.unflatten(-1, x.shape[2:])  # (B, C', *P)

    def extra_repr(self) -> str:
        over = f" / {self.size:g}" if self.pool == "sum" and self.size != 1 else ""
        word = "Σ" if self.pool == "sum" else self.pool
        bias = "" if self.bias is None else " + b"
        return f"{self.in_channels} → {self.out_channels}, A x_p + B {word}_q x_q{over}{bias}"

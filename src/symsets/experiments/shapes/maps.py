"""What the networks for sets of shapes are made of, beside the maps in :mod:`symsets.nn`."""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from symsets.nn._explain import check_type, explained
from symsets.nn.base import ElementMap
from symsets.ops.layout import entries_first


class Points(ElementMap):
    r"""Map the channels of every point on its own.

    .. math:: y_p = A x_p + b

    Args:
        in_channels: Channels of a point.
        out_channels: Channels of a point of the output.
        bias: Whether to add :math:`b`.

    Shape:
        - x: ``(B, C, P)``.
        - output: ``(B, C', P)``.

    Symmetry:
        Equivariant to :math:`S_P`.

    Example:
        >>> Points(3, 8)(torch.randn(2, 3, 50)).shape
        torch.Size([2, 8, 50])
    """

    axes = ("P",)

    def __init__(self, in_channels: int, out_channels: int, *, bias: bool = True) -> None:
        super().__init__(in_channels, out_channels)
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        self._draw((3.0 / self.in_channels) ** 0.5)

    @explained
    def forward(self, x: Tensor) -> Tensor:
        check_type(x, self)  # a product with a tensor of device "meta" would be of no numbers
        if entries_first(x):
            return linear(x.movedim(-1, 0), self.weight, self.bias).movedim(0, -1)
        weight = self.weight.expand(x.shape[0], -1, -1)
        if self.bias is None:
            return torch.bmm(weight, x)
        return torch.baddbmm(self.bias[:, None], weight, x)

    def extra_repr(self) -> str:
        bias = "" if self.bias is None else " + b"
        return f"{self.in_channels} → {self.out_channels}, A x_p{bias}"


class MaxOverPoints(nn.Module):
    """Make a vector of every shape: the maximum of each channel.

    Where several points hold it, its gradient is shared between them.

    Shape:
        - x: ``(T, C, V)``.
        - output: ``(T, C)``.

    Symmetry:
        Invariant to permutations of the points.

    Example:
        >>> MaxOverPoints()(torch.tensor([[[1.0, 3.0, 2.0]]]))
        tensor([[3.]])
    """

    def forward(self, x: Tensor) -> Tensor:
        return x.amax(2)

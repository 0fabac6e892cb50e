"""Normalisation by the statistics of whole sets."""

from typing import Any

import torch
from torch import Tensor, nn

from symsets._checks import check_number, positive
from symsets.nn._explain import check_channels, check_type, explained
from symsets.nn.base import SetModule
from symsets.sets import RaggedSets, Sets, fold, pool, spread
from symsets.sets.ragged import common_rows


class SetNorm(SetModule):
    r"""Give all numbers of a set, taken together, mean 0 and variance 1.

    .. math:: y_{ick} = \gamma_c \frac{x_{ick} - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta_c,
        \qquad \mu = \operatorname{mean}_{jcl} x_{jcl}, \quad
        \sigma^2 = \operatorname{mean}_{jcl} (x_{jcl} - \mu)^2

    Layer normalisation would give every element the same mean and variance, and lose by how much
    elements differ in them; batch normalisation mixes sets, and elements of large sets count more.
    Here, only the scale of a whole set is lost. In residual blocks it comes first, so that the sum
    stays as it is (see :class:`Residual`).

    Args:
        channels: Of an element.
        eps: Added to the variance.

    Shape:
        - x: ``(B, N, C, *E)`` or ragged; the output as well.

    Symmetry:
        Equivariant to :math:`S_N` and to every permutation of the entries of an element.

    Example:
        >>> y = SetNorm(8)(3 + 7 * torch.randn(2, 5, 8, 32))
        >>> y.mean((1, 2, 3)).abs().max() < 1e-5, (y.var((1, 2, 3)) - 1).abs().max() < 0.01
        (tensor(True), tensor(True))

    Reference:
        Zhang, Tozzo, Higgins, Ranganath: Set Norm and Equivariant Skip Connections: Putting the
        Deep in Deep Sets. ICML 2022.
    """

    min_axes = 3

    def __init__(self, channels: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        check_number("eps", eps)
        self.channels = positive("channels", channels)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(self.channels))
        self.bias = nn.Parameter(torch.zeros(self.channels))

    def reset_parameters(self) -> None:
        """Scale by one and shift by zero."""
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def extra_repr(self) -> str:
        return f"{self.channels}, eps={self.eps:g}"

    def check_input(self, x: Sets) -> None:
        super().check_input(x)
        rows, _ = fold(x)
        check_type(rows, self)
        check_channels(rows.flatten(2).sum(2) if rows.ndim > 2 else rows, self.channels, self)

    @explained
    def forward(self, x: Sets) -> Any:
        rows = common_rows(x) if isinstance(x, RaggedSets) else x
        dtype = rows.dtype
        rows = rows.float() if dtype in (torch.float16, torch.bfloat16) else rows
        centred = rows - self._mean(rows, x)
        scaled = centred * (self._mean(centred.square(), x) + self.eps).rsqrt()
        shape = (-1, *(1,) * (rows.ndim - (2 if isinstance(x, RaggedSets) else 3)))
        y = (scaled * self.weight.reshape(shape) + self.bias.reshape(shape)).to(dtype)
        return x.with_elements(y) if isinstance(x, RaggedSets) else y

    @staticmethod
    def _mean(rows: Tensor, x: Sets) -> Tensor:
        """Return the mean of all numbers of each set, ready to meet its elements."""
        means = rows.mean(tuple(range(1, rows.ndim)), keepdim=True)  # of sets, or of elements
        if not isinstance(x, RaggedSets):
            return means
        return spread(pool(x.with_elements(means), "mean"), x)

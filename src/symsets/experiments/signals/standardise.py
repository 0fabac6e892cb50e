"""Bring every set to a common scale."""

from collections.abc import Callable

import torch
from torch import Tensor

from symsets.nn.base import SetModule
from symsets.sets import RaggedSets, Sets, map_elements, pool, spread
from symsets.sets.ragged import common_rows, expand_as


class Standardise(SetModule):
    r"""Subtract the mean of all entries of a set and divide by their standard deviation.

    .. math:: x_i \mapsto \frac{x_i - \mu(X)}{\sigma(X) + \varepsilon}

    All elements of a set are treated alike, so how they compare is kept.

    Args:
        eps: Added to the standard deviation.

    Shape:
        - x: ``(B, N, *E)`` or ragged; the output has the same shape.

    Symmetry:
        Equivariant to :math:`S_N` and to every permutation of the entries of an element.

    Example:
        >>> y = Standardise()(100 + 5 * torch.randn(2, 10, 1, 50))
        >>> y.std((1, 2, 3)).round(decimals=2)
        tensor([1., 1.])
    """

    def __init__(self, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: Sets) -> Sets:
        centred = self._combine(x, self._mean(x), torch.sub)
        squares = map_elements(centred, torch.square)
        variance = self._mean(squares)
        # The root has no gradient at zero: sets whose entries are all alike have a scale of eps.
        scale = variance.clamp(min=torch.finfo(variance.dtype).tiny).sqrt() + self.eps
        return self._combine(centred, scale, torch.div)

    @staticmethod
    def _mean(x: Sets) -> Tensor:
        return pool(map_elements(x, lambda rows: rows.flatten(1).mean(1)), "mean")

    @staticmethod
    def _combine(x: Sets, per_set: Tensor, how: Callable[[Tensor, Tensor], Tensor]) -> Sets:
        values = spread(per_set, x)
        if isinstance(x, RaggedSets):
            rows = common_rows(x)
            return x.with_elements(how(rows, expand_as(values, rows)))
        return how(x, expand_as(values, x))

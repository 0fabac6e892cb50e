"""Schemes that aggregate the mapped elements: concatenated maxima, removed means."""

from typing import Any

import torch
from torch import Tensor, nn

from symsets.nn._explain import explained
from symsets.nn.base import SetLayer
from symsets.ops import memory_order
from symsets.sets import Pool, RaggedSets, Sets, add_to_elements, pool, spread
from symsets.sets.pooling import OwnPool, check_pool, pool_symbol
from symsets.sets.ragged import common_rows


class ConcatPool(SetLayer):
    r"""Give every mapped element the maximum over its set as further channels.

    .. math:: L(X)_i = \bigl[L(x_i), \operatorname{pool}_j L(x_j)\bigr]

    Args:
        element: :math:`L`; the output has twice its channels (three times with ``"power2"``).
        pool: How the set is summarised (see :func:`symsets.pool`).

    Shape:
        - x: ``(B, N, *E)`` or ragged.
        - output: ``(B, N, 2 C', *F)``, where ``element`` maps ``(B, *E)`` to ``(B, C', *F)``; those
          of a linear map, ``(B, *F, C')``, keep their channels last.

    Symmetry:
        Equivariant to :math:`S_N \times H` for :math:`H` that permutes the entries, and any
        :math:`H` with means.

    Example:
        >>> ConcatPool(nn.Linear(3, 8))(torch.randn(2, 5, 3)).shape
        torch.Size([2, 5, 16])

    Reference:
        Aittala, Durand: Burst Image Deblurring Using Permutation Invariant Convolutional Neural
        Networks. ECCV 2018.
    """

    def __init__(self, element: nn.Module, *, pool: Pool | str | OwnPool = "max") -> None:
        super().__init__(element)
        check_pool(pool)
        self.pool = pool

    @property
    def formula(self) -> str:
        return f"[element(x_i), {pool_symbol(self.pool, of='element(x_j)')}]"

    @explained
    def forward(self, x: Sets, *args: Any) -> Any:
        y = self.map(x, *args)
        return _beside(y, spread(pool(y, self.pool), y), self.channel_axis)


class RemoveMean(SetLayer):
    r"""Map every element and subtract the mean over the set.

    .. math:: L(X)_i = L(x_i) - \frac{1}{N} \sum_j L(x_j)

    What all elements have in common is removed: useful where differences matter, and harmful where
    the common part is the signal.

    Args:
        element: :math:`L`.

    Shape:
        - x: ``(B, N, *E)`` or ragged.
        - output: ``(B, N, *F)``, where ``element`` maps ``(B, *E)`` to ``(B, *F)``.

    Symmetry:
        Equivariant to :math:`S_N \times H`.

    Example:
        >>> y = RemoveMean(nn.Linear(3, 8))(torch.randn(2, 5, 3))
        >>> bool(y.mean(1).abs().max() < 1e-6)
        True

    Reference:
        Sridhar, Rempe, Valentin, Bouaziz, Guibas: Multiview Aggregation for Learning
        Category-Specific Shape Reconstruction. NeurIPS 2019.
    """

    formula = "element(x_i) - mean_j element(x_j)"

    @explained
    def forward(self, x: Sets, *args: Any) -> Any:
        y = self.map(x, *args)
        return add_to_elements(y, -spread(pool(y, "mean"), y))


def _beside(y: Sets, summary: Tensor, channel_axis: int) -> Sets:
    """Put the summary of its set beside every element, as further channels."""
    if y.ndim < 3:
        raise ValueError("element must return elements with channels, (C, …), got numbers")
    if isinstance(y, RaggedSets):
        return y.with_elements(torch.cat([common_rows(y), summary], dim=channel_axis))
    channels = 2 if channel_axis == 1 else y.ndim - 1
    order, back = memory_order(y)  # so that the result lies in memory as y does
    wide = summary.expand(-1, y.shape[1], *summary.shape[2:]).permute(order)
    return torch.cat([y.permute(order), wide], dim=back[channels]).permute(back)

"""Reductions over sets."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from symsets.ops.layout import memory_order


def reduce_sets(x: Tensor, reduce: Callable[[Tensor, int], Tensor]) -> Tensor:
    """Reduce ``x (B, N, *E)`` over each set, in the order in which it lies in memory.

    For images that are stored channels-last this is several times faster than the order of the
    axes, and keeps the layout.
    """
    if x.is_contiguous() or x.ndim < 4:
        return reduce(x, 1)
    order, back = memory_order(x)
    place = back[1]  # of the sets in memory
    kept = [p - (p > place) for axis, p in enumerate(back) if axis != 1]
    return torch.permute(reduce(torch.permute(x, order), place), kept)

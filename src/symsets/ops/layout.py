"""How tensors lie in memory.

Elements ``(C, L)`` may have their entries *first*: then a batch of rows ``(T, C, L)`` lies in
memory as ``(L, T, C)``. A linear map of the entries (a Fourier transform, a mean over neighbours)
and one of the channels are plain products of aligned matrices then, and batch normalisation sees
rows of channels; on a GPU all of them are several times faster. As with torch's memory formats, the
axes stay what they are and only strides differ. Graph convolutions, spectral circular convolutions,
poolings (but for power sums) and :func:`symsets.ops.norm_act` return entries first where they get
them first.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor


def memory_order(x: Tensor) -> tuple[list[int], list[int]]:
    """Return the axes of ``x`` in the order in which they lie in memory, and the way back.

    Work on ``x.permute(order)`` runs through memory, and its result, permuted back, lies there as
    ``x`` does.

    Example:
        >>> import torch
        >>> images = torch.zeros(2, 3, 8, 8).to(memory_format=torch.channels_last)
        >>> memory_order(images)
        ([0, 2, 3, 1], [0, 3, 1, 2])
    """
    # Symbols, which strides may be in a compiler, have no hash.
    return (_order.__wrapped__ if torch.compiler.is_compiling() else _order)(x.stride())


@cache
def _order(stride: tuple[int, ...]) -> tuple[list[int], list[int]]:
    axes = range(len(stride))
    # Counted, for a compiler cannot sort by sizes that it leaves open.
    back = [
        len([b for b in axes if stride[b] > stride[a] or (b < a and stride[b] == stride[a])])
        for a in axes
    ]
    return [back.index(place) for place in axes], back


def entries_first(rows: Tensor) -> bool:
    """Whether rows ``(T, C, L)`` lie in memory as ``(L, T, C)``.

    Example:
        >>> import torch
        >>> entries_first(torch.zeros(5, 3, 8)), entries_first(torch.zeros(8, 5, 3).movedim(0, -1))
        (False, True)
    """
    return rows.ndim == 3 and not rows.is_contiguous() and rows.movedim(-1, 0).is_contiguous()


def pixel_rows(x: Tensor) -> bool:
    """Whether images ``(T, C, H, W)``, at least one, lie in memory as rows of channels.

    Example:
        >>> import torch
        >>> images = torch.zeros(2, 3, 8, 8)
        >>> pixel_rows(images), pixel_rows(images.to(memory_format=torch.channels_last))
        (False, True)
    """
    return x.ndim == 4 and x.numel() > 0 and x.permute(0, 2, 3, 1).is_contiguous()


def to_fast_layout(x: Tensor) -> Tensor:
    """Put the entries of sets ``(B, N, C, L)`` first where that is fast: on a GPU."""
    return x.movedim(-1, 0).contiguous().movedim(0, -1) if x.is_cuda else x

"""How elements ``(C, L)`` lie in memory: entries last, as torch makes them, or entries first.

With entries *first*, a batch of rows ``(T, C, L)`` lies in memory as ``(L, T, C)``. Then a linear
map of the entries (a Fourier transform, a mean over neighbours) and one of the channels are plain
products of aligned matrices, and batch normalisation sees rows of channels; on a GPU all of them
are several times faster. As with torch's memory formats, the axes stay what they are and only
strides differ: graph convolutions and spectral circular ones, poolings (but for power sums), and
batch normalisation in a :class:`~symsets.nn.Sequential` return entries first where they get them
first.
"""

from __future__ import annotations

from torch import Tensor

from symsets.sets import Sets

__all__ = ["entries_first", "to_fast_layout"]


def entries_first(rows: Tensor) -> bool:
    """Whether rows ``(T, C, L)`` lie in memory as ``(L, T, C)``.

    Example:
        >>> import torch
        >>> entries_first(torch.zeros(5, 3, 8)), entries_first(torch.zeros(8, 5, 3).movedim(0, -1))
        (False, True)
    """
    return rows.ndim == 3 and not rows.is_contiguous() and rows.movedim(-1, 0).is_contiguous()


def to_fast_layout(x: Sets) -> Sets:
    """Put the entries of dense sets ``(B, N, C, L)`` first where that is fast: on a GPU."""
    if not isinstance(x, Tensor) or not x.is_cuda:
        return x
    return x.movedim(-1, 0).contiguous().movedim(0, -1)

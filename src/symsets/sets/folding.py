"""Fold sets into rows and back: the one way in which layers meet dense and ragged batches."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, TypeAlias, Union

import torch
from torch import Tensor, nn

from symsets._plain import is_transformed
from symsets.sets.partition import Partition
from symsets.sets.ragged import RaggedSets, check_rows

__all__ = ["Sets", "check_sets", "fold", "map_elements", "membership", "memory_order", "spread"]

Sets: TypeAlias = Union[Tensor, RaggedSets]  # noqa: UP007 (mypy wants a plain alias here)


def check_sets(x: Any, rank: int = 2) -> None:
    """Raise one sentence unless ``x`` is a batch of sets, with ``rank`` axes or more."""
    if isinstance(x, RaggedSets):
        if isinstance(x.elements, Tensor) and x.elements.ndim + 1 < rank:
            raise ValueError(f"x must have elements with channels, (C, …), got {x}")
        return
    if not isinstance(x, Tensor):
        raise TypeError(f"x must be a tensor or RaggedSets, got {type(x).__name__}")
    if x.ndim < rank:
        axes = ", ".join(["batch", "set", "channels"][:rank])
        raise ValueError(
            f"x must have at least {rank} axes, ({axes}, …), got shape {tuple(x.shape)}"
        )


def fold(x: Sets) -> tuple[Any, Callable[[Any], Any]]:
    """Return all elements as rows ``(T, *E)``, and the function that makes sets of such rows.

    Example:
        >>> rows, unfold = fold(torch.zeros(2, 5, 3))
        >>> rows.shape, unfold(rows).shape
        (torch.Size([10, 3]), torch.Size([2, 5, 3]))
    """
    check_sets(x)
    if isinstance(x, RaggedSets):
        return x.elements, partial(_unfold_ragged, partition=x.partition)
    return x.flatten(0, 1), partial(_unfold_dense, shape=(x.shape[0], x.shape[1]))


def _unfold_ragged(rows: Any, partition: Partition) -> RaggedSets:
    check_rows(rows, partition.total)
    return RaggedSets._make(rows, partition)


def _unfold_dense(rows: Tensor, shape: tuple[int, int]) -> Tensor:
    check_rows(rows, shape[0] * shape[1])
    return rows.unflatten(0, shape)


def map_elements(x: Sets, fn: Callable[..., Any], *args: Any) -> Any:
    """Apply ``fn`` to every element of every set, as one batch of rows.

    Example:
        >>> map_elements(torch.zeros(2, 5, 3), torch.nn.Linear(3, 8)).shape
        torch.Size([2, 5, 8])
    """
    rows, unfold = fold(x)
    return unfold(fn(rows, *args))


def spread(summary: Tensor, x: Sets) -> Tensor:
    """Give every element the summary ``(B, *F)`` of its set, ready to meet the elements of ``x``.

    For a dense batch this is a view ``(B, 1, *F)`` that broadcasts; for a ragged one, rows
    ``(T, *F)``.
    """
    if isinstance(x, RaggedSets):
        return _repeat(summary, x.partition)
    return summary.unsqueeze(1)


def _repeat(summary: Tensor, partition: Partition) -> Tensor:
    n = partition.common_size
    if n is None:
        return summary.index_select(0, partition.index)
    return summary.unsqueeze(1).expand(-1, n, *summary.shape[1:]).flatten(0, 1)


def membership(x: Sets) -> tuple[Tensor, Tensor]:
    """Return the set of each element ``(T,)`` and the size of each set ``(B,)``."""
    if isinstance(x, RaggedSets):
        return x.partition.index, x.partition.sizes
    # What is made inside a transform ends with it, and must not be kept.
    traced = is_transformed() or type(x) not in (Tensor, nn.Parameter)
    make = _dense_partition if traced else _cached_partition
    partition = make(x.shape[0], x.shape[1], x.device)
    return partition.index, partition.sizes


def memory_order(x: Tensor) -> tuple[list[int], list[int]]:
    """Return the axes of ``x`` in the order in which they lie in memory, and the way back.

    Work on ``x.permute(order)`` runs through memory, and its result, permuted back, lies there as
    ``x`` does.

    Example:
        >>> images = torch.zeros(2, 3, 8, 8).to(memory_format=torch.channels_last)
        >>> memory_order(images)
        ([0, 2, 3, 1], [0, 3, 1, 2])
    """
    stride, axes = x.stride(), range(x.ndim)
    # Counted, for a compiler cannot sort by sizes that it leaves open.
    back = [
        len([b for b in axes if stride[b] > stride[a] or (b < a and stride[b] == stride[a])])
        for a in axes
    ]
    return [back.index(place) for place in axes], back


def _dense_partition(batch: int, size: int, device: torch.device) -> Partition:
    return Partition([size] * batch, device)


# One object per shape, so that what is derived from it can be cached, too.
_cached_partition = lru_cache(maxsize=16)(_dense_partition)

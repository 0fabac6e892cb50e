"""Summaries of a set that do not depend on the order of its elements."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from torch import Tensor

from symsets.sets.folding import Sets, check_sets, spread
from symsets.sets.ragged import RaggedSets, common_rows, expand_as

__all__ = ["POOLS", "check_pool", "pool", "pool_symbol", "power_degree", "power_sums", "softmax"]


def pool(x: Sets, how: str = "sum", *, size: float = 1.0) -> Tensor:
    r"""Summarise every set by one element.

    .. math:: \frac{1}{\text{size}} \sum_j x_j, \quad \operatorname{mean}_j x_j, \quad
        \max_j x_j, \quad \operatorname{median}_j x_j, \quad
        \frac{1}{\text{size}} \bigl[\sum_j x_j, \sum_j x_j^2, \dots, \sum_j x_j^k\bigr]

    Sets of different sizes are reduced segment by segment, without padding; sets of equal size
    as a plain tensor. Empty sets pool to zero. The median of an even number of values is the
    mean of the two middle ones. Where several elements hold the maximum, its gradient is shared
    between them, so that the gradient has the symmetry of the value.

    Args:
        x: A batch of sets.
        how: ``"sum"``, ``"mean"``, ``"max"``, ``"median"``, or ``"power2"``, ``"power3"``, … for
            the first 2, 3, … power sums side by side on the channel axis.
        size: A constant that sums are divided by, such as the set size of training.

    Shape:
        - x: ``(B, N, *E)`` or ragged.
        - output: ``(B, *E)``; for power sums ``(B, k C, …)``.

    Symmetry:
        Invariant to :math:`S_N`; commutes with every permutation of the entries of an element.

    Example:
        >>> x = torch.tensor([[[1.0], [2.0], [6.0]]])
        >>> [pool(x, how).item() for how in ("sum", "mean", "max", "median")]
        [9.0, 3.0, 6.0, 2.0]
        >>> pool(x, "power2")
        tensor([[ 9., 41.]])
    """
    check_pool(how)
    check_sets(x)
    degree = power_degree(how)
    if degree is not None:
        return power_sums(x, degree, size=size)
    if how == "sum":
        total = _sum(x)
        return total if size == 1 else total / size
    return POOLS[how](x)


def power_sums(x: Sets, degree: int, *, size: float = 1.0) -> Tensor:
    r"""Return :math:`[\sum_j x_j, \sum_j x_j^2, \dots]` side by side on the channel axis.

    The descriptor with which the universality theorem holds outside a smaller exceptional set:
    it is enough that one of the powers tells the entries of an element apart.

    Example:
        >>> power_sums(torch.tensor([[[1.0], [3.0]]]), 3)
        tensor([[ 4., 10., 28.]])
    """
    check_sets(x, rank=3)
    powers = []
    for k in range(1, degree + 1):
        raised = x.map(torch.pow, k) if isinstance(x, RaggedSets) else x**k
        powers.append(pool(raised, "sum", size=size))
    return torch.cat(powers, dim=1)


def softmax(x: Sets) -> Sets:
    """Take the softmax over the elements of each set, entry by entry.

    Example:
        >>> softmax(RaggedSets(torch.zeros(5, 1), [1, 4])).elements.flatten()
        tensor([1.0000, 0.2500, 0.2500, 0.2500, 0.2500])
    """
    check_sets(x)
    if isinstance(x, Tensor):
        return x.softmax(1)
    dense = _as_dense(x)
    if dense is not None:
        return x.with_elements(dense.softmax(1).flatten(0, 1))
    # The shift changes nothing in exact arithmetic, so no gradient needs to pass through it.
    top = spread(_max(x).detach(), x)
    weights = torch.exp(common_rows(x) - top)
    return x.with_elements(weights / spread(_sum(x.with_elements(weights)), x))


def check_pool(how: str) -> None:
    """Raise one sentence unless ``how`` names a pooling."""
    if how not in POOLS and power_degree(how) is None:
        choices = sorted([*POOLS, "power2", "power3"])
        raise ValueError(f"pool must be one of {choices} (or another power), got {how!r}")


def power_degree(how: str) -> int | None:
    """Return 3 for ``"power3"``, and None for poolings that are no power sums."""
    match = re.fullmatch(r"power([1-9]\d*)", how) if isinstance(how, str) else None
    return int(match.group(1)) if match else None


def pool_symbol(how: str, size: float = 1.0, of: str = "x_j") -> str:
    """Return how a pooling reads in a formula, such as ``Σ_j x_j / 25``."""
    degree = power_degree(how)
    over = "" if size == 1 else f" / {size:g}"
    if how == "sum":
        return f"Σ_j {of}{over}"
    if degree is not None:
        return "[" + ", ".join(f"Σ_j {of}^{k}{over}" for k in range(1, degree + 1)) + "]"
    return f"{how}_j {of}"


def _as_dense(x: Sets) -> Tensor | None:
    """Return ``(B, N, *E)`` where all sets have one size, as a view."""
    if isinstance(x, Tensor):
        return x
    n = x.partition.common_size
    return None if n is None else common_rows(x).unflatten(0, (len(x), n))


def _memory_order(x: Tensor) -> list[int]:
    """Return the axes of one element in the order in which they lie in memory.

    Reducing images that are stored channels-last in their own order is several times faster
    than in the order of the axes, and keeps the layout.
    """
    axes = range(2, x.ndim)
    return [0, 1, *sorted(axes, key=lambda axis: x.stride(axis), reverse=True)]


def _reduce(x: Tensor, fn: Callable[[Tensor], Tensor]) -> Tensor:
    """Apply ``fn``, which removes axis 1, in the memory order of ``x``."""
    if x.is_contiguous() or x.ndim < 4:
        return fn(x)
    order = _memory_order(x)
    back = sorted(range(len(order) - 1), key=lambda k: (order[0], *order[2:])[k])
    return fn(x.permute(order)).permute(back)


def _sum(x: Sets) -> Tensor:
    dense = _as_dense(x)
    if dense is not None:
        return _reduce(dense, lambda t: t.sum(1))
    assert isinstance(x, RaggedSets)
    rows = common_rows(x)
    # Half precision adds up in float32, as a plain sum does.
    half = rows.dtype in (torch.float16, torch.bfloat16)
    terms = rows.float() if half else rows
    total = terms.new_zeros(len(x), *rows.shape[1:]).index_add(0, x.partition.index, terms)
    return total.to(rows.dtype)


def _mean(x: Sets) -> Tensor:
    if isinstance(x, Tensor):
        return _sum(x) / max(x.shape[1], 1)
    n = x.partition.common_size
    if n is not None:
        return _sum(x) / max(n, 1)
    total = _sum(x)
    return total / expand_as(x.sizes.clamp(min=1), total)


def _max(x: Sets) -> Tensor:
    dense = _as_dense(x)
    if dense is not None:
        if dense.shape[1] == 0:
            return dense.sum(1)
        return _reduce(dense, lambda t: t.amax(1))
    assert isinstance(x, RaggedSets)
    rows = common_rows(x)
    index = expand_as(x.partition.index, rows).expand_as(rows)
    # Starting from -inf keeps the start value out of the ties that share the gradient.
    start = rows.new_full((len(x), *rows.shape[1:]), -torch.inf)
    top = start.scatter_reduce(0, index, rows, "amax")
    return _zero_where_empty(top, x)


def _median(x: Sets) -> Tensor:
    dense = _as_dense(x)
    if dense is not None:
        n = dense.shape[1]
        if n == 0:
            return dense.sum(1)
        ordered = dense.sort(dim=1).values
        return (ordered[:, (n - 1) // 2] + ordered[:, n // 2]) / 2
    assert isinstance(x, RaggedSets)
    rows = common_rows(x)
    if len(rows) == 0:
        return rows.new_zeros(len(x), *rows.shape[1:])
    # Sort by value, then (stably) by set: each set's values lie in order, set after set.
    by_value = rows.argsort(dim=0)
    by_set = x.partition.index[by_value].argsort(dim=0, stable=True)
    ordered = rows.gather(0, by_value.gather(0, by_set))
    first, sizes = x.partition.offsets[:-1], x.sizes
    low = (first + (sizes - 1).clamp(min=0) // 2).clamp(max=len(rows) - 1)
    high = (first + sizes // 2).clamp(max=len(rows) - 1)
    return _zero_where_empty((ordered[low] + ordered[high]) / 2, x)


def _zero_where_empty(summary: Tensor, x: RaggedSets) -> Tensor:
    if 0 not in x.partition.counts:
        return summary
    return summary.masked_fill(expand_as(x.sizes == 0, summary), 0)


POOLS: Mapping[str, Callable[[Sets], Tensor]] = MappingProxyType(
    {"sum": _sum, "mean": _mean, "max": _max, "median": _median}
)

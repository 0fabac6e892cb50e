"""Summaries of a set that do not depend on the order of its elements."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeGuard

import torch
from torch import Tensor, nn
from torch.autograd.forward_ad import unpack_dual

from symsets._checks import check_number, positive, shown
from symsets.ops import reduce_sets, set_max
from symsets.sets.folding import Sets, check_sets, spread
from symsets.sets.partition import OpenPartition, Partition
from symsets.sets.ragged import RaggedSets, common_rows, expand_as

Pool = Literal["sum", "mean", "max", "median"]
"""How a set may be summarised; ``"power2"``, ``"power3"``, … are further names."""

OwnPool = Callable[[Any], Tensor]
"""A summary of one's own: a function or module of sets that gives one element for each."""

MAX_DEGREE = 100  # of power sums: far beyond it no type has numbers for them


def pool(x: Sets, how: Pool | str | OwnPool = "sum", *, size: float = 1.0) -> Tensor:
    r"""Summarise every set by one element.

    .. math:: \frac{1}{\text{size}} \sum_j x_j, \quad \operatorname{mean}_j x_j, \quad
        \max_j x_j, \quad \operatorname{median}_j x_j, \quad
        \frac{1}{\text{size}} \bigl[\sum_j x_j, \sum_j x_j^2, \dots, \sum_j x_j^k\bigr]

    Sets of different sizes are reduced segment by segment, without padding; sets of equal size
    as a plain tensor. Empty sets pool to zero. The median of an even number of values is the
    mean of the two middle ones. NaNs spread to the summary of their own set. Where several
    elements hold the maximum or the median, its gradient is shared between them, so that the
    gradient has the symmetry of the value. Sums of integers are 64-bit integers.

    Args:
        x: A batch of sets.
        how: ``"sum"``, ``"mean"``, ``"max"``, ``"median"``, or ``"power2"``, ``"power3"``, … for
            the first 2, 3, … power sums side by side on the channel axis. Or a function or module
            of one's own, from sets to one element for each; the symmetry is then what it keeps.
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
    try:
        if not 0 < size < math.inf:
            check_number("size", size, zero=False)
        if how in POOLS:
            return POOLS[how](x, size)
        if is_own(how):
            return _own(how, x)
        check_pool(how)
        return power_sums(x, power_degree(how) or 0, size=size)
    except (RuntimeError, TypeError, AttributeError, IndexError):
        check_pool(how)
        check_sets(x)
        check_number("size", size, zero=False)
        if x.dtype.is_complex:
            raise TypeError(f"x must be real, as complex numbers have no {how}") from None
        raise


def power_sums(x: Sets, degree: int, *, size: float = 1.0) -> Tensor:
    r"""Return :math:`[\sum_j x_j, \sum_j x_j^2, \dots]` side by side on the channel axis.

    The descriptor with which the universality theorem holds outside a smaller exceptional set:
    it is enough that one of the powers tells the entries of an element apart.

    Args:
        x: A batch of sets.
        degree: The highest power, at most 100.
        size: A constant that sums are divided by.

    Example:
        >>> power_sums(torch.tensor([[[1.0], [3.0]]]), 3)
        tensor([[ 4., 10., 28.]])
    """
    check_sets(x, rank=3)
    if positive("degree", degree) > MAX_DEGREE:
        raise ValueError(f"degree must be at most {MAX_DEGREE}, got {degree}")
    if _is_integer(x.dtype):
        x = x.to(torch.int64)  # powers of small integers do not fit into their own type
    powers = []
    for k in range(1, degree + 1):
        raised = x.with_elements(common_rows(x) ** k) if isinstance(x, RaggedSets) else x**k
        powers.append(pool(raised, "sum", size=size))
    return torch.cat(powers, dim=1)


def softmax(x: Sets) -> Sets:
    """Take the softmax over the elements of each set, entry by entry.

    Example:
        >>> softmax(RaggedSets(torch.zeros(5, 1), [1, 4])).elements.flatten()
        tensor([1.0000, 0.2500, 0.2500, 0.2500, 0.2500])
    """
    check_sets(x)
    if not x.dtype.is_floating_point:
        raise TypeError(f"x must hold floating-point numbers, got {x.dtype}")
    if isinstance(x, Tensor):
        return x.softmax(1)
    dense = _as_dense(x)
    if dense is not None:
        return x.with_elements(dense.softmax(1).flatten(0, 1))
    rows = common_rows(x)
    halved = rows.dtype in (torch.float16, torch.bfloat16)
    x = x.with_elements(rows.float() if halved else rows)  # as in torch's own: sums need digits
    # The shift changes nothing in exact arithmetic, so no gradient needs to pass through it.
    weights = torch.exp(common_rows(x) - spread(_max(x).detach(), x))
    shares = weights / spread(_sum(x.with_elements(weights)), x)
    return x.with_elements(shares.to(rows.dtype))


def _own(how: OwnPool, x: Sets) -> Tensor:
    """Return what a pooling of one's own gives; raise ValueError unless that is a row per set."""
    pooled = how(x)
    if torch.compiler.is_compiling():  # the number of sets stays open
        return pooled
    if not isinstance(pooled, Tensor) or pooled.shape[:1] != (len(x),):
        raise ValueError(
            f"pool must return one element for each of {len(x)} sets, (B, …), got {shown(pooled)}"
        )
    return pooled


def is_own(how: Any) -> TypeGuard[OwnPool]:
    """Whether ``how`` may be a pooling of one's own; a layer of torch, such as Linear, is none."""
    layer = isinstance(how, nn.Module) and next(how.children(), None) is None
    return callable(how) and not (layer and type(how).__module__.startswith("torch.nn."))


def check_pool(how: Any) -> None:
    """Raise ValueError unless ``how`` is a pooling."""
    if is_own(how):
        return
    if not isinstance(how, str) or (how not in POOLS and power_degree(how) is None):
        choices = sorted([*POOLS, "power2", "power3"])
        raise ValueError(
            f"pool must be one of {choices} (or another power, up to {MAX_DEGREE}), or a function "
            f"of sets, got {shown(how)}"
        )


def power_degree(how: Any) -> int | None:
    """Return 3 for ``"power3"``, and None for poolings that are no power sums."""
    degree = how.removeprefix("power") if isinstance(how, str) else ""
    # no regular expression, which older versions of torch cannot compile
    fits = degree != how and degree.isdecimal() and degree.isascii() and degree[0] != "0"
    return int(degree) if fits and len(degree) < 4 and int(degree) <= MAX_DEGREE else None


def pool_symbol(how: Any, size: float = 1.0, of: str = "x_j") -> str:
    """Return how a pooling reads in a formula, such as ``Σ_j x_j / 25``."""
    if hasattr(how, "symbol"):
        return how.symbol(of)
    degree = power_degree(how)
    over = "" if size == 1 else f" / {size:g}"
    if how == "sum":
        return f"Σ_j {of}{over}"
    if degree is not None:
        return "[" + ", ".join(f"Σ_j {of}^{k}{over}" for k in range(1, degree + 1)) + "]"
    name = how if isinstance(how, str) else getattr(how, "__name__", type(how).__name__)
    return f"{name}_j {of}"


def _as_dense(x: Sets) -> Tensor | None:
    """Return ``(B, N, *E)`` where all sets have one size, as a view."""
    if isinstance(x, Tensor):
        return x
    n = x.partition.common_size
    return None if n is None else common_rows(x).unflatten(0, (len(x), n))


def _sum(x: Sets, size: float = 1.0) -> Tensor:
    dense = _as_dense(x)
    if dense is None:
        total = _sum_ragged(x)
    elif _at_once(dense) and dense.shape[1] == size:
        return reduce_sets(dense, Tensor.mean)
    else:
        total = reduce_sets(dense, _add_up)
    return _rounded(total if size == 1 else total / size, x)


def _mean(x: Sets, size: float = 1.0) -> Tensor:
    dense = _as_dense(x)
    if dense is None:
        assert isinstance(x, RaggedSets)
        return _rounded(_sum_ragged(x) / expand_as(x.sizes.clamp(min=1), common_rows(x)), x)
    if _at_once(dense) and dense.shape[1]:
        return reduce_sets(dense, Tensor.mean)
    # Divided when it is small: the gradient of a mean is divided when it is as large as the sets.
    return _rounded(reduce_sets(dense, _add_up) / max(dense.shape[1], 1), x)


def _at_once(x: Tensor) -> bool:
    """Whether torch's mean may add and divide: without a gradient, and with a known set size."""
    known = not torch.compiler.is_compiling()  # an exported program leaves it open
    return known and not torch.is_grad_enabled() and x.is_floating_point()


def _add_up(x: Tensor, axis: int) -> Tensor:
    # A sum may be too large for float16 where what it is divided into is not.
    return x.sum(axis, dtype=torch.float32) if x.dtype == torch.float16 else x.sum(axis)


def _rounded(summary: Tensor, x: Sets) -> Tensor:
    """Return a summary in the type of ``x``; those of integers stay what they are."""
    if summary.dtype == x.dtype or not x.dtype.is_floating_point:
        return summary
    return summary.to(x.dtype)


def _sum_ragged(x: Sets) -> Tensor:
    assert isinstance(x, RaggedSets)
    rows = common_rows(x)
    if rows.dtype in (torch.float16, torch.bfloat16):
        rows = rows.float()  # as torch's own sums, which add up in a wider type
    elif _is_integer(rows.dtype):
        rows = rows.to(torch.int64)
    own = x.partition
    if own.blocks is None:
        return rows.new_zeros(own.num_sets, *rows.shape[1:]).index_add(0, own.index, rows)
    # Large sets are added up block by block: one after the other, rows would lose digits.
    index, blocks = own.blocks
    sums = rows.new_zeros(blocks.total, *rows.shape[1:]).index_add(0, index, rows)
    return _sum_ragged(RaggedSets(sums, partition=blocks))


def _is_integer(dtype: torch.dtype) -> bool:
    return not dtype.is_floating_point and not dtype.is_complex


def _max(x: Sets, size: float = 1.0) -> Tensor:
    dense = _as_dense(x)
    if dense is not None:
        return set_max(dense) if dense.shape[1] else dense.sum(1, dtype=dense.dtype)
    assert isinstance(x, RaggedSets)
    rows = common_rows(x)
    index = expand_as(x.partition.index, rows).expand_as(rows)
    # Starting from -∞ keeps the start out of the ties that share the gradient.
    floats = rows.is_floating_point()
    start = rows.new_full((x.partition.num_sets, *rows.shape[1:]), -torch.inf if floats else 0)
    top = start.scatter_reduce(0, index, rows, "amax", include_self=floats)
    return _zero_where_empty(top, x)


def _median(x: Sets, size: float = 1.0) -> Tensor:
    dense = _as_dense(x)
    if dense is not None:
        n = dense.shape[1]
        if n == 0:
            return _mean(x)
        ordered = dense.detach().sort(dim=1).values
        if torch.compiler.is_compiling():  # n may be open, and both middle values the same
            places = [torch.full((1,), k, device=x.device) for k in ((n - 1) // 2, n // 2, n - 1)]
            return _middle(dense, *(ordered.index_select(1, k).squeeze(1) for k in places))
        low = ordered[:, (n - 1) // 2]
        return _middle(dense, low, ordered[:, n // 2] if n % 2 == 0 else low, ordered[:, -1])
    assert isinstance(x, RaggedSets)
    rows = common_rows(x)
    if rows.shape[0] == 0:
        return _mean(x)
    # Sorting is what takes long on a CPU, and starting a sort for every size on a GPU.
    by_size = rows.device.type == "cpu" and not isinstance(x.partition, OpenPartition)
    middle = _middle_by_size if by_size else _middle_at_once
    return _zero_where_empty(_middle(x, *middle(rows.detach(), x.partition)), x)


def _middle_by_size(rows: Tensor, partition: Partition) -> Sequence[Tensor]:
    """Return the two middle values of each set and the last one; sets of one size are one sort."""
    found = []
    for sets in partition.by_size(rows):
        n, ordered = sets.shape[1], sets.sort(dim=1).values
        found.append(torch.stack([ordered[:, (n - 1) // 2], ordered[:, n // 2], ordered[:, -1]]))
    which = torch.cat([sets for sets, _ in partition.buckets])
    zeros = rows.new_zeros(3, len(partition), *rows.shape[1:])  # empty sets are in no bucket
    return zeros.index_copy(1, which, torch.cat(found, dim=1)).unbind()


def _middle_at_once(rows: Tensor, partition: Partition) -> Sequence[Tensor]:
    """Return the same by two sorts of all rows; the values of empty sets mean nothing."""
    # Sort by value, then by set and place: each set's values lie in order, set after set.
    by_value = rows.argsort(dim=0)
    places = expand_as(torch.arange(rows.shape[0], device=rows.device), rows)
    by_set = (partition.index[by_value] * rows.shape[0] + places).argsort(dim=0)
    ordered = rows.gather(0, by_value.gather(0, by_set))
    first, sizes = partition.offsets[:-1], partition.sizes
    steps = (sizes - 1).clamp(min=0) // 2, sizes // 2, (sizes - 1).clamp(min=0)
    return [ordered[(first + step).clamp(max=rows.shape[0] - 1)] for step in steps]


def _middle(x: Sets, low: Tensor, high: Tensor, last: Tensor) -> Tensor:
    """Return the mean of two values; NaN where the last of the sorted values, the NaNs, is one."""
    # Halved first: the sum of both may not fit into a small type.
    lower = _share_gradient(x, low)
    half = lower / 2 + (lower if high is low else _share_gradient(x, high)) / 2
    return torch.where(last.isnan(), last, half)


def _share_gradient(x: Sets, value: Tensor) -> Tensor:
    """Let the gradient of ``value (B, *E)`` reach all elements that hold it, in equal shares."""
    rows = x if isinstance(x, Tensor) else common_rows(x)
    if not _is_differentiated(rows):
        return value
    holds = (rows == spread(value, x)) & rows.isfinite()
    zeros = torch.where(holds, rows - rows.detach(), 0)
    parts = [zeros, holds.to(rows.dtype)]
    sums = [_sum(part if isinstance(x, Tensor) else x.with_elements(part)) for part in parts]
    return value + sums[0] / sums[1].clamp(min=1)


def _is_differentiated(x: Tensor) -> bool:
    """Whether a derivative may be asked for, in reverse or in forward mode."""
    wanted = torch.is_grad_enabled() or unpack_dual(x).tangent is not None
    return wanted and x.is_floating_point()


def _zero_where_empty(summary: Tensor, x: RaggedSets) -> Tensor:
    if not x.partition.may_have_empty:
        return summary
    return summary.masked_fill(expand_as(x.sizes == 0, summary), 0)


POOLS: Mapping[Any, Callable[[Sets, float], Tensor]] = {
    "sum": _sum,
    "mean": _mean,
    "max": _max,
    "median": _median,
}

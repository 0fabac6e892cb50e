"""A batch of sets of different sizes, without padding."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from symsets._checks import shown
from symsets.sets.partition import Partition


# A dataclass, for DistributedDataParallel and Lightning look for tensors in the fields of these.
@dataclass(init=False, repr=False, eq=False)
class RaggedSets:
    """A batch of sets of different sizes: all elements end to end, plus the size of each set.

    Nothing is padded, so nothing can leak from padding, and no work is spent on it. Empty sets
    are allowed. Elements may themselves be a ragged batch (sets of clouds with different numbers
    of points); there only schemes without a common index set exist (``siamese``, ``wreath``), and
    the map of an element must itself be a set layer, as in ``Siamese(DSS(…))``.

    It is a pytree node, moves with ``.to`` and ``.pin_memory``, and survives a ``DataLoader`` and
    ``torch.save``; ``torch.load`` reads it with ``weights_only``.

    Args:
        elements: The elements of the first set, then those of the second, and so on.
        sizes: Number of elements of each set; they must add up to the number of elements.
        partition: How other sets with as many elements are divided, in place of ``sizes``.

    Shape:
        - elements: ``(T, *E)``.
        - sizes: ``(B,)``.

    Example:
        >>> sets = RaggedSets(torch.randn(5, 3, 32, 32), sizes=[2, 0, 3])
        >>> sets
        RaggedSets(3 sets of 0–3 elements (3, 32, 32))
        >>> sets[2].shape
        torch.Size([3, 3, 32, 32])
    """

    elements: Any
    partition: Partition

    def __init__(
        self,
        elements: Tensor | RaggedSets,
        sizes: Tensor | Sequence[int] = (),
        *,
        partition: Partition | None = None,
    ) -> None:
        if partition is None:
            partition = Partition(_checked_sizes(elements, sizes), elements.device)
        elif len(sizes):
            raise ValueError("sizes must be left out where partition says them, got both")
        else:
            check_rows(elements, partition.total, "elements must be")
        self.elements = elements
        self.partition = partition

    @classmethod
    def _make(cls, elements: Any, partition: Partition) -> RaggedSets:
        sets = cls.__new__(cls)
        sets.elements, sets.partition = elements, partition
        return sets

    def __reduce__(self) -> tuple[Any, ...]:
        # So a file holds elements and numbers, which are checked when it is read.
        return RaggedSets, (self.elements, list(self.partition.counts))

    @classmethod
    def from_list(cls, sets: Iterable[Any]) -> RaggedSets:
        """Join sets given one by one: tensors ``(N_i, *E)``, or lists of clouds ``(P_ij, *E)``.

        A set of clouds may be ragged as well, as :meth:`to_list` gives it.

        Example:
            >>> RaggedSets.from_list([torch.zeros(2, 3), torch.zeros(4, 3)]).sizes
            tensor([2, 4])
        """
        sets = list(sets)
        if not sets:
            raise ValueError("sets must hold at least one set, got none")
        if all(isinstance(s, list | tuple) for s in sets):
            clouds = [cloud for s in sets for cloud in s]
            return cls(cls.from_list(clouds), [len(s) for s in sets])
        try:
            return cls(end_to_end(sets), [len(s) for s in sets])
        except RuntimeError as error:
            raise ValueError(
                f"sets (N, *E), or lists of elements (P, *E), may differ in their first axis only: "
                f"{error}"
            ) from error

    @classmethod
    def from_padded(cls, x: Tensor, mask: Tensor) -> RaggedSets:
        """Keep the elements of ``x (B, N, *E)`` where ``mask (B, N)`` is true.

        Example:
            >>> x = torch.arange(6.0).reshape(2, 3, 1)
            >>> RaggedSets.from_padded(x, torch.tensor([[True, False, True], [True, True, True]]))
            RaggedSets(2 sets of 2–3 elements (1,))
        """
        if mask.dtype != torch.bool or mask.shape != x.shape[:2]:
            raise ValueError(
                f"mask must be boolean of shape {tuple(x.shape[:2])}, got {shown(mask)}"
            )
        return cls(x[mask], mask.sum(1))

    def to_padded(self, value: float = 0.0) -> tuple[Tensor, Tensor]:
        """Return ``x (B, N, *E)``, filled up with ``value``, and ``mask (B, N)``."""
        rows, longest = common_rows(self), max(self.partition.counts, default=0)
        own = self.partition
        mask = torch.arange(longest, device=rows.device) < own.sizes[:, None]  # (B, N)
        place = torch.arange(own.total, device=rows.device) - own.offsets[own.index]
        x = rows.new_full((*mask.shape, *rows.shape[1:]), value)
        return x.index_put((own.index, place), rows), mask

    def to_list(self) -> list[Any]:
        """Return the sets one by one."""
        return list(self)

    @property
    def sizes(self) -> Tensor:
        """Number of elements of each set, ``(B,)``; a copy, which may be changed in place."""
        return self.partition.sizes.clone()

    @property
    def ndim(self) -> int:
        """Number of axes of a dense batch of such sets, those of batch and set included."""
        return 1 + int(self.elements.ndim)

    @property
    def device(self) -> torch.device:
        """Where the elements are."""
        return self.elements.device

    @property
    def dtype(self) -> torch.dtype:
        """Type of the entries."""
        return self.elements.dtype

    def map(self, fn: Callable[..., Any], *args: Any) -> RaggedSets:
        """Apply ``fn`` to all elements at once; it must keep one row per element.

        Example:
            >>> RaggedSets(torch.ones(3, 2), [1, 2]).map(torch.nn.Linear(2, 8))
            RaggedSets(2 sets of 1–2 elements (8,))
        """
        return self.with_elements(fn(self.elements, *args))

    def with_elements(self, elements: Any) -> RaggedSets:
        """Return the same sets made of other elements, one for one."""
        check_rows(elements, self.partition.total)
        return RaggedSets._make(elements, self.partition)

    def _like(self, elements: Any) -> RaggedSets:
        return RaggedSets._make(elements, self.partition.to(elements.device))

    def to(self, *args: Any, **kwargs: Any) -> RaggedSets:
        """Move or cast the elements as ``Tensor.to`` does."""
        return self._like(self.elements.to(*args, **kwargs))

    def cpu(self) -> RaggedSets:
        """Move the elements to the CPU."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> RaggedSets:
        """Move the elements to a GPU."""
        return self.to("cuda" if device is None else device)

    def detach(self) -> RaggedSets:
        """Return the same sets, through which no gradient passes."""
        return self._like(self.elements.detach())

    def pin_memory(self, device: Any = None) -> RaggedSets:
        """Copy the elements to page-locked memory."""
        return self._like(self.elements.pin_memory())

    def record_stream(self, stream: Any) -> None:
        """Keep the memory of elements and sizes until a CUDA stream is done with them."""
        own = self.partition
        for part in (self.elements, own.sizes, own.offsets, own.index):
            part.record_stream(stream)

    def __len__(self) -> int:
        return len(self.partition)

    def __getitem__(self, which: Any) -> Any:
        """Return one set ``(N_i, *E)``, or a batch of some of the sets, in any order.

        They are chosen by an integer, a slice, a list, or a tensor, of integers or booleans.

        Example:
            >>> RaggedSets(torch.arange(6), [1, 2, 3])[[2, 0]].elements
            tensor([3, 4, 5, 0])
        """
        if getattr(which, "dtype", None) == torch.uint8:  # torch takes them for a mask
            raise TypeError("index must be integers or booleans, got torch.uint8: call .bool()")
        own, which = self.partition, which.tolist() if isinstance(which, Tensor) else which
        if not isinstance(which, slice) and np.ndim(which):
            places = np.arange(len(self))[which].tolist()
        elif isinstance(places := range(len(self))[which], int):
            return self.elements[own.starts[places] : own.starts[places + 1]]
        elif places.step == 1 and len(places):  # a view
            first, end = places.start, places.stop
            rows = self.elements[own.starts[first] : own.starts[end]]
            return RaggedSets(rows, own.counts[first:end])
        some = Partition([own.counts[i] for i in places], self.device)
        first = some._tensor([own.starts[i] for i in places])
        # Row k of the result is as far from the old start of its set as from the new one.
        shift = (first - some.offsets[:-1])[some.index]
        rows = torch.arange(some.total, device=self.device) + shift
        return RaggedSets._make(self.elements[rows], some)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __add__(self, other: RaggedSets) -> RaggedSets:
        """Add two batches of the same sizes element by element (for residual connections)."""
        if not isinstance(other, RaggedSets):
            return NotImplemented
        if self.partition != other.partition:
            raise ValueError(
                "sets must have the same sizes to be added, "
                f"got {shown(self.partition.counts)} and {shown(other.partition.counts)}"
            )
        if self.ndim != other.ndim:  # torch would add up the last axes, whatever they are
            raise ValueError(
                f"sets must have elements with as many axes to be added, got {self} and {other}"
            )
        return self.with_elements(self.elements + other.elements)

    @classmethod
    def __torch_function__(cls, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """Say what to do instead where a function of torch gets ragged sets."""
        raise TypeError(
            f"{getattr(fn, '__name__', fn)} must get tensors, got {cls.__name__}: apply it to the "
            "elements, as in x.map(fn), or put the layer into a symsets.Sequential"
        )

    def __repr__(self) -> str:
        counts = self.partition.counts
        low, high = min(counts, default=0), max(counts, default=0)
        span = str(low) if low == high else f"{low}–{high}"
        if isinstance(self.elements, RaggedSets):
            inner = repr(self.elements)[len("RaggedSets(") : -1]
            return f"RaggedSets({len(self)} sets of {span} from [{inner}])"
        return f"RaggedSets({len(self)} sets of {span} elements {tuple(self.elements.shape[1:])})"


def end_to_end(batches: Sequence[Any]) -> Any:
    """Join batches into one: tensors along their first axis, or batches of ragged sets."""
    if not isinstance(batches[0], RaggedSets):
        return torch.cat(list(batches))
    counts = [count for batch in batches for count in batch.partition.counts]
    return RaggedSets(end_to_end([batch.elements for batch in batches]), counts)


def _unflatten(children: Iterable[Any], partition: Partition) -> RaggedSets:
    """Make sets of what became of the elements, on the device that they were moved to."""
    elements = next(iter(children))
    if isinstance(elements, Tensor | RaggedSets):
        partition = partition.to(elements.device)
    return RaggedSets._make(elements, partition)


pytree.register_pytree_node(
    RaggedSets,
    lambda sets: ([sets.elements], sets.partition),
    _unflatten,
    serialized_type_name="symsets.RaggedSets",
    to_dumpable_context=lambda partition: list(partition.counts),
    from_dumpable_context=Partition,
    flatten_with_keys_fn=lambda sets: (
        [(pytree.GetAttrKey("elements"), sets.elements)],
        sets.partition,
    ),
)


torch.serialization.add_safe_globals([RaggedSets])  # numbers and tensors, no code


def _checked_sizes(elements: Tensor | RaggedSets, sizes: Tensor | Sequence[int]) -> list[int]:
    if not isinstance(elements, Tensor | RaggedSets) or elements.ndim == 0:
        raise TypeError(
            f"elements must be a tensor (T, *E) or RaggedSets, got {not_sets(elements)}"
        )
    try:
        given = sizes.tolist() if isinstance(sizes, Tensor) else sizes
        counts = [operator.index(n) for n in given]
    except TypeError:
        raise TypeError(f"sizes must be a vector of integers, got {shown(sizes)}") from None
    if sum(counts) != len(elements):
        raise ValueError(
            f"sizes must add up to the number of elements, {len(elements)}, "
            f"got {shown(counts)} (sum {sum(counts)})"
        )
    return counts


def not_sets(value: Any) -> str:
    """Describe a value that is no batch of sets, and what makes one of a list."""
    hint = ": RaggedSets.from_list makes sets of a list of tensors (N, *E)"
    return type(value).__name__ + (hint if isinstance(value, list | tuple) else "")


def check_rows(rows: Any, total: int, who: str = "element must return") -> None:
    """Raise TypeError or ValueError unless ``rows`` are one per element."""
    if not isinstance(rows, (Tensor, RaggedSets)):
        raise TypeError(f"{who} one tensor, got {type(rows).__name__}")
    if isinstance(rows, Tensor):
        got = rows.shape[0] if rows.ndim else "a single number"
    else:
        got = len(rows)
    if got != total:
        raise ValueError(f"{who} one row per element, {total}, got {got}")


def common_rows(sets: RaggedSets) -> Tensor:
    """Return the elements as one tensor; raise ValueError if they have no common index set."""
    if isinstance(sets.elements, RaggedSets):
        raise ValueError(
            "elements must share an index set to be compared entry by entry, got elements of "
            "different sizes: their symmetry is the wreath product, so use 'siamese' or 'wreath', "
            "or pool each element first"
        )
    return sets.elements


def expand_as(values: Tensor, x: Tensor) -> Tensor:
    """Append axes to ``values`` until it broadcasts against ``x``."""
    return values.reshape(*values.shape, *(1,) * (x.ndim - values.ndim))

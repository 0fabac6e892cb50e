"""How the rows of a batch are divided into sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from symsets.ops._constants import outside_transforms

BLOCK = 1024


def kept(make: Callable[[Any], Any]) -> Any:
    """Make a property of a method, whose value is kept unless torch is tracing."""
    name = make.__name__

    def get(self: Any) -> Any:
        if name in self._derived:
            return self._derived[name]
        made = outside_transforms(partial(make, self))
        if not torch.compiler.is_compiling():
            self._derived[name] = made
        return made

    return property(get, doc=make.__doc__)


class Partition:
    """How the rows of a ragged batch are divided into sets.

    All layers that a batch passes through share one object, so what follows from the sizes is
    computed once. The host knows the sizes too: no layer waits for the device to learn them.

    Args:
        counts: The number of elements of each set.
        device: Where the derived tensors live.

    Attributes:
        starts: Row at which each set starts, and the end, B + 1 numbers.
        num_sets: The number of sets, B.
        total: Number of elements of all sets together.
        common_size: The size that all sets share, or None.
        may_have_empty: Whether a set may have no elements.
        sizes: ``counts`` on the device, ``(B,)``.
        offsets: ``starts`` on the device, ``(B + 1,)``.
    """

    def __init__(self, counts: Iterable[int], device: torch.device | str = "cpu") -> None:
        self.counts = tuple(int(n) for n in counts)
        if min(self.counts, default=0) < 0:
            raise ValueError(f"sizes must not be negative, got {min(self.counts)}")
        self.num_sets = len(self.counts)
        self.starts = tuple(accumulate(self.counts, initial=0))
        self.total = self.starts[-1]
        self.common_size = self.counts[0] if len(set(self.counts)) == 1 else None
        self.may_have_empty = 0 in self.counts
        self.device = torch.device(device)
        self.sizes = self._tensor(self.counts)
        self.offsets = self._tensor(self.starts)
        self._derived: dict[str, Any] = {}

    def __len__(self) -> int:
        return self.num_sets

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Partition) and self.counts == other.counts)

    def __hash__(self) -> int:
        return hash(self.counts)

    def __reduce__(self) -> tuple[Any, ...]:
        return Partition, (self.counts, self.device)

    def to(self, device: torch.device | str) -> Partition:
        """Return the same partition on another device."""
        device = torch.device(device)
        return self if device == self.device else Partition(self.counts, device)

    def _tensor(self, values: Sequence[Any]) -> Tensor:
        with torch.inference_mode(False):  # what is kept may be used in training
            return torch.tensor(values, dtype=torch.int64, device=self.device)

    @kept
    def index(self) -> Tensor:
        """The set that each row belongs to, ``(T,)``."""
        which = torch.arange(len(self), device=self.device)
        return which.repeat_interleave(self.sizes, output_size=self.total)

    @kept
    def blocks(self) -> tuple[Tensor, Partition] | None:
        """The block that each row belongs to ``(T,)``, and the blocks of each set.

        A block has up to 1,024 rows of one set. None if no set has more.
        """
        if max(self.counts, default=0) <= BLOCK:
            return None
        blocks = Partition([-(-n // BLOCK) for n in self.counts], self.device)
        place = torch.arange(self.total, device=self.device) - self.offsets[self.index]
        return blocks.offsets[self.index] + place // BLOCK, blocks

    @kept
    def buckets(self) -> list[tuple[Tensor, Tensor]]:
        """Sets grouped by their size: (which sets ``(b,)``, their rows ``(b, n)``) per size."""
        groups: dict[int, list[int]] = {}
        for i, n in enumerate(self.counts):
            groups.setdefault(n, []).append(i)
        groups.pop(0, None)
        steps = torch.arange(max(groups, default=0), device=self.device)
        return [
            (self._tensor(sets), self._tensor([[self.starts[i]] for i in sets]) + steps[:n])
            for n, sets in sorted(groups.items())
        ]

    @kept
    def order(self) -> tuple[Tensor, Tensor]:
        """All rows in the order of the :attr:`buckets`, ``(T,)``, and the way back."""
        order = torch.cat([self._tensor([]), *(rows.flatten() for _, rows in self.buckets)])
        return order, order.argsort()

    def by_size(self, rows: Tensor) -> list[Tensor]:
        """Return ``rows (T, *E)`` as dense sets ``(b, n, *E)`` for each of the :attr:`buckets`."""
        shapes = [which.shape for _, which in self.buckets]
        # Reordered at once: the gradient of each part alone would be as large as all rows.
        parts = rows.index_select(0, self.order[0]).split([shape.numel() for shape in shapes])
        return [part.unflatten(0, shape) for part, shape in zip(parts, shapes, strict=True)]

    def from_sizes(self, parts: Sequence[Tensor]) -> Tensor:
        """Undo :meth:`by_size`."""
        return torch.cat([part.flatten(0, 1) for part in parts]).index_select(0, self.order[1])


class OpenPartition(Partition):
    """A partition in a program that is being exported, where sizes are known when it runs.

    Args:
        sizes: The number of elements of each set, ``(B,)``.
        total: Number of elements of all sets together.
    """

    def __init__(self, sizes: Tensor, total: int) -> None:
        self.sizes = sizes
        self.num_sets = sizes.shape[0]
        self.total = total
        self.device = sizes.device
        self.common_size = None
        self.may_have_empty = True
        ends = sizes.cumsum(0)
        self.offsets = torch.cat([ends.new_zeros(1), ends])

    @property
    def blocks(self) -> None:
        """Not known: each set counts as one block."""

    @property
    def index(self) -> Tensor:
        """The set that each row belongs to, ``(T,)``."""
        rows = torch.arange(self.total, device=self.device)
        return (rows[:, None] >= self.offsets[1:]).sum(1)

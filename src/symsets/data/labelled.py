"""Datasets of sets with targets, as training and evaluation use them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset

from symsets._checks import positive
from symsets.sets import RaggedSets, Sets
from symsets.sets.ragged import not_sets


class SetDataset:
    """Base class of sets with targets, all on one device.

    Attributes:
        num_steps: Steps of an epoch, if the sets decide that.
    """

    num_steps: int | None = None

    @property
    def num_sets(self) -> int:
        """How many sets there are."""
        raise NotImplementedError

    @property
    def device(self) -> torch.device:
        """Where they are made."""
        raise NotImplementedError

    def batch(self, which: Tensor) -> tuple[Any, Any]:
        """Return sets ``(*which.shape, N, C, *E)`` and targets, for training.

        Sets of different sizes, and ragged targets, come as a list, with a ragged batch for each
        row of ``which``. What is random about them is drawn anew by the default generator of the
        device, without ever making the host wait, so that a CUDA graph can replay it.
        """
        raise NotImplementedError

    def part(self, start: int, stop: int) -> tuple[Any, Any]:
        """Return the sets from ``start`` to ``stop``, the same in every call, for evaluation."""
        raise NotImplementedError

    def first(self, num: int) -> SetDataset:
        """Return the first ``num`` sets."""
        raise NotImplementedError

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> SetDataset:
        """Move what sets are made of, and cast their entries if a type is given."""
        raise NotImplementedError

    def batches(self, order: Tensor) -> Iterator[tuple[Any, Any]]:
        """Give the batches of all steps ``order (S, K, B)``, for training."""
        return (self.batch(which) for which in order)

    def parts(self, batch_size: int) -> Iterator[tuple[Any, Any]]:
        """Give all sets in turn, the same in every call, for evaluation."""
        starts = range(0, self.num_sets, batch_size)
        return (self.part(start, start + batch_size) for start in starts)

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch comes next: it seeds what is random about some sets."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelledSets(SetDataset, Dataset[tuple[Any, Any]]):
    """Sets ``x (M, N, C, *E)`` or ragged, and labels ``y (M,)``, the simplest :class:`SetDataset`.

    Any target with a row for each set takes the place of the labels: ``(M, …)``, or ragged, such
    as one number for each element of sets that differ in size.

    A dataset as well, of pairs of a set and its label: a ``DataLoader`` takes it, with
    ``collate_fn=symsets.collate`` if sets differ in size.

    Example:
        >>> x = RaggedSets(torch.zeros(9, 3), sizes=[2, 3, 4])
        >>> sets = LabelledSets(x, torch.tensor([0, 1, 0]))
        >>> sets
        LabelledSets(x: RaggedSets(3 sets of 2–4 elements (3,)), y: (3,))
        >>> sets.part(1, 3)
        (RaggedSets(2 sets of 3–4 elements (3,)), tensor([1, 0]))
        >>> len(sets), sets[2]
        (3, (tensor([[0., 0., 0.],
                [0., 0., 0.],
                [0., 0., 0.],
                [0., 0., 0.]]), tensor(0)))
    """

    x: Sets
    y: Sets

    def __post_init__(self) -> None:
        _check(self.x, self.y)

    def __reduce__(self) -> tuple[Any, ...]:
        return LabelledSets, (self.x, self.y)  # so what a file holds is checked when it is read

    def __repr__(self) -> str:
        return f"LabelledSets(x: {_shape(self.x)}, y: {_shape(self.y)})"

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self.x[index], self.y[index]

    @property
    def num_sets(self) -> int:
        return len(self.y)

    @property
    def device(self) -> torch.device:
        return self.y.device

    def batch(self, which: Tensor) -> tuple[Any, Any]:
        return _some(self.x, which), _some(self.y, which)

    def part(self, start: int, stop: int) -> tuple[Sets, Any]:
        return self.x[start:stop], self.y[start:stop]

    def first(self, num: int) -> LabelledSets:
        if positive("num", num) > len(self.y):
            raise ValueError(f"num must be in 1..{len(self.y)}, got {num}")
        return LabelledSets(self.x[:num], self.y[:num])

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> LabelledSets:
        return LabelledSets(self.x.to(device, dtype), self.y.to(device))


torch.serialization.add_safe_globals([LabelledSets])


def _check(x: Any, y: Any) -> None:
    if not isinstance(x, Tensor | RaggedSets):
        raise TypeError(f"x must be a tensor (M, N, C, …) or RaggedSets, got {not_sets(x)}")
    if not isinstance(y, Tensor | RaggedSets):
        raise TypeError(f"y must be a tensor (M, …) or RaggedSets, got {type(y).__name__}")
    if y.ndim == 0 or len(x) != len(y):
        raise ValueError(f"y must hold a label for each set of x, {_shape(x)}, got {_shape(y)}")


def _shape(sets: Sets) -> tuple[int, ...] | RaggedSets:
    return tuple(sets.shape) if isinstance(sets, Tensor) else sets


def _some(sets: Sets, which: Tensor) -> Any:
    """Return some rows; ragged ones as a list, with a batch for each row of ``which``."""
    if isinstance(sets, RaggedSets) and which.ndim > 1:
        return [sets[row] for row in which]
    return sets[which]

"""Sets with their targets: what every training and every test asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.utils.data import Dataset

from symsets.sets import RaggedSets, Sets

__all__ = ["LabelledSets", "Supply"]


class Supply(Protocol):
    """Sets with targets, all on one device."""

    @property
    def num_sets(self) -> int:
        """How many sets there are."""
        ...

    @property
    def device(self) -> torch.device:
        """Where they are made."""
        ...

    def batch(self, which: Tensor) -> tuple[Any, Tensor]:
        """Return sets ``(*which.shape, N, C, *E)`` and targets, for training.

        Sets of different sizes come as a list, with a ragged batch for each row of ``which``.
        What is random about them is drawn anew by the default generator of the device, without
        ever making the host wait, so that a CUDA graph can replay it.
        """
        ...

    def part(self, start: int, stop: int) -> tuple[Sets, Tensor]:
        """Return the sets from ``start`` to ``stop``, the same in every call, for evaluation."""
        ...

    def first(self, num: int) -> Supply:
        """Return the first ``num`` sets."""
        ...

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Supply:
        """Move what sets are made of, and cast their entries if a type is given."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class LabelledSets(Dataset[tuple[Any, Tensor]]):
    """Sets ``x (M, N, C, *E)`` or ragged, and labels ``y (M,)``, the simplest :class:`Supply`.

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
    y: Tensor

    def __post_init__(self) -> None:
        _check(self.x, self.y)

    def __repr__(self) -> str:
        shown = tuple(self.x.shape) if isinstance(self.x, Tensor) else self.x
        return f"LabelledSets(x: {shown}, y: {tuple(self.y.shape)})"

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: int) -> tuple[Any, Tensor]:
        return self.x[index], self.y[index]

    @property
    def num_sets(self) -> int:
        """How many sets there are."""
        return len(self.y)

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self.y.device

    def batch(self, which: Tensor) -> tuple[Any, Tensor]:
        """Return some sets and their labels."""
        if isinstance(self.x, RaggedSets) and which.ndim > 1:
            return [self.x[row] for row in which], self.y[which]
        return self.x[which], self.y[which]

    def part(self, start: int, stop: int) -> tuple[Sets, Tensor]:
        """Return the sets from ``start`` to ``stop``."""
        return self.x[start:stop], self.y[start:stop]

    def first(self, num: int) -> LabelledSets:
        """Return the first ``num`` sets."""
        if not 0 < num <= len(self.y):
            raise ValueError(f"num must be in 1..{len(self.y)}, got {num}")
        return LabelledSets(self.x[:num], self.y[:num])

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> LabelledSets:
        """Move the sets, and cast their entries if a type is given."""
        return LabelledSets(self.x.to(device, dtype), self.y.to(device))


def _check(x: Any, y: Any) -> None:
    if not isinstance(x, Tensor | RaggedSets):
        raise TypeError(f"x must be a tensor (M, N, C, …) or RaggedSets, got {type(x).__name__}")
    if not isinstance(y, Tensor):
        raise TypeError(f"y must be a tensor (M, …), got {type(y).__name__}")
    if (x.shape[:1] if isinstance(x, Tensor) else (len(x),)) != y.shape[:1]:
        shown = tuple(x.shape) if isinstance(x, Tensor) else x
        raise ValueError(
            f"y must hold one label for each set of x, got shape {tuple(y.shape)} for {shown}"
        )

"""Sets with their targets: what every training and every test asks for."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

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

    def batch(self, which: Tensor) -> tuple[Tensor, Tensor]:
        """Return sets ``(*which.shape, N, C, *E)`` and targets, for training.

        What is random about them is drawn anew by the default generator of the device, without
        ever making the host wait, so that a CUDA graph can replay it.
        """
        ...

    def part(self, start: int, stop: int) -> tuple[Tensor, Tensor]:
        """Return the sets from ``start`` to ``stop``, the same in every call, for evaluation."""
        ...

    def first(self, num: int) -> Supply:
        """Return the first ``num`` sets."""
        ...

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Supply:
        """Move what sets are made of, and cast their entries if a type is given."""
        ...


class LabelledSets(NamedTuple):
    """Sets ``x (M, N, C, *E)`` and their labels ``y (M,)``, the simplest :class:`Supply`."""

    x: Tensor
    y: Tensor

    @property
    def num_sets(self) -> int:
        """How many sets there are."""
        return len(self.y)

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self.y.device

    def batch(self, which: Tensor) -> tuple[Tensor, Tensor]:
        """Return some sets and their labels."""
        return self.x[which], self.y[which]

    def part(self, start: int, stop: int) -> tuple[Tensor, Tensor]:
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

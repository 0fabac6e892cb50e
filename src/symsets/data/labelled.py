"""Sets with labels, all on the device."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["LabelledSets"]


class LabelledSets(NamedTuple):
    """Sets ``x (M, N, C, *E)`` and their labels ``y (M,)``."""

    x: Tensor
    y: Tensor

    def first(self, num: int) -> LabelledSets:
        """Return the first ``num`` sets."""
        if not 0 < num <= len(self.y):
            raise ValueError(f"num must be in 1..{len(self.y)}, got {num}")
        return LabelledSets(self.x[:num], self.y[:num])

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> LabelledSets:
        """Move the sets, and cast their entries if a type is given."""
        return LabelledSets(self.x.to(device, dtype), self.y.to(device))

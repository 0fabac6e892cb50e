"""What all sources have in common that make their data instead of reading them."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from symsets.data.decoding import Skipped
from symsets.data.splits import SPLITS, checked_split

__all__ = ["Generated"]


@dataclass(frozen=True)
class Generated:
    """A source with an unlimited supply.

    Random numbers are drawn on the host, so a seed gives the same data on every device (up to
    rounding). Each split has a stream of its own; its first pictures or clips stay the same
    however many are asked for.

    Args:
        size: Height and width.
        num: How many there are in a split if no number is asked for.
        seed: Fixes the data.
    """

    size: int = 80
    num: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.size < 8:
            raise ValueError(f"size must be at least 8, got {self.size}")

    @property
    def skipped(self) -> Skipped:
        """Nothing is ever skipped."""
        return Skipped()

    def _start(self, split: str, num: int | None) -> tuple[torch.Generator, int]:
        """Return the stream of a split, and how much to take from it."""
        num = self.num if num is None else num
        if num < 1:
            raise ValueError(f"num must be positive, got {num}")
        stream = 3 * self.seed + SPLITS.index(checked_split(split))
        return torch.Generator().manual_seed(stream), num

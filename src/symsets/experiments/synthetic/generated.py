"""Base class of the sources that generate their data instead of reading files."""

from dataclasses import dataclass

import torch

from symsets._checks import positive
from symsets.data.splits import SPLITS, checked_split

Device = torch.device | str


def split_generator(seed: int, split: str, device: Device = "cpu") -> torch.Generator:
    """Return the generator of a split: no two splits share one, whatever their seeds."""
    return torch.Generator(device).manual_seed(3 * seed + SPLITS.index(checked_split(split)))


@dataclass(frozen=True)
class Generated:
    """Base class of sources that generate any number of pictures or clips.

    Random numbers are drawn on the host, so a seed gives the same data on every device (up to
    rounding). Each split has a stream of its own; its first pictures or clips stay the same
    however many are asked for.

    Args:
        size: Height and width.
        seed: Fixes the data.
    """

    size: int = 80
    seed: int = 0

    NUM = 2000  # pictures of a split if no number is asked for

    def _start(self, split: str, num: int | None) -> tuple[torch.Generator, int]:
        """Return the stream of a split, and how much to take from it."""
        num = positive("num", self.NUM if num is None else num)
        return split_generator(self.seed, split), num

"""Sets for finding the first frame: frames of a clip, shuffled."""

import torch
from torch import Tensor

from symsets.data.augment import Augment
from symsets.data.clips import Clips
from symsets.data.on_the_fly import OnTheFlySets, random_orders

MEAN, SPREAD = 0.5, 0.25  # of the values that networks see


class FrameSets(OnTheFlySets):
    """Shuffled frames in a row of a clip; the targets are the earliest and the latest.

    Set ``i`` comes from clip ``i`` modulo their number and starts at a random frame. In training
    all frames of a set move alike (crop, mirror). Clips that are too short are left out.

    Args:
        clips: Where frames come from.
        num_sets: Sets of one pass.
        num_elements: Frames in a set.
        size: Height and width of a crop.
        seed: Fixes the sets for evaluation.

    Shape:
        - sets: ``(B, N, 3, size, size)``.
        - targets: the places of the first and the last frame, ``(B, 2)``.
    """

    def __init__(
        self,
        clips: Clips,
        num_sets: int,
        *,
        num_elements: int = 8,
        size: int = 64,
        seed: int = 0,
    ) -> None:
        super().__init__(clips.frames, num_sets, seed=seed)
        usable = clips.lengths >= num_elements
        if not usable.any():
            raise ValueError(
                f"clips must have {num_elements} frames, the longest has {int(clips.lengths.max())}"
            )
        device = clips.frames.device
        self.starts = clips.starts[usable].to(device)
        self.room = (clips.lengths[usable] - num_elements + 1).to(device)  # first frames that fit
        self.names = [name for name, fits in zip(clips.names, usable, strict=True) if fits]
        self.num_elements = num_elements
        self.augment = Augment(size)

    def source_of(self, which: int) -> str:
        """Return where the clip of a set comes from: what its name has before a slash, if any."""
        folder, slash, _ = self.names[which % len(self.names)].partition("/")
        return folder if slash else ""

    def make(
        self, which: Tensor, generator: torch.Generator | None, *, augment: bool
    ) -> tuple[Tensor, Tensor]:
        clip = which % min(len(self.starts), self.num_sets)
        uniform = self.uniform(generator, len(which))
        first = self.starts[clip] + (uniform * self.room[clip]).long()
        order = random_orders(len(which), self.num_elements, first, generator)
        frames = self.material[first[:, None] + order]  # (B, N, 3, S, S)
        frames = self.augment(frames, generator=generator, move=augment)
        return (frames / 255 - MEAN) / SPREAD, torch.stack([order.argmin(1), order.argmax(1)], 1)

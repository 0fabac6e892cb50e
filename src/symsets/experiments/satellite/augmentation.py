"""What training changes in sets at random, beside crops, turns and the choice of pictures."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from symsets._checks import check_number, positive


@dataclass(frozen=True)
class Augmentation:
    """How sets of satellite pictures vary from step to step; by default, not at all.

    Args:
        fewest: Different pictures of a set at least, if the scene has so many. Their number is
            drawn evenly from here to the size of the set, which repeats fill up; 0 for always as
            many as possible.
        gain: Whole sets, with their truth, are multiplied by ``exp(gain · z)``, z standard normal.
        contrast: The same for each picture by itself.
        noise: Standard deviation of what is added to pixels, in units of 65,535 (one grey level of
            PROBA-V is 0.00024). All sub-pixels of a coarse pixel get the same.
    """

    fewest: int = 0
    gain: float = 0.0
    contrast: float = 0.0
    noise: float = 0.0

    def __post_init__(self) -> None:
        if self.fewest != 0:
            positive("fewest", self.fewest)
        for name in ("gain", "contrast", "noise"):
            check_number(name, getattr(self, name))

    def sizes(self, most: Tensor, num_elements: int) -> Tensor:
        """Draw how many different pictures each set has, of ``most (B,)`` that there are."""
        most = most.clamp(max=num_elements)
        if not self.fewest:
            return most
        least = most.clamp(max=self.fewest)
        drawn = torch.rand(most.shape, device=most.device) * (most - least + 1)
        return least + drawn.long()

    def __call__(self, low: Tensor, fine: Tensor, truth: Tensor) -> tuple[Tensor, ...]:
        """Change pictures and truths; return them, and what truths were multiplied by, ``(B,)``.

        Args:
            low: ``(B, N, H, W)``.
            fine: ``(B, N, s H, s W)``, the same pictures on a finer grid.
            truth: ``(B, s H, s W)``.
        """
        factor = _factors(truth, 1, self.gain)
        own = factor[:, None] * _factors(low, 2, self.contrast)
        low, fine, truth = low * own, fine * own, truth * factor
        if self.noise:
            noise = self.noise * torch.randn_like(low)
            scale = fine.shape[-1] // low.shape[-1]
            finer = noise.repeat_interleave(scale, -2).repeat_interleave(scale, -1)
            low, fine = low + noise, fine + finer
        return low, fine, truth, factor[:, 0, 0]


def _factors(like: Tensor, axes: int, spread: float) -> Tensor:
    """Draw a factor for every picture: for the first ``axes`` axes of a tensor."""
    shape = [*like.shape[:axes], 1, 1]
    if not spread:  # nothing is drawn, so other numbers stay as they are
        return like.new_ones(shape)
    return (spread * torch.randn(shape, device=like.device, dtype=like.dtype)).exp()

"""Clips that need no download, in which time has a direction."""

from dataclasses import dataclass

import torch
from torch import Tensor

from symsets.data.clips import Clips
from symsets.experiments.synthetic.dead_leaves import DeadLeaves
from symsets.experiments.synthetic.generated import Device, Generated
from symsets.experiments.synthetic.motion import KINDS, NUM_THINGS, Tracks, tracks


@dataclass(frozen=True)
class MovingThings(Generated):
    """Generate clips of things that fall and bounce, slow down, fly apart, spread or fade.

    Backwards, each of these would be impossible: balls that bounce ever higher, clouds that
    gather. In half of the clips the camera pans over its background of dead leaves at a steady
    speed, which says nothing about the direction of time. A clip's source is the kind of motion.

    They are rendered on the device in batches.

    Example:
        >>> clips = MovingThings(size=16).clips("test", 3)
        >>> clips.frames.shape[1:], len(clips.names)
        (torch.Size([3, 16, 16]), 3)
    """

    name = "moving things"
    fps = 12.0
    NUM = 500
    FRAMES = (12, 24)  # of a clip, at least and at most
    BLOCK = 10  # clips rendered at once

    def clips(self, split: str, num: int | None = None, device: Device = "cpu") -> Clips:
        """Return the first ``num`` clips of a split."""
        generator, num = self._start(split, num)
        border = self.size // 8
        grounds = DeadLeaves(self.size + 2 * border, seed=self.seed).images(split, num, device)
        found: list[Tensor] = []
        names: list[str] = []
        for first in range(0, num, self.BLOCK):
            # a block draws all its numbers even if some of its clips are not wanted
            kinds = torch.randint(len(KINDS), (self.BLOCK,), generator=generator)
            block = self._block(kinds, grounds[first : first + self.BLOCK], generator)
            found += block
            names += [f"{KINDS[k]}/{first + i}" for i, k in enumerate(kinds.tolist())]
        return Clips.join(found, names[:num])

    def _block(self, kinds: Tensor, grounds: Tensor, generator: torch.Generator) -> list[Tensor]:
        """Render clips over their backgrounds; there may be fewer backgrounds than kinds."""
        M, n, (fewest, L) = len(kinds), len(grounds), self.FRAMES
        moving = tracks(kinds, L, self.fps, generator)
        colours = 0.25 + 0.75 * torch.rand(M, NUM_THINGS, 3, generator=generator)
        pan = torch.rand(M, 2, 2, generator=generator)  # where the camera starts and ends
        still = torch.rand(M, generator=generator) < 0.5
        pan[still, 1] = pan[still, 0]
        lengths = torch.randint(fewest, L + 1, (M,), generator=generator)
        frames = _pan(grounds, pan[:n].to(grounds.device), L, self.size)
        moving = Tracks(*(part[:n].to(grounds.device) for part in moving))
        _draw(frames, moving, colours[:n].to(grounds.device))
        frames = (255 * frames).round().clamp(0, 255).to(torch.uint8)
        return [clip[:length] for clip, length in zip(frames, lengths.tolist(), strict=False)]


def _pan(grounds: Tensor, pan: Tensor, num_frames: int, size: int) -> Tensor:
    """Move a window from one place of the background to another, ``(M, L, 3, size, size)``."""
    room = grounds.shape[-1] - size
    t = torch.linspace(0, 1, num_frames, device=grounds.device)[:, None]
    corner = (pan[:, None, 0] + (pan[:, None, 1] - pan[:, None, 0]) * t) * room  # (M, L, 2)
    window = torch.arange(size, device=grounds.device)
    rows, columns = (corner.round().long()[..., None] + window).unbind(2)  # (M, L, size)
    clip = torch.arange(len(grounds), device=grounds.device)[:, None, None, None]
    by_pixel = grounds.movedim(1, -1)[clip, rows[..., :, None], columns[..., None, :]]
    return 0.8 * by_pixel.movedim(-1, 2).float() / 255


def _draw(frames: Tensor, moving: Tracks, colours: Tensor) -> None:
    """Draw things over the frames, one after the other, in place."""
    size = frames.shape[-1]
    place = (torch.arange(size, device=frames.device) + 0.5) / size
    for k in range(NUM_THINGS):
        row, column, radius, opacity = (part[:, :, k, None, None] for part in moving[:4])
        y, x = (place[:, None] - row) / radius, (place - column) / radius
        distance = torch.hypot(y, x)  # (M, L, size, size)
        disc = ((1 - distance) * radius * size + 0.5).clamp(0, 1)
        cloud = torch.exp(-2 * distance.square())
        cover = opacity * torch.lerp(disc, cloud, moving.soft[..., None])
        # discs are lit from above and have two halves that roll with them
        half = torch.sin(column / radius) * y + torch.cos(column / radius) * x > 0
        shade = (1.05 - 0.35 * (y + 0.5).clamp(-1, 1)) * (1 - 0.3 * half)
        shade = torch.lerp(shade, torch.ones_like(shade), moving.soft[..., None])
        thing = colours[:, None, k, :, None, None] * shade[:, :, None]  # (M, L, 3, size, size)
        frames.lerp_(thing.clamp(0, 1), cover[:, :, None])

"""Clips of different lengths, without padding, and what every source of them offers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor


class Clips(NamedTuple):
    """Frames of all clips end to end.

    Attributes:
        frames: ``(T, 3, H, W)`` bytes.
        lengths: Frames of each clip, ``(M,)``, on the host.
        names: What each clip is called: its source, a slash, and a name.

    Example:
        >>> clips = Clips.join([torch.zeros(4, 3, 8, 8), torch.ones(6, 3, 8, 8)], ["a/1", "b/2"])
        >>> clips.lengths.tolist(), clips.starts.tolist(), clips.sources
        ([4, 6], [0, 4], ['a', 'b'])
    """

    frames: Tensor
    lengths: Tensor
    names: Sequence[str]

    @classmethod
    def join(cls, clips: Sequence[Tensor], names: Sequence[str]) -> Clips:
        """Lay clips end to end."""
        return cls(torch.cat(list(clips)), torch.tensor([len(clip) for clip in clips]), names)

    @property
    def starts(self) -> Tensor:
        """The frame at which each clip starts, ``(M,)``, on the host."""
        return self.lengths.cumsum(0) - self.lengths

    @property
    def sources(self) -> list[str]:
        """Where each clip comes from, the part of its name before the first slash."""
        return [name.partition("/")[0] for name in self.names]

    def each(self) -> Iterator[Tensor]:
        """Give the frames of one clip after the other, ``(L, 3, H, W)``."""
        return iter(self.frames.split(self.lengths.tolist()))

    def to(self, device: torch.device | str) -> Clips:
        """Move the frames."""
        return self._replace(frames=self.frames.to(device))


class VideoSource(Protocol):
    """Clips in three splits that share no video.

    Attributes:
        name: What tables call the data.
        size: Height and width of the frames.
        fps: Frames in a second.
    """

    name: str
    size: int
    fps: float

    def clips(
        self, split: str, num: int | None = None, device: torch.device | str = "cpu"
    ) -> Clips:
        """Return the first ``num`` clips of a split, or all; perhaps fewer but never none."""
        ...

"""Clips from video files."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symsets._checks import as_path
from symsets._extras import require
from symsets._files import check_regular
from symsets.data.clips import Clips
from symsets.data.decoding import (
    UnusableError,
    check_large_enough,
    decode_image,
    images_to_tensor,
)
from symsets.data.folders import has_split_folders, split_folder
from symsets.data.images import BY_HAND, FileSource

VIDEO_SUFFIXES = frozenset({".avi", ".mp4", ".m4v", ".mov", ".mkv", ".webm", ".mpg", ".mpeg"})
Encoded = Path | list[bytes]  # a video, or the pictures that are its frames


class VideoFiles(FileSource):
    """Clips from video files: the middle square of frames at equal distances in time.

    Each video gives up to ``clips_per_video`` clips, one after the other. Videos that cannot be
    read, are too short, or break off before these are complete, are counted. Arguments are those
    of :class:`VideoFolder`; a video has a name for its clips, and ``max_frames=None`` no limit.
    """

    KIND = "videos"
    MIN_FRAMES = 8  # of a clip

    def __init__(
        self,
        name: str,
        files: Mapping[str, Sequence[tuple[str, Encoded]]],
        *,
        root: Path,
        size: int = 80,
        fps: float = 12.0,
        max_frames: int | None = 24,
        clips_per_video: int = 1,
    ) -> None:
        super().__init__(name, files, size=size, root=root)
        max_frames = sys.maxsize if max_frames is None else max_frames
        if max_frames < self.MIN_FRAMES:
            raise ValueError(f"max_frames must be at least {self.MIN_FRAMES}, got {max_frames}")
        self.fps, self.max_frames, self.clips_per_video = fps, max_frames, clips_per_video

    def clips(
        self, split: str, num: int | None = None, device: torch.device | str = "cpu"
    ) -> Clips:
        """Return the first ``num`` clips of a split, or all."""
        names, clips = zip(*self._decode(split, self.read, num, block=16), strict=True)
        return Clips.join(clips, list(names)).to(device)

    def read(self, video: tuple[str, Encoded]) -> list[tuple[str, Tensor]]:
        """Return the clips of a video, each with its name; raise UnusableError if it has none."""
        name, encoded = video
        wanted = self.max_frames * self.clips_per_video
        if isinstance(encoded, Path):
            frames = decode_video(encoded, size=self.size, fps=self.fps, num=wanted)
            clips = [clip for clip in frames.split(self.max_frames) if len(clip) >= self.MIN_FRAMES]
        elif len(encoded) >= self.MIN_FRAMES:
            clips = [images_to_tensor([decode_image(e, self.size) for e in encoded[:wanted]])]
        else:
            clips = []
        if not clips:
            raise UnusableError(f"shorter than {self.MIN_FRAMES} frames")
        single = self.clips_per_video == 1
        return [(name if single else f"{name}#{i}", clip) for i, clip in enumerate(clips)]


class VideoFolder(VideoFiles):
    """All videos below a folder, divided as :class:`~symsets.data.ImageFolder` divides pictures.

    The source of a clip is the subfolder that it lies in (of ``train``, ``val`` or ``test`` where
    these divide the folder), or the folder itself.

    Args:
        root: The folder.
        size: Height and width of the frames.
        fps: Frames to take in a second; all, where a video has fewer.
        max_frames: Frames of a clip at most.
        clips_per_video: Clips of one video at most.
    """

    ADVICE = BY_HAND

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        size: int = 80,
        fps: float = 12.0,
        max_frames: int = 24,
        clips_per_video: int = 4,
    ) -> None:
        root = as_path("root", root)
        name, by_hand = root.resolve().name, has_split_folders(root)

        def called(below: str) -> str:
            inside = below.partition("/")[2] if by_hand else below
            return inside if "/" in inside else f"{name}/{inside}"

        files = {
            split: [(called(below), root / below) for below in names]
            for split, names in split_folder(root, VIDEO_SUFFIXES).items()
        }
        super().__init__(
            name,
            files,
            root=root,
            size=size,
            fps=fps,
            max_frames=max_frames,
            clips_per_video=clips_per_video,
        )


def decode_video(path: Path, *, size: int, fps: float, num: int) -> Tensor:
    """Return the first ``num`` frames at a rate, as middle squares, ``(L, 3, size, size)`` bytes.

    Raise UnusableError if the file cannot be read or breaks off, or its frames are too small.
    """
    av = require("av", "video")
    frames: list[np.ndarray] = []
    decoded = due = 0
    try:
        check_regular(path)
        with av.open(os.fspath(path)) as container:
            stream = container.streams.video[0]
            rate = float(stream.average_rate or fps)
            for decoded, frame in enumerate(container.decode(stream), start=1):
                time = frame.time if frame.time is not None else (decoded - 1) / rate
                if not frames:
                    begin = time
                # half a frame of tolerance, for times that were rounded
                place = (time - begin) * fps + 0.5 * fps / rate
                if place >= due:
                    frames.append(_middle(frame, size))
                    due = int(place) + 1  # after a gap the next is not overdue
                if len(frames) == num:
                    return images_to_tensor(frames)
            declared = stream.frames
    except UnusableError:
        raise
    except FileNotFoundError as error:
        raise UnusableError("missing") from error
    except (av.error.FFmpegError, IndexError, ValueError, OSError) as error:
        raise UnusableError("not readable or truncated") from error
    if decoded < 0.9 * declared:
        raise UnusableError("not readable or truncated")
    if not frames:
        raise UnusableError("without frames")
    return images_to_tensor(frames)


def _middle(frame: Any, size: int) -> np.ndarray:
    """Scale a frame's shorter side to ``size`` and cut out the middle."""
    check_large_enough((frame.width, frame.height), size)
    scale = size / min(frame.width, frame.height)
    width, height = round(scale * frame.width), round(scale * frame.height)
    small = frame.reformat(width=width, height=height, format="rgb24", interpolation="AREA")
    left, top = (width - size) // 2, (height - size) // 2
    return np.array(small.to_ndarray()[top : top + size, left : left + size])

"""Frames of a video file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from symsets._extras import require
from symsets.data.decoding import UnusableError, check_large_enough, images_to_tensor, regular_file


def decode_video(path: Path, *, size: int, fps: float, num: int) -> Tensor:
    """Return the first ``num`` frames at a rate, as middle squares, ``(L, 3, size, size)`` bytes.

    Raises:
        UnusableError: The file cannot be read or breaks off, or the shorter side of its frames is
            less than half of ``size``.
    """
    av = require("av", "video")
    frames: list[np.ndarray] = []
    decoded = due = 0
    try:
        with av.open(os.fspath(regular_file(path))) as container:
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

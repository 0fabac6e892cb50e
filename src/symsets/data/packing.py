"""Pack a folder of photographs or videos into one ``.npz`` file, see :mod:`symsets.data.packs`."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from symsets._checks import as_path
from symsets._extras import require
from symsets.data.decoding import Skipped, decode_image, in_threads
from symsets.data.folders import files_below
from symsets.data.images import IMAGE_SUFFIXES, ImageFolder
from symsets.data.splits import SPLITS
from symsets.data.videos import VIDEO_SUFFIXES, VideoFolder

KINDS = {"images": IMAGE_SUFFIXES, "videos": VIDEO_SUFFIXES}

Watch = Callable[[int, int], None]  # called with the number of files that are done, and of all
_Item = tuple[str, list[bytes]]  # a name, and one picture or the frames of a clip


class Packed(NamedTuple):
    """What became of a folder."""

    kind: str  # "images" or "videos"
    counts: Mapping[str, int]  # pictures or clips of each split
    skipped: Skipped  # how many files were left out, for each reason


def pack_folder(
    root: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    size: int = 80,
    max_frames: int = 24,
    fps: float = 12.0,
    watch: Watch = lambda done, total: None,
) -> Packed:
    """Write all photographs or all videos below a folder into one file.

    Splits and names are those of :class:`~symsets.data.ImageFolder` or
    :class:`~symsets.data.VideoFolder`; pictures are their middle squares, as JPEG.

    Args:
        root: The folder.
        path: The file to write, which should end in ``.npz``.
        size: Height and width of the pictures.
        max_frames: Of videos: frames of a clip at most.
        fps: Of videos: frames to take in a second.
        watch: Called after every file.
    """
    root = as_path("root", root)
    kind = _kind(root)
    source: Any
    read: Callable[[Any, Any], list[_Item]]
    if kind == "images":
        source, read = ImageFolder(root, size=size), _read_image
    else:
        source = VideoFolder(root, size=size, fps=fps, max_frames=max_frames)
        read = _read_video
    skipped, total = Skipped(), sum(map(len, source.files.values()))
    items: list[_Item] = []
    counts = {}
    done = 0
    for split in SPLITS:
        before = len(items)
        for found in in_threads(partial(read, source), source.files[split], skipped, block=64):
            items += found
            done += 1
            watch(done + skipped.total(), total)
        counts[split] = len(items) - before
    watch(total, total)
    if not items:
        raise ValueError(f"{root} has no usable {kind} among {total} files: {skipped}")
    arrays = _arrays(items, list(counts.values()))
    if kind == "videos":
        lengths = [len(frames) for _, frames in items]
        arrays |= {"clip_start": np.cumsum([0, *lengths]), "fps": np.float64(fps)}
    with Path(path).open("wb") as file:
        np.savez(file, **arrays)
    return Packed(kind, counts, skipped)


def _kind(root: Path) -> str:
    found = [kind for kind, suffixes in KINDS.items() if any(files_below(root, suffixes))]
    if len(found) != 1:
        which = "both" if found else "neither"
        raise ValueError(f"{root} must hold either images or videos, found {which}")
    return found[0]


def _read_image(source: ImageFolder, file: Path) -> list[_Item]:
    name = file.relative_to(source.root).as_posix()
    return [(name, [_jpeg(decode_image(file, source.size))])]


def _read_video(source: VideoFolder, video: tuple[str, Path]) -> list[_Item]:
    return [
        (name, [_jpeg(frame) for frame in clip.permute(0, 2, 3, 1).numpy()])
        for name, clip in source.read(video)
    ]


def _jpeg(pixels: np.ndarray) -> bytes:
    """Encode ``(size, size, 3)`` bytes, colours as finely as brightness."""
    file = io.BytesIO()
    image = require("PIL.Image", "images").fromarray(np.ascontiguousarray(pixels))
    image.save(file, "JPEG", quality=95, subsampling=0)
    return file.getvalue()


def _arrays(items: Sequence[_Item], counts: Sequence[int]) -> dict[str, Any]:
    """Lay all pictures end to end."""
    pictures = [picture for _, own in items for picture in own]
    return {
        "data": np.frombuffer(b"".join(pictures), dtype=np.uint8),
        "offsets": np.cumsum([0, *map(len, pictures)]),
        "split": np.repeat(np.arange(len(SPLITS), dtype=np.uint8), counts),
        "name": np.array([name for name, _ in items]),
    }

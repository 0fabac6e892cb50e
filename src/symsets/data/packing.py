"""Pack a folder of photographs or videos into one ``.npz`` file, see :mod:`symsets.data.packs`."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from symsets._extras import require
from symsets.data.decoding import Skipped, decode_image, in_threads
from symsets.data.folders import files_below
from symsets.data.images import IMAGE_SUFFIXES, ImageFolder
from symsets.data.splits import SPLITS
from symsets.data.videos import VIDEO_SUFFIXES, VideoFolder

__all__ = ["Packed", "pack_folder"]

KINDS = {"images": IMAGE_SUFFIXES, "videos": VIDEO_SUFFIXES}

Watch = Callable[[int, int], None]
"""Called with the number of files that are done, and of all."""


class Packed(NamedTuple):
    """What became of a folder.

    Attributes:
        kind: ``"images"`` or ``"videos"``.
        counts: Pictures or clips of each split.
        skipped: How many files were left out, for each reason.
    """

    kind: str
    counts: Mapping[str, int]
    skipped: Skipped


class _Item(NamedTuple):
    name: str
    pictures: list[bytes]  # one, or the frames of a clip


Read = Callable[[Any], list[_Item]]


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
    root = Path(root)
    kind = _kind(root)
    files, read = _videos(root, size, max_frames, fps) if kind == "videos" else _images(root, size)
    skipped, total = Skipped(), sum(map(len, files.values()))
    splits: dict[str, list[_Item]] = {split: [] for split in SPLITS}
    for done, (split, items) in enumerate(_each(files, read, skipped), start=1):
        splits[split] += items
        watch(done + skipped.total(), total)
    watch(total, total)
    if not any(splits.values()):
        raise ValueError(f"{root} has no usable {kind} among {total} files: {skipped}")
    arrays = _arrays(splits)
    if kind == "images":
        del arrays["clip_start"]
    else:
        arrays["fps"] = np.float64(fps)
    with Path(path).open("wb") as file:
        np.savez(file, **arrays)
    return Packed(kind, {split: len(items) for split, items in splits.items()}, skipped)


def _kind(root: Path) -> str:
    found = [kind for kind, suffixes in KINDS.items() if any(files_below(root, suffixes))]
    if len(found) != 1:
        which = "both" if found else "neither"
        raise ValueError(f"{root} must hold either images or videos, found {which}")
    return found[0]


def _images(root: Path, size: int) -> tuple[Mapping[str, Sequence[Any]], Read]:
    """Return the files of each split, and how to read one."""

    def read(file: Path) -> list[_Item]:
        name = file.relative_to(root).as_posix()
        return [_Item(name, [_jpeg(decode_image(file, size))])]

    return ImageFolder(root, size=size).files, read


def _videos(
    root: Path, size: int, max_frames: int, fps: float
) -> tuple[Mapping[str, Sequence[Any]], Read]:
    """Return the files of each split, and how to read one."""
    source = VideoFolder(root, size=size, fps=fps, max_frames=max_frames)

    def read(video: tuple[str, Path]) -> list[_Item]:
        return [
            _Item(name, [_jpeg(frame) for frame in clip.permute(0, 2, 3, 1).numpy()])
            for name, clip in source.read(video)
        ]

    return source.files, read


def _jpeg(pixels: np.ndarray) -> bytes:
    """Encode ``(size, size, 3)`` bytes, colours as finely as brightness."""
    file = io.BytesIO()
    image = require("PIL.Image", "images").fromarray(np.ascontiguousarray(pixels))
    image.save(file, "JPEG", quality=95, subsampling=0)
    return file.getvalue()


def _each(
    files: Mapping[str, Sequence[Any]], read: Read, skipped: Skipped
) -> Iterator[tuple[str, list[_Item]]]:
    """Give the split and the content of every usable file."""
    for split in SPLITS:
        for items in in_threads(read, files[split], skipped, block=64):
            yield split, items


def _arrays(splits: Mapping[str, Sequence[_Item]]) -> dict[str, Any]:
    """Lay all pictures end to end."""
    items = list(chain.from_iterable(splits.values()))
    pictures = [picture for item in items for picture in item.pictures]
    numbers = [i for i, split in enumerate(SPLITS) for _ in splits[split]]
    return {
        "data": np.frombuffer(b"".join(pictures), dtype=np.uint8),
        "offsets": np.cumsum([0, *map(len, pictures)]),
        "split": np.array(numbers, dtype=np.uint8),
        "name": np.array([item.name for item in items]),
        "clip_start": np.cumsum([0, *(len(item.pictures) for item in items)]),
    }

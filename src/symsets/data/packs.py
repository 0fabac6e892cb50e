"""Many pictures or clips in one ``.npz`` file, as encoded bytes.

========== =============== =====================================================
key        type            content
========== =============== =====================================================
data       uint8 (bytes,)  JPEG, PNG or WebP pictures, end to end
offsets    int (T + 1,)    where each picture starts, and the end
split      int (M,)        0 train, 1 val, 2 test
name       str (M,)        what a picture or clip is called: source/name (optional)
clip_start int (M + 1,)    for clips: the first picture of each, and the end
fps        float ()        for clips: frames in a second (optional, 12)
========== =============== =====================================================
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import numpy as np

from symsets._checks import as_path
from symsets.data._arrays import Kinds, array_names, read_arrays
from symsets.data.images import ImageFiles
from symsets.data.splits import SPLITS, fraction
from symsets.data.videos import VideoFiles

KEYS = ("data", "offsets", "split")
KINDS: Kinds = {
    "data": ("u", 1, "a row of bytes"),
    "offsets": ("iu", 1, "a row of integers"),
    "split": ("iu", 1, "a row of integers"),
    "name": ("U", 1, "a row of words"),
    "clip_start": ("iu", 1, "a row of integers"),
    "fps": ("iuf", 0, "one number"),
}


def pack_kind(path: Path) -> str | None:
    """Return ``"images"``, ``"videos"``, or None if the file is no pack; reads no content.

    Example:
        >>> pack_kind(Path("no such file.npz")) is None
        True
    """
    keys = array_names(path)
    if not keys.issuperset(KEYS):
        return None
    return "videos" if "clip_start" in keys else "images"


def _read_pack(
    path: str | os.PathLike[str], kind: str
) -> tuple[Path, dict[str, list[tuple[str, list[bytes]]]], float]:
    """Return a path, names with encoded pictures for each split, and frames in a second.

    The order is random but fixed. A name of ``"images"`` has one picture.
    """
    file = as_path("path", path)
    if not file.is_file():
        raise ValueError(f"{file} must be a packed .npz file, found no such file")
    if pack_kind(file) != kind:
        keys = [*KEYS, "clip_start"] if kind == "videos" else list(KEYS)
        raise ValueError(f"{file} must be a pack of {kind} with the keys {keys}")
    content = read_arrays(file, KINDS, KINDS)
    data, split = content["data"].tobytes(), content["split"].tolist()
    offsets: list[int] = content["offsets"].tolist()
    names: list[str] = content.get("name", np.arange(len(split)).astype(str)).tolist()
    starts: list[int] = content.get("clip_start", np.arange(len(split) + 1)).tolist()
    sound = (
        len(names) == len(split) == len(starts) - 1
        and _rising(offsets, len(data))
        and _rising(starts, len(offsets) - 1)
        and set(split) <= {0, 1, 2}
    )
    if not sound:
        raise ValueError(f"{file} is inconsistent in its offsets, splits, names or clips")
    pictures = [data[a:b] for a, b in pairwise(offsets)]
    items: dict[str, list[tuple[str, list[bytes]]]] = {split: [] for split in SPLITS}
    for i in sorted(range(len(names)), key=lambda i: (fraction(names[i]), i)):
        items[SPLITS[split[i]]].append((names[i], pictures[starts[i] : starts[i + 1]]))
    return file, items, float(content.get("fps", 12.0))


def _rising(numbers: list[int], end: int) -> bool:
    rising = all(a <= b for a, b in pairwise(numbers))
    return numbers[:1] == [0] and numbers[-1] == end and rising


class ImagePack(ImageFiles):
    """The pictures of a packed ``.npz`` file, with the splits that are in it.

    Args:
        path: The file; its name without ending is what tables call the data.
        size: Height and width of the pictures.
    """

    def __init__(self, path: str | os.PathLike[str], *, size: int = 80) -> None:
        file, items, _ = _read_pack(path, "images")
        files = {split: [pictures[0] for _, pictures in items[split]] for split in SPLITS}
        super().__init__(file.stem, files, size=size, root=file)


class VideoPack(VideoFiles):
    """The clips of a packed ``.npz`` file, with the splits that are in it.

    Args:
        path: The file; its name without ending is what tables call the data.
        size: Height and width of the frames.
    """

    def __init__(self, path: str | os.PathLike[str], *, size: int = 80) -> None:
        file, clips, fps = _read_pack(path, "videos")
        lengths = (len(frames) for split in SPLITS for _, frames in clips[split])
        longest = max([self.MIN_FRAMES, *lengths])
        super().__init__(file.stem, clips, root=file, size=size, fps=fps, max_frames=longest)

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
from collections.abc import Iterable
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


class Pack:
    """The content of a pack: encoded pictures and, per split, which of them to use.

    Args:
        path: The file.
        kind: ``"images"`` or ``"videos"``.
    """

    def __init__(self, path: str | os.PathLike[str], kind: str) -> None:
        self.path = as_path("path", path)
        if not self.path.is_file():
            raise ValueError(f"{self.path} must be a packed .npz file, found no such file")
        if pack_kind(self.path) != kind:
            keys = [*KEYS, "clip_start"] if kind == "videos" else list(KEYS)
            raise ValueError(f"{self.path} must be a pack of {kind} with the keys {keys}")
        content = read_arrays(self.path, KINDS, KINDS)
        num = len(content["split"])
        names, starts = content.get("name"), content.get("clip_start")
        self.data: bytes = content["data"].tobytes()
        self.offsets: list[int] = content["offsets"].tolist()
        self.split = content["split"]
        self.starts: list[int] = list(range(num + 1)) if starts is None else starts.tolist()
        self.names: list[str] = [f"{i}" for i in range(num)] if names is None else names.tolist()
        self.fps = float(content["fps"]) if "fps" in content else 12.0
        self._check()

    def _check(self) -> None:
        sound = (
            len(self.names) == len(self.split) == len(self.starts) - 1
            and _rising(self.offsets, len(self.data))
            and _rising(self.starts, len(self.offsets) - 1)
            and set(self.split.tolist()) <= {0, 1, 2}
        )
        if not sound:
            raise ValueError(
                f"{self.path} is inconsistent: offsets must rise to the number of bytes, "
                "split must be 0, 1 or 2, and split, name and clip_start must agree in length"
            )

    def members(self, split: str) -> list[int]:
        """Return what belongs to a split, in a random but fixed order."""
        which = np.flatnonzero(self.split == SPLITS.index(split)).tolist()
        return sorted(which, key=lambda i: (fraction(self.names[i]), i))

    def encoded(self, pictures: Iterable[int]) -> list[bytes]:
        """Return the bytes of some pictures."""
        return [self.data[self.offsets[i] : self.offsets[i + 1]] for i in pictures]


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
        pack = Pack(path, "images")
        files = {split: pack.encoded(pack.members(split)) for split in SPLITS}
        super().__init__(pack.path.stem, files, size=size, root=pack.path)


class VideoPack(VideoFiles):
    """The clips of a packed ``.npz`` file, with the splits that are in it.

    Args:
        path: The file; its name without ending is what tables call the data.
        size: Height and width of the frames.
    """

    def __init__(self, path: str | os.PathLike[str], *, size: int = 80) -> None:
        pack = Pack(path, "videos")
        starts = pack.starts
        files = {
            split: [
                (pack.names[i], pack.encoded(range(starts[i], starts[i + 1])))
                for i in pack.members(split)
            ]
            for split in SPLITS
        }
        longest = max([self.MIN_FRAMES, *(b - a for a, b in pairwise(starts))])
        super().__init__(
            pack.path.stem,
            files,
            root=pack.path,
            size=size,
            fps=pack.fps,
            max_frames=longest,
        )

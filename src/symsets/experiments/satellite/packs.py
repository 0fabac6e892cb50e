"""Scenes in compressed ``.npz`` files: small enough to travel.

Every pixel is predicted from its left, upper and upper-left neighbours, as in JPEG-LS: the median
of left, upper, and left + upper − corner. What remains is small, and LZMA takes it. Nothing is
lost if values are multiples of 16, as those of the challenge are.
"""

import lzma
import math
import os
import shutil
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import accumulate
from pathlib import Path

import numpy as np

from symsets._files import atomic_write, check_claim, shorten
from symsets.data._arrays import Kinds, array_names, read_arrays
from symsets.experiments.satellite.scenes import (
    NORMS,
    SCALE,
    STEP,
    Scene,
    SceneFiles,
    SceneFolder,
    read_norms,
)

MEMORY = 2**26  # bytes that LZMA may work with; ours needs a seventh of that
BYTES = 2  # of a pixel, before LZMA
ROW = ("u", 1, "a row of bytes")
KINDS: Kinds = {
    "name": ("U", 1, "a row of words"),
    "part": ("U", 0, "one word"),
    "band": ("U", 0, "one word"),
    "sizes": ("iu", 1, "a row of integers"),
    "side": ("iu", 0, "one integer"),
    **dict.fromkeys(("low", "high", "clear", "known"), ROW),
}


def compress(pictures: np.ndarray) -> bytes:
    """Compress pictures ``(T, H, W)`` of values below 4,096 without loss.

    Example:
        >>> pictures = np.random.default_rng(0).integers(0, 4096, (3, 8, 9))
        >>> np.array_equal(decompress(compress(pictures), (3, 8, 9)), pictures)
        True
    """
    values = np.pad(pictures.astype(np.int16), ((0, 0), (1, 0), (1, 0)))
    rest = values[:, 1:, 1:] - _predicted(
        values[:, 1:, :-1], values[:, :-1, 1:], values[:, :-1, :-1]
    )
    folded = np.where(rest >= 0, 2 * rest, -2 * rest - 1).astype(np.uint16)  # 0, −1, 1, −2, …
    low, high = (folded & 255).astype(np.uint8), (folded >> 8).astype(np.uint8)
    return lzma.compress(low.tobytes() + high.tobytes(), preset=6)


def decompress(data: bytes, shape: tuple[int, int, int]) -> np.ndarray:
    """Return the pictures ``shape`` that :func:`compress` was given."""
    low, high = _unpacked(data, 2 * math.prod(shape)).reshape(2, *shape)
    folded = low.astype(np.int16) + (high.astype(np.int16) << 8)
    rest = np.where(folded % 2 == 0, folded // 2, -(folded // 2) - 1)
    rest = np.ascontiguousarray(rest.transpose(1, 2, 0))  # all pictures advance together
    _, height, width = shape
    values = np.zeros((height + 1, width + 1, shape[0]), np.int16)
    for k in range(height + width - 1):  # a diagonal needs only what lies before it
        i = np.arange(max(0, k - width + 1), min(k + 1, height))
        j = k - i
        known = _predicted(values[i + 1, j], values[i, j + 1], values[i, j])
        values[i + 1, j + 1] = rest[i, j] + known
    return np.ascontiguousarray(values[1:, 1:].transpose(2, 0, 1))


def _predicted(left: np.ndarray, upper: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Return the median of left, upper, and left + upper − corner."""
    least, most = np.minimum(left, upper), np.maximum(left, upper)
    return np.clip(left + upper - corner, least, most)


def pack_scenes(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    band: str,
    part: str,
    *,
    files: int = 1,
    most: int | None = None,
) -> list[Path]:
    """Write the scenes of a band into one file or several, and copy ``norm.csv`` if there is one.

    Args:
        folder: In the layout of the challenge.
        out: The folder to write to.
        band: ``"RED"`` or ``"NIR"``.
        part: ``"train"`` or ``"val"``, as the challenge's folders are called.
        files: How many files to divide the scenes into.
        most: Pictures of a scene at most, the clearest.
    """
    source, out = SceneFolder(folder, most=most), Path(out)
    splits = ("train", "val") if part == "train" else ("test",)
    scenes = [scene for split in splits for scene in source.read(band, split)]
    scenes.sort(key=lambda scene: scene.name)
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    for k in range(files):
        path = out / f"{band}-{part}-{k}.npz"
        with atomic_write(path) as unfinished, unfinished.open("wb") as file:
            np.savez(file, **_arrays(scenes[k::files], band, part))  # type: ignore[arg-type]
        paths.append(path)
    if (norms := Path(folder) / NORMS).is_file():
        shutil.copyfile(norms, out / NORMS)
    return paths


def _arrays(scenes: Sequence[Scene], band: str, part: str) -> dict[str, np.ndarray]:
    low = np.concatenate([scene.low for scene in scenes])
    high = np.stack([scene.high for scene in scenes])
    for scene in scenes:
        if (scene.low % STEP).any() or (scene.high % STEP).any():
            raise ValueError(f"{scene.name} must have values that {STEP} divides")
    clear = np.concatenate([scene.clear for scene in scenes])
    known = np.stack([scene.known for scene in scenes])

    def row(data: bytes) -> np.ndarray:
        return np.frombuffer(data, np.uint8)

    return {
        "name": np.array([scene.name for scene in scenes]),
        "part": np.array(part),
        "band": np.array(band),
        "sizes": np.array([len(scene.low) for scene in scenes]),
        "side": np.array(low.shape[1]),
        "low": row(compress(low // STEP)),
        "high": row(compress(high // STEP)),
        "clear": row(lzma.compress(np.packbits(clear).tobytes())),
        "known": row(lzma.compress(np.packbits(known).tobytes())),
    }


def is_scene_pack(path: Path) -> bool:
    """Whether a file holds scenes; reads no content."""
    return array_names(path).issuperset(KINDS)


def read_pack(path: Path) -> list[Scene]:
    """Return the scenes of a file."""
    content = read_arrays(path, KINDS, KINDS)
    if missing := KINDS.keys() - content.keys():
        raise ValueError(f"{path} must be a pack of scenes, {sorted(missing)} are missing")
    sizes, side = content["sizes"].tolist(), int(content["side"])
    starts = list(accumulate(sizes, initial=0))
    coarse = (starts[-1], side, side)
    fine = (len(sizes), SCALE * side, SCALE * side)
    try:
        if side < 1 or len(sizes) != len(content["name"]) or min(sizes, default=0) < 1:
            raise ValueError(f"{len(content['name'])} scenes of {sizes} pictures, {side} pixels")
        check_claim(path, BYTES * (math.prod(coarse) + math.prod(fine)))
        low = decompress(content["low"].tobytes(), coarse).astype(np.uint16) * STEP
        high = decompress(content["high"].tobytes(), fine).astype(np.uint16) * STEP
        clear = _bits(content["clear"].tobytes(), coarse)
        known = _bits(content["known"].tobytes(), fine)
    except ValueError as error:
        raise ValueError(f"{path} is inconsistent: {shorten(str(error))}") from error
    lows, clears = (np.split(pictures, starts[1:-1]) for pictures in (low, clear))
    names = content["name"].tolist()
    return [Scene(*parts) for parts in zip(names, lows, clears, high, known, strict=True)]


def _bits(data: bytes, shape: tuple[int, int, int]) -> np.ndarray:
    num = math.prod(shape)
    packed = _unpacked(data, -(-num // 8))
    return np.unpackbits(packed, count=num).astype(bool).reshape(shape)


def _unpacked(data: bytes, num: int) -> np.ndarray:
    """Return ``num`` bytes; raise ValueError if there are others, without unpacking them all."""
    try:
        content = lzma.LZMADecompressor(memlimit=MEMORY).decompress(data, max_length=num + 1)
    except (lzma.LZMAError, MemoryError) as error:
        raise ValueError(f"it cannot be unpacked: {error}") from error
    if len(content) != num:
        raise ValueError(f"it must unpack to {num:,} bytes, but does not")
    return np.frombuffer(content, np.uint8)


class ScenePack(SceneFiles):
    """Scenes of a packed file, or of all in a folder."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        super().__init__(read_norms(self.path if self.path.is_dir() else self.path.parent))
        files = sorted(self.path.glob("*.npz")) if self.path.is_dir() else [self.path]
        self._scenes: dict[tuple[str, str], dict[str, Path]] = {}
        self._read = cache(read_pack)  # a file has scenes of several splits
        for file in filter(is_scene_pack, files):
            few = read_arrays(file, KINDS, ("name", "band", "part"))
            found = self._scenes.setdefault((str(few["part"]), str(few["band"])), {})
            found.update((name, file) for name in few["name"].tolist())
        if not self.bands:
            raise ValueError(f"{path} must be a pack of scenes, or a folder with some")

    def names_in(self, part: str, band: str) -> list[str]:
        return sorted(self._scenes.get((part, band), {}))

    def scenes(self, band: str, split: str, num: int) -> list[Scene]:
        part, names = self.names(band, split)
        where, chosen = self._scenes[part, band], names[:num]
        if not chosen:
            raise ValueError(f"{self.path} has no scene of {band} {split}")
        files = sorted({where[name] for name in chosen})
        # LZMA lets other threads run. Their filters of warnings are one, and are put back here.
        with warnings.catch_warnings(), ThreadPoolExecutor() as pool:
            found = {scene.name: scene for part in pool.map(self._read, files) for scene in part}
        return [found[name] for name in chosen]

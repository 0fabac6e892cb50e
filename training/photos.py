"""Crops of photographs in memory, from folders and packs, for networks that restore pictures."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from symsets.data.decoding import UnusableError, opened_image, turned
from symsets.data.images import IMAGE_SUFFIXES

SIDE = 128  # px of a crop
HALVE = 2  # photographs are also taken at half their size, where they have no noise of their own


def crops(paths: Sequence[Path], *, halved: bool = True) -> Tensor:
    """Return crops ``(M, 3, 128, 128)``, bytes, of all photographs below folders.

    Args:
        paths: Folders of photographs, and files ``.npy`` that :func:`main` wrote.
        halved: Whether to take them at half their size, too.
    """
    found = []
    for path in paths:
        if path.suffix == ".npy":
            found.append(torch.from_numpy(np.load(path)))
            continue
        files = sorted(f for f in path.rglob("*") if f.suffix.lower() in IMAGE_SUFFIXES)
        for file in files:
            found += [torch.from_numpy(crop)[None] for crop in _crops(file, halved=halved)]
    if not found:
        raise SystemExit(f"no photographs of {SIDE} pixels or more in {list(map(str, paths))}")
    return torch.cat(found)


def _crops(file: Path, *, halved: bool) -> Iterator[np.ndarray]:
    try:
        with opened_image(file) as image:
            upright = turned(image, 2**16).convert("RGB")  # at full size
    except UnusableError:
        return
    for shrink in (1, HALVE) if halved else (1,):
        small = upright.reduce(shrink) if shrink > 1 else upright
        pixels = np.asarray(small).transpose(2, 0, 1)
        for top in _starts(pixels.shape[1]):
            for left in _starts(pixels.shape[2]):
                yield np.ascontiguousarray(pixels[:, top : top + SIDE, left : left + SIDE])


def _starts(side: int) -> list[int]:
    """Return where crops begin: as few as cover the side."""
    if side < SIDE:
        return []
    num = -(-side // SIDE)
    return [round(k * (side - SIDE) / max(1, num - 1)) for k in range(num)]


def main() -> None:
    """Write crops."""
    parser = argparse.ArgumentParser(description="Write the crops of folders to one .npy file.")
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    found = crops(options.folders)
    np.save(options.out, found.numpy())
    print(f"{len(found)} crops of {SIDE} pixels in {options.out}")


if __name__ == "__main__":
    main()

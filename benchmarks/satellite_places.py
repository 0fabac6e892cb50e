"""Does a network that trains on both bands of PROBA-V see places of the test?

Run ``python benchmarks/satellite_places.py SCENES [--out FILE.json]`` with a folder in the layout
of the challenge, or packs. Compares the truth of each test scene with those of all training scenes,
of its own band and of the other: how steep the picture is at each place, by correlation at all
shifts. Pictures of different places hardly agree; bands of one place do.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from kept import keep
from torch import Tensor
from torch.nn.functional import avg_pool2d

from symsets.experiments.study.catalogue import scene_source

COARSER = 4  # pixels of the truth that become one
ALIKE = 0.5  # correlation; see the largest within a band


def spectra(source: Any, band: str, splits: tuple[str, ...]) -> Tensor:
    """Return the Fourier transforms of how steep all truths of a band are, of norm one."""
    scenes = [scene for split in splits for scene in source.scenes(band, split, 10_000)]
    high = torch.stack([torch.from_numpy(scene.high.astype("float32")) for scene in scenes])
    high = avg_pool2d(high, COARSER)
    down, right = high.diff(dim=1)[:, :, :-1], high.diff(dim=2)[:, :-1]
    steep = torch.log1p((down.square() + right.square()).sqrt())
    rows = steep.shape[1]
    window = torch.hann_window(rows)
    steep = (steep - steep.mean((1, 2), keepdim=True)) * window[:, None] * window
    steep = steep / steep.flatten(1).norm(dim=1)[:, None, None]
    return torch.fft.rfft2(steep, s=(2 * rows, 2 * rows))


def largest(test: Tensor, train: Tensor) -> Tensor:
    """Return the largest correlation of each test scene with any training scene."""
    size = [test.shape[1]] * 2
    return torch.stack([torch.fft.irfft2(one.conj() * train, s=size).amax() for one in test])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    source = scene_source(str(options.scenes), seed=0)
    train = {band: spectra(source, band, ("train", "val")) for band in source.bands}
    rows = []
    for band in source.bands:
        test = spectra(source, band, ("test",))
        for other in source.bands:
            found = largest(test, train[other])
            row = {
                "test": band,
                "train": other,
                "scenes": len(found),
                "alike": int((found > ALIKE).sum()),
                "median": found.median().item(),
                "largest": found.max().item(),
            }
            rows.append(row)
            print(row)
    keep(options.out, correlation=ALIKE, rows=rows)


if __name__ == "__main__":
    main()

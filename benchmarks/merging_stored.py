"""What does ``symsets merge`` make of shots whose colours share their noise?

Run ``python benchmarks/merging_stored.py [--photos FOLDER] [--limit 20] [--out FILE]``. Bursts are
those of ``merging.py`` (five shots, shifts to 2 pixels), kept with 8 bits, as JPEG that keeps
colours at half the size (quality 95, as most cameras do), and as grey pictures. PSNR in dB of one
shot, the mean of aligned shots, and the network that comes with the package.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from kept import keep
from merging import Setting, aligned_mean, from_folder, from_scikit_image, mean_psnr, shoot
from PIL import Image
from torch import Tensor

import symsets
from symsets.data.degrading import grey

QUALITY, HALVED = 95, 2  # what Pillow calls the halving of colours in both directions


def as_jpeg(shot: Tensor) -> Tensor:
    """Return what Pillow reads of a shot ``(3, H, W)`` that it wrote."""
    stream = io.BytesIO()
    pixels = (255 * shot).round().byte().permute(1, 2, 0).numpy()
    Image.fromarray(pixels).save(stream, "JPEG", quality=QUALITY, subsampling=HALVED)
    return torch.from_numpy(np.array(Image.open(stream))).permute(2, 0, 1) / 255


def burst(name: str, photo: Tensor, noise: int, kept: str) -> tuple[Tensor, Tensor]:
    """Return shots and their target; grey shots have the noise of one colour."""
    if kept == "grey":
        shots, target = shoot(name, photo, Setting(noise, 2))
        clean, _ = shoot(name, photo, Setting(0, 2))
        return (grey(clean) + (shots - clean)[:, :1]).clamp(0, 1), grey(target)
    shots, target = shoot(name, photo, Setting(noise, 2))
    return torch.stack([as_jpeg(x) for x in shots]) if kept == "JPEG" else shots, target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, help="a folder of photographs (.jpg)")
    parser.add_argument("--limit", type=int, default=20, help="photographs of the folder")
    parser.add_argument("--network", default="merge", help="what symsets.load takes")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    network = symsets.load(options.network)
    photos = [*from_folder(options.photos, options.limit), *from_scikit_image()]
    rows: dict[str, Callable[[Tensor], Tensor]] = {
        "one shot": lambda shots: shots[0],
        "aligned mean": aligned_mean,
        "merge": lambda x: symsets.merge(x, reference=0, network=network, device=options.device),
    }
    records = []
    for noise in (3, 10, 25):
        for kept in ("8 bits", "JPEG", "grey"):
            bursts = (burst(name, photo, noise, kept) for name, photo in photos)
            for row, value in mean_psnr(rows, bursts).items():
                records.append({"noise": noise, "kept": kept, "row": row, "psnr": value})
                print(f"noise {noise}, {kept:7} {row:13} {value:6.2f} dB", flush=True)
            keep(options.out, device=options.device, photographs=len(photos), records=records)


if __name__ == "__main__":
    main()

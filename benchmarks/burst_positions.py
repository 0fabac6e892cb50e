"""How well must a burst tell where its scene is?

Run ``python benchmarks/burst_positions.py [--data PACK] [--out FILE]``. If the shots of a burst
know the place of their scene only up to a random shift, then even the sharp scene itself is off:
the best a network could answer is, at every pixel, the median over all shifts. This measures its
error, in grey levels of 255, for normal shifts of some standard deviations (in pixels, along each
axis); and the errors of the median and the mean of bursts as ``symsets run bursts`` makes them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from kept import keep
from torch import Tensor

from symsets.experiments.bursts.sets import BurstSets, median
from symsets.experiments.study.catalogue import image_source

DEVIATIONS = (0.1, 0.2, 0.3, 0.5, 0.67, 1.0)
SHIFTS = 64
MOST = 1000  # bursts
MARGIN = 8  # px at the border, where shifted pictures come round


def shifted(images: Tensor, by: Tensor) -> Tensor:
    """Shift pictures ``(B, C, S, S)`` by fractions of pixels ``(2,)``, periodically."""
    size = images.shape[-1]
    rows, columns = torch.fft.fftfreq(size)[:, None], torch.fft.rfftfreq(size)
    phase = torch.exp(-2j * torch.pi * (by[0] * rows + by[1] * columns))
    moved = torch.fft.irfft2(torch.fft.rfft2(images) * phase, images.shape[-2:])
    return moved[..., MARGIN:-MARGIN, MARGIN:-MARGIN]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="embedded")
    parser.add_argument("--photos", type=int, default=64)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    source = image_source(options.data, size=128, seed=0)
    images = source.images("test", options.photos, "cpu").float()
    rows = []
    for deviation in DEVIATIONS:
        places = deviation * torch.randn(SHIFTS, 2)
        error = 0.0
        for some in images.split(8):
            moved = torch.stack([shifted(some, place) for place in places])
            error += (moved - moved.median(0).values).abs().mean().item() * len(some)
        rows.append({"deviation": deviation, "mae": round(error / len(images), 2)})
        print(f"known to {deviation:4.2f} px: off by {rows[-1]['mae']:5.2f} of 255", flush=True)
    photos = source.images("test", MOST, "cpu")
    x, y = BurstSets(photos, len(photos), seed=0).part(0, len(photos))
    trivial = {"median": median(x), "mean": x.mean(1)}
    bursts = {how: round(127.5 * (z - y).abs().mean().item(), 2) for how, z in trivial.items()}
    print(f"{len(photos)} bursts: {bursts}")
    about = {"data": source.name, "photos": len(images), "shifts": SHIFTS}
    keep(options.out, **about, rows=rows, bursts={"photos": len(photos), **bursts})


if __name__ == "__main__":
    main()

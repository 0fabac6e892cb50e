"""What does ``symsets merge`` make of shots that differ by more than noise and place?

Run ``python benchmarks/merging_differences.py [--photos FOLDER] [--limit 14] [--out FILE]``. Bursts
are those of ``merging.py`` (five shots, shifts to 2 pixels). All shots but the reference are
exposed longer or shorter, or their red and blue are multiplied, or a square of 40 pixels moves by
25 from shot to shot; then noise is added, and whatever is brighter than white is cut off. PSNR in
dB to the scene as the reference shows it: of one shot, of one shot merged alone, and of all merged,
with and without evening out brightness and colours and looking for what moved.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from unittest.mock import patch

import torch
import torch.nn.functional as F
from kept import keep
from merging import Setting, from_folder, from_scikit_image, mean_psnr, shoot
from torch import Tensor

import symsets
from symsets.tools import merging

NOISE = (4, 10)
EXPOSURES = {
    "alike": (1, 1, 1, 1, 1),
    "exposure ±30 %": (1, 0.7, 1.3, 0.8, 1.2),
    "exposure ±50 %": (1, 0.5, 1.5, 0.7, 1.3),
    "bracket, ½ to 2": (1, 0.5, 0.5, 2, 2),
}
MOVING, SIDE, STEP = "a square moves", 40, 25
BALANCES = {"red, blue ±10 %": (0.9, 1, 1.1), "red, blue ±25 %": (0.75, 1, 1.25)}


def burst(name: str, photo: Tensor, noise: int, how: str) -> tuple[Tensor, Tensor]:
    """Return shots ``(5, 3, H, W)`` with 8 bits, and what they should become."""
    clean, target = (x.clone() for x in shoot(name, photo, Setting(0, 2)))
    exposures, balance = EXPOSURES.get(how, (1,) * 5), BALANCES.get(how, (1, 1, 1))
    gain = torch.tensor(exposures, dtype=torch.float32).view(5, 1, 1, 1).repeat(1, 3, 1, 1)
    gain[1:] *= torch.tensor(balance, dtype=torch.float32).view(3, 1, 1)
    draw = torch.Generator().manual_seed(len(name))
    if how == MOVING:
        square = torch.rand(1, 3, 5, 5, generator=draw)
        square = F.interpolate(square, (SIDE, SIDE), mode="bicubic").clamp(0, 1)[0]
        for k, shot in enumerate(clean):
            shot[:, 100 : 100 + SIDE, 60 + STEP * k : 60 + STEP * k + SIDE] = square
        target[:, 100 : 100 + SIDE, 60 : 60 + SIDE] = square
    shots = gain * clean + noise / 255 * torch.randn(clean.shape, generator=draw)
    return (255 * shots).round().clamp(0, 255) / 255, target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, help="a folder of photographs (.jpg)")
    parser.add_argument("--limit", type=int, default=14, help="photographs of the folder")
    parser.add_argument("--network", default="merge", help="what symsets.load takes")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    network = symsets.load(options.network)
    photos = [*from_folder(options.photos, options.limit), *from_scikit_image()]

    def merged(shots: Tensor) -> Tensor:
        return symsets.merge(shots, reference=0, network=network, device=options.device)

    def as_they_are(shots: Tensor) -> Tensor:
        with (
            patch.object(merging, "as_bright", lambda pictures, *_: (pictures, torch.ones(()))),
            patch.object(merging, "moved", lambda found, *_: found[:, :1].isnan()),
        ):
            return merged(shots)

    rows = {
        "one shot": lambda shots: shots[0],
        "merge, one shot": lambda shots: merged(shots[:1]),
        "merge, as they are": as_they_are,
        "merge": merged,
    }
    records = []
    for noise in NOISE:
        for how in (*EXPOSURES, *BALANCES, MOVING):
            bursts = (burst(name, photo, noise, how) for name, photo in photos)
            for row, value in mean_psnr(rows, bursts).items():
                records.append({"noise": noise, "shots": how, "row": row, "psnr": value})
                print(f"noise {noise}, {how:16} {row:22} {value:6.2f} dB", flush=True)
            keep(options.out, device=options.device, photographs=len(photos), records=records)


if __name__ == "__main__":
    main()

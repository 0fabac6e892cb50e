"""How often does ``symsets best`` pick the best shot, and how often do measures of sharpness?

Run ``python benchmarks/best.py [--photos FOLDER] [--network DIR] [--sets 200] [--out FILE]``, where
the folder holds photographs that no network was trained on, such as the 200 test photographs of
BSDS500; without it, crops of two photographs in scikit-image and scikit-learn. Of the middle of
each, eight shots of 256 pixels are made (``SpoiltSets``): spoilt in all ways mixed, and in one way
alone. Reported is how often the best shot is picked, and how many decibels are lost by picking
another one. Without a network in the package, and without ``--network``, the classical measures are
measured alone. ``--speed`` instead takes the time and memory of eight shots of 2 megapixels.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from kept import keep
from torch import Tensor, nn

import symsets
from symsets.data.spoilt import KINDS, SPARE, SpoiltSets
from symsets.experiments.study.catalogue import image_source
from symsets.models import BestNetwork
from symsets.models.sharpness import MEASURES
from symsets.tools.ranking import NAME, rank
from symsets.tools.shot_files import SUFFIXES, read_shot

SIZE, SHOTS = 256, 8
SIDE = SIZE + 2 * SPARE
MEGAPIXELS = (1200, 1664)  # 2.0
ROWS = {"mixed": KINDS, **{kind: (kind,) for kind in KINDS}}  # what may go wrong
Measure = Callable[[Tensor], Tensor]


def photographs(folder: Path | None, num: int) -> Tensor:
    """Return middles of photographs ``(M, 3, SIDE, SIDE)``, bytes, those that are large enough."""
    if folder is None:
        return image_source("embedded", size=SIDE).images("test", num)
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)
    found = []
    for file in files[:num]:
        picture = read_shot(file).picture.expand(3, -1, -1)
        top, left = ((length - SIDE) // 2 for length in picture.shape[1:])
        if min(top, left) >= 0:
            middle = picture[:, top : top + SIDE, left : left + SIDE]
            found.append((255 * middle).round().byte())
    return torch.stack(found)


def measured(images: Tensor, kinds: tuple[str, ...], by: dict[str, Measure], num: int) -> dict:
    """Return accuracy and lost decibels of each measure."""
    sets = SpoiltSets(images, num, num_elements=SHOTS, size=SIZE, kinds=kinds)
    sets.BLOCK = 8  # made at a time: more would take gigabytes
    right: dict[str, list[float]] = {name: [] for name in by}
    lost: dict[str, list[float]] = {name: [] for name in by}
    for start in range(0, num, sets.BLOCK):
        for shots, quality in zip(*sets.part(start, start + sets.BLOCK), strict=True):
            for name, measure in by.items():
                picked = int(measure(shots).argmax())
                right[name].append(float(picked == int(quality.argmax())))
                lost[name].append(float(quality.max() - quality[picked]))
    return {
        name: {
            "accuracy": round(sum(right[name]) / num, 4),
            "decibels lost": round(sum(lost[name]) / num, 2),
        }
        for name in by
    }


def speed(device: str) -> dict[str, float]:
    """Return seconds and megabytes of ranking eight shots of 2 megapixels, by random weights."""
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(1, 3, *(side // 8 for side in MEGAPIXELS), generator=generator)
    scene = nn.functional.interpolate(coarse, scale_factor=8, mode="bilinear")[0]
    shots = [scene.roll((3 * k, -5 * k), (1, 2)) for k in range(SHOTS)]
    network = BestNetwork()
    start = time.monotonic()
    rank(shots, network=network, device=device)
    seconds = time.monotonic() - start
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": round(seconds, 2), "megabytes": round(most)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--network", help="what symsets.load takes")
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.speed:
        found = speed(options.device)
        print(found)
        keep(options.out, device=options.device, speed=found)
        return
    by = dict(MEASURES)
    name = options.network or (NAME if NAME in symsets.pretrained() else None)
    if name is not None:
        by["network"] = partial(rank, network=symsets.load(name), device=options.device)
    images = photographs(options.photos, options.sets)
    rows = {}
    for label in options.rows:
        rows[label] = measured(images, ROWS[label], by, options.sets)
        print(label, flush=True)
        for measure, numbers in rows[label].items():
            print(f"  {measure:26} {100 * numbers['accuracy']:5.1f} %  "
                  f"{numbers['decibels lost']:5.2f} dB lost", flush=True)  # fmt: skip
    data = options.photos.name if options.photos else "embedded"
    keep(options.out, device=options.device, data=data, sets=options.sets, shots=SHOTS, rows=rows)


if __name__ == "__main__":
    main()

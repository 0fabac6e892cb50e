"""What is it worth that a network for bursts starts from their mean?

Run ``python benchmarks/burst_mean.py [--model dss-max] [--data PACK] [--steps 600] [--out FILE]``.
Two U-Nets of a quarter of the width learn to merge bursts of 64 pixels, eight at a time, with a
learning rate that falls to zero: one says the whole picture, the other (recipe ``ours``) what the
mean of the burst lacks. Both see the same bursts.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import torch
from kept import keep

from symsets.experiments.bursts.experiment import image_and_gradients
from symsets.experiments.bursts.sets import BurstSets, median
from symsets.experiments.study.catalogue import image_source
from symsets.models import UNet

BATCH, RATE, TESTED = 8, 1e-3, 128
WIDTHS = (16, 24, 40, 48)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="dss-max")
    parser.add_argument("--data", default="embedded")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    source = image_source(options.data, size=128, seed=0)
    photos = source.images("train", 20_000, "cpu")
    train = BurstSets(photos, len(photos), size=64)
    x, y = BurstSets(source.images("val", TESTED, "cpu"), TESTED, size=64).part(0, TESTED)

    def grey_levels(output: torch.Tensor) -> float:
        return round(127.5 * (output - y).abs().mean().item(), 2)

    rows = []
    for adds_mean in (False, True):
        torch.manual_seed(0)
        network = UNet(options.model, widths=WIDTHS, task="merge", num_elements=5)
        network.adds_mean = adds_mean
        optimiser = torch.optim.AdamW(network.parameters(), lr=RATE)
        for step in range(options.steps):
            for group in optimiser.param_groups:
                group["lr"] = RATE * (1 + math.cos(math.pi * step / options.steps)) / 2
            bursts, scenes = train.batch(torch.randint(len(photos), (BATCH,)))
            loss = image_and_gradients(network.train()(bursts), scenes)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            if (step + 1) % 100 == 0:
                with torch.no_grad():
                    found = torch.cat([network.eval()(some) for some in x.split(32)])
                rows.append({"adds_mean": adds_mean, "step": step + 1, "mae": grey_levels(found)})
                print(rows[-1], flush=True)
    trivial = {"median": grey_levels(median(x)), "mean": grey_levels(x.mean(1))}
    print(trivial)
    keep(options.out, data=source.name, bursts=TESTED, rows=rows, **trivial)


if __name__ == "__main__":
    main()

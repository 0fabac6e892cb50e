"""How often does a score that knows nothing select the central frame of a motion?

Run ``python benchmarks/random_scores.py --data PACK``: 200 random linear functions of the vertices,
1,000 test sets. A score ranks poses in some direction, and the middle of a motion is seldom an
extreme, so the answer is less than chance (1/7).
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import torch
from kept import keep

from symsets.experiments.shapes.sets import CentralFrameSets
from symsets.experiments.study.catalogue import motion_source

DRAWS, SETS = 200, 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="embedded")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    source = motion_source(options.data, seed=0)
    x, target = CentralFrameSets(source.motions("test"), SETS, skip=source.skip).part(0, SETS)
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(DRAWS, x[0, 0].numel(), generator=generator)
    chosen = (x.flatten(2) @ weights.T).argmax(1)  # (sets, draws)
    accuracies = (chosen == target[:, None]).double().mean(0).tolist()
    mean, std = statistics.mean(accuracies), statistics.stdev(accuracies)
    print(f"{source.name}: {100 * mean:.1f} ± {100 * std:.1f} % (chance {100 / x.shape[1]:.1f} %)")
    keep(options.out, data=source.name, draws=DRAWS, sets=SETS, mean=mean, std=std)


if __name__ == "__main__":
    main()

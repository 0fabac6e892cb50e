"""How much does the share of the noise in a set's variance tell about its wave?

Run ``python benchmarks/noise_share.py [--out FILE.json]``: the accuracy, on the test sets of the
signals experiment, of a classifier that sees this one number and nothing else. The waves have
different power (1/2, 1 and 1/3 of the squared amplitude), so dividing a set by its standard
deviation leaves noise whose size depends on the wave.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from kept import keep
from torch import Tensor

from symsets.experiments.signals.sets import CLASSES, Signals

BINS = 60


def noise_share(x: Tensor) -> Tensor:
    """Variance between the copies, over the variance of all entries of the set."""
    return x.var(1).mean((1, 2)) / x.flatten(1).var(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    train, test = Signals().make("train", 9000), Signals().make("test", 3000)
    share = noise_share(train.x)
    edges = torch.quantile(share, torch.linspace(0, 1, BINS + 1)[1:-1])
    counts = torch.zeros(BINS, len(CLASSES))
    counts.index_put_(
        (torch.bucketize(share, edges), train.y), torch.ones(len(share)), accumulate=True
    )
    guess = counts.argmax(1)[torch.bucketize(noise_share(test.x), edges)]
    shares = {}
    for k, name in enumerate(CLASSES):
        of_class = share[train.y == k]
        shares[name] = {"mean": of_class.mean().item(), "std": of_class.std().item()}
        print(f"{name:9} share {of_class.mean():.3f} ± {of_class.std():.3f}")
    accuracy = (guess == test.y).float().mean().item()
    print(f"accuracy from the share alone: {accuracy:.3f}")
    keep(options.out, accuracy=accuracy, shares=shares)


if __name__ == "__main__":
    main()

"""Why do validation curves swing, and what steadies them?

Run ``python benchmarks/validation_statistics.py [--out FILE]``. One training run of DSS(sum) (2,000
sets, a fifth of the width, 8 epochs); after each epoch the same weights are validated in four
ways: as they are or averaged over steps, with the batch statistics gathered on the way or with
refreshed ones.
"""

from __future__ import annotations

import argparse
import copy
import warnings
from pathlib import Path

import torch
from kept import keep
from torch.nn.functional import cross_entropy

from symsets.experiments.signals.experiment import AVERAGE
from symsets.experiments.signals.network import SignalNetwork
from symsets.experiments.signals.sets import Signals
from symsets.train.average import Average, refresh_statistics
from symsets.train.ensemble import Ensemble
from symsets.train.evaluation import evaluate
from symsets.train.metrics import ACCURACY, Task
from symsets.train.plan import Plan
from symsets.train.step import EagerSteps
from symsets.train.training import STATISTICS_BATCHES

TRAIN, EPOCHS, WIDTHS = 2000, 8, (32, 32, 16)
TASK = Task(cross_entropy, (ACCURACY,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # length 25 is odd; see SignalNetwork
    torch.manual_seed(options.seed)
    train, val = Signals().make("train", TRAIN), Signals().make("val", 1000)
    plan = Plan(EPOCHS, average=AVERAGE)
    ensemble = Ensemble([SignalNetwork("dss-sum", widths=WIDTHS)])
    averaging = Average(ensemble, AVERAGE)
    average = averaging.ensemble
    optimiser = torch.optim.AdamW(ensemble.parameters())
    steps = EagerSteps(ensemble, optimiser, train, cross_entropy, average=averaging)
    curves: dict[str, list[float]] = {}
    for epoch in range(EPOCHS):
        ensemble.train()
        order, rates = (
            plan.order(TRAIN, epoch, options.seed)[:, None],
            plan.rates(epoch, TRAIN // 64),
        )
        for step in range(len(order)):
            steps.run(order[step : step + 1], rates[step : step + 1])
            for mean, value in zip(average.buffers(), ensemble.buffers(), strict=True):
                if mean.is_floating_point():
                    mean.lerp_(value, 1 - AVERAGE)
        batches = [train.x[which] for which in order[:STATISTICS_BATCHES]]
        for weights, network in (("weights", ensemble), ("averaged weights", average)):
            fresh = copy.deepcopy(network)
            refresh_statistics(fresh, batches)
            for statistics, candidate in (("gathered", network), ("refreshed", fresh)):
                value = evaluate(candidate, val, Task(cross_entropy, (ACCURACY,)))[0].mean(
                    "accuracy"
                )
                curves.setdefault(f"{weights}, {statistics} statistics", []).append(round(value, 3))
    for name, values in curves.items():
        print(f"{name:40}", *(f"{v:.3f}" for v in values))
    keep(options.out, seed=options.seed, curves=curves)


if __name__ == "__main__":
    main()

"""What does batch normalisation cost in training? The loss under both of its statistics.

Run ``python benchmarks/batch_statistics.py --data places25_80 [--study results/colors] [--sets 64]
[--out FILE]``. The trained networks of a study are applied to sets of training and of validation
pictures, all as in a test: once with the running statistics of their batch normalisations, as in a
test, once with those of every batch, as in training. Nothing is trained.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from pathlib import Path

import torch
from kept import keep
from torch import Tensor, nn

from symsets import load
from symsets.data.labelled import SetDataset
from symsets.experiments.study.experiment import Experiment, find_experiment
from symsets.experiments.study.transfer import trained_networks

POOL = 3000  # sets to choose from


def batches(sets: SetDataset, num: int, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of ``num`` of the sets, in no order: neighbours in a dataset are often alike."""
    chosen = torch.randperm(sets.num_sets, generator=torch.Generator().manual_seed(0))[:num]
    for which in chosen.split(size):
        x, y = zip(*(sets.part(i, i + 1) for i in which.tolist()), strict=True)
        yield torch.cat(x), torch.cat(y)


@torch.no_grad()
def mean_loss(experiment: Experiment, network: nn.Module, sets: SetDataset, num: int) -> float:
    """The loss of a network as it stands, in batches as large as in training."""
    size = experiment.make_plan("ours", 1, "").batch_size
    loss = experiment.task.loss
    return statistics.mean(loss(network(x), y).item() for x, y in batches(sets, num, size))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", type=Path, default=Path("results/colors"))
    parser.add_argument("--data", required=True)
    parser.add_argument("--sets", type=int, default=64)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    for trained in trained_networks(options.study):
        experiment = find_experiment(trained.config["experiment"])
        source = experiment.open_source(options.data, 0)
        for split in ("train", "val"):
            sets = experiment.make_sets(source, trained.config["setting"], split, POOL, "cpu", 0)
            row: dict[str, str | float] = {"network": trained.name, "split": split}
            for name, training in (("running", False), ("batch", True)):
                network = load(trained.path).train(training)
                row[name] = mean_loss(experiment, network, sets, options.sets)
            rows.append(row)
            print(row, flush=True)
            keep(options.out, data=source.name, sets=options.sets, rows=rows)


if __name__ == "__main__":
    main()

"""How far do the scores of a selection network drift, where no softmax sees it?

Run ``python benchmarks/score_drift.py [--data NAME] [--out FILE]``: a small network for moving
shapes, trained for 3,000 steps at a constant learning rate with the published head (a DeepSets
layer gives the scores, in the type of the computation) and with ours, in float32 and in bfloat16.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from kept import keep
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from symsets import DSS, Sequential
from symsets.experiments.shapes.network import ShapeNetwork
from symsets.experiments.shapes.sets import CentralFrameSets
from symsets.experiments.study.catalogue import motion_source
from symsets.sets import map_elements

WIDTHS, BATCH, RATE = (8, 32, 128), 16, 1e-3


class WithContext(nn.Module):
    """The same network with a head whose last layer has a context and follows autocast."""

    def __init__(self, network: ShapeNetwork) -> None:
        super().__init__()
        self.features = network.features
        self.scores = Sequential(
            *(DSS(nn.Linear(128, 128), pool="max"), nn.ELU()),
            *(DSS(nn.Linear(128, 128), pool="max"), nn.ELU()),
            DSS(nn.Linear(128, 1), pool="max"),
        )

    def forward(self, x: Tensor) -> Tensor:
        return map_elements(self.scores(self.features(x)), lambda rows: rows.squeeze(1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--data", default="embedded", help="motions, as `symsets data` lists them")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    source = motion_source(options.data)
    motions = source.motions("train", 60)
    motions = motions.thinned(motions.shapes[0], 64)
    sets = CentralFrameSets(motions, 1000, skip=source.skip)
    rows = []
    for head, precision in (("context", "float32"), ("context", "bfloat16"), ("ours", "bfloat16")):
        torch.manual_seed(0)
        network: nn.Module = ShapeNetwork("dss-sum", widths=WIDTHS)
        if head == "context":
            network = WithContext(network)  # type: ignore[arg-type]
        optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.0)
        losses = []
        for _ in range(options.steps):
            x, y = sets.batch(torch.randint(1000, (BATCH,)))
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
                scores = network(x)
                loss = cross_entropy(scores, y)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        scores = scores.detach().float()
        centred = scores - scores.mean(1, keepdim=True)
        tied = ((scores == scores.amax(1, keepdim=True)).sum(1) > 1).float().mean().item()
        row = {
            "head": head,
            "precision": precision,
            "loss": round(sum(losses[-300:]) / len(losses[-300:]), 4),
            "offset": round(scores.mean().item(), 2),
            "spread": round(centred.std().item(), 3),
            "tied": round(tied, 3),
        }
        rows.append(row)
        print(row, flush=True)
    keep(options.out, steps=options.steps, rows=rows)


if __name__ == "__main__":
    main()

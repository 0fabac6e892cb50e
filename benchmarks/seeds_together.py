"""What do several seeds cost together, side by side?

Run ``python benchmarks/seeds_together.py [--device cuda] [--widths 0.05,0.2] [--out FILE]``:
training steps of the signals networks, one seed and five, batch 64, at shares of the published
widths. Members run one after the other, on a GPU on a stream for each inside one CUDA graph.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import torch
from kept import keep
from steps import make_steps, milliseconds
from torch.nn.functional import cross_entropy

from symsets.experiments.signals.network import MODELS, SignalNetwork
from symsets.experiments.signals.sets import Signals

SEEDS, BATCH, SETS = 5, 64, 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--models", default="dss-sum,siamese,deepsets,mlp")
    parser.add_argument("--widths", default="0.05,0.1,0.2")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # length 25 is odd; see SignalNetwork
    captured = options.device.startswith("cuda")
    torch.manual_seed(0)
    data = Signals().make("train", SETS, options.device)
    rows = []
    print(f"{'model':10} {'width':>6} {'one':>9} {'side by side':>16}")
    for model in options.models.split(","):
        for width in map(float, options.widths.split(",")):
            widths = [max(2, round(width * w)) for w in MODELS[model]]
            steps = {
                name: make_steps(
                    [SignalNetwork(model, widths=widths) for _ in range(seeds)],
                    data,
                    cross_entropy,
                    options.precision,
                    captured=captured,
                )
                for name, seeds in (("one", 1), ("side by side", SEEDS))
            }
            took: dict[str, list[float]] = {name: [] for name in steps}
            for _ in range(options.rounds):  # rounds of both: the machine may be busy
                for name, one in steps.items():
                    seeds = one.ensemble.size
                    order = torch.randint(SETS, (20 if captured else 2, seeds, BATCH))
                    took[name] += milliseconds([one], order.to(options.device), 1)
            median = {name: sorted(found)[len(found) // 2] for name, found in took.items()}
            rows.append({"model": model, "width": width, "milliseconds": median})
            both = median["side by side"]
            ratio = f"{both:8.2f} ({both / median['one']:.2f}×)"
            print(f"{model:10} {width:6g} {median['one']:9.2f} {ratio:>16}")
    keep(options.out, device=options.device, precision=options.precision, seeds=SEEDS, rows=rows)


if __name__ == "__main__":
    main()

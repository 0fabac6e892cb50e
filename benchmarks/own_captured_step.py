"""Is a loop of one's own with ``symsets.train.capture`` as fast as the captured steps of ``fit``?

Run ``python benchmarks/own_captured_step.py --device cuda [--out FILE]``: the signals network
DSS(sum), batch 64, sets of 25 signals of length 100. Both loops choose batches of data that lie on
the GPU; the ratio should be 1.1 at most. On a CPU both take eager steps, a few of them.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from kept import keep
from steps import make_steps, run
from torch import Tensor
from torch.nn.functional import cross_entropy

from symsets.data import LabelledSets
from symsets.experiments.signals.network import SignalNetwork
from symsets.experiments.signals.sets import Signals
from symsets.train import capture

BATCH = 64


def own_loop(data: LabelledSets, precision: str) -> Callable[[Tensor], None]:
    """Return the loop that a user would write."""
    net = SignalNetwork("dss-sum").to(data.device)
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4)
    step = capture(net, optimiser, cross_entropy, precision=precision)

    def loop(order: Tensor) -> None:
        for which in order[:, 0]:
            step(data.x[which], data.y[which])
        if order.is_cuda:
            torch.cuda.synchronize()

    return loop


def milliseconds(loops: list[Callable[[Tensor], None]], order: Tensor, rounds: int) -> list[float]:
    """Return the median time of a step of each, in interleaved rounds; the first warms up."""
    times: list[list[float]] = [[] for _ in loops]
    for _ in range(rounds + 1):
        for loop, found in zip(loops, times, strict=True):
            start = time.perf_counter()
            loop(order)
            found.append((time.perf_counter() - start) / len(order))
    return [1e3 * statistics.median(found[1:]) for found in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # length 25 is odd; see SignalNetwork
    on_gpu = options.device.startswith("cuda")
    if on_gpu and not torch.cuda.is_available():
        raise SystemExit("own_captured_step: no GPU was found")
    torch.manual_seed(0)
    data = Signals().make("train", 2000, options.device)
    order = torch.randint(2000, (100 if on_gpu else 3, 1, BATCH)).to(options.device)
    rows = []
    for precision in ("float32", "tf32", "bfloat16", "float16") if on_gpu else ("float32",):
        nets = [SignalNetwork("dss-sum")]
        steps = make_steps(nets, data, cross_entropy, precision, captured=on_gpu)
        loops = [lambda order, s=steps: run(s, order, 1e-4), own_loop(data, precision)]
        fit, own = milliseconds(loops, order, 7 if on_gpu else 2)
        rows.append({"precision": precision, "fit": fit, "own": own, "ratio": own / fit})
        print(f"{precision:9} fit {fit:8.3f} ms   own {own:8.3f} ms   ratio {own / fit:.3f}")
    keep(options.out, device=options.device, rows=rows)


if __name__ == "__main__":
    main()

"""What do sums and broadcasts save, against the matrix of an equivariant map of a direct sum?

Run ``python benchmarks/direct_sums.py [--out FILE]``: one layer (16 → 16 channels) on the weights
of 1,000 networks 2-32-32-1 whose hidden neurons may be reordered. The rival writes the matrix out
from the labels of ``groups.basis`` and multiplies by it once. Both have the same weights. Times are
medians of interleaved runs; memory is the peak of what torch allocates during a forward and
backward pass, on top of what is there before.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from kept import keep
from shared_graph import peak_bytes, run
from torch import Tensor

from symsets import groups
from symsets.nn import EquivariantLinear

SPACE = "I2 x S32[a] + S32[a] x S32[b] + S32[b] x I1 + S32[a] + S32[b] + I1"
Step = Callable[[], list[Tensor]]


def steps(networks: int, channels: int) -> dict[str, Step]:
    """Return what to compare: the output of one layer, in both ways."""
    torch.manual_seed(0)
    space = groups.parse(SPACE)
    layer = EquivariantLinear(space, channels, channels, bias=False)
    x = torch.randn(networks, channels, space.degree).requires_grad_()
    labels = torch.from_numpy(groups.basis(space).T.copy()).flatten()  # input points first

    def dense() -> list[Tensor]:
        matrix = layer.weight.permute(2, 0, 1).index_select(1, labels)  # (C, S·T, out)
        y = x.flatten(1) @ matrix.reshape(channels * space.degree, -1)
        return [y.unflatten(1, (space.degree, channels)).mT]

    return {"dense": dense, "sums": lambda: [layer(x)]}


def medians(
    named: dict[str, Step], work: Callable[[Step], object], rounds: int
) -> dict[str, float]:
    """Return the median seconds of runs in turn, after one that warms up."""
    times: dict[str, list[float]] = {name: [] for name in named}
    for _ in range(rounds + 1):
        for name, step in named.items():
            start = time.perf_counter()
            work(step)
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def forward(step: Step) -> None:
    with torch.no_grad():
        step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=1000)
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    named = steps(options.networks, options.channels)
    error = (named["dense"]()[0] - named["sums"]()[0]).abs().max().item()
    costs = {
        "forward, seconds": medians(named, forward, options.rounds),
        "forward and backward, seconds": medians(named, run, options.rounds),
        "peak memory, MiB": {name: peak_bytes(step) / 2**20 for name, step in named.items()},
    }
    print(f"{SPACE}: {options.networks} networks, {options.channels} channels, error {error:.1e}")
    for what, cost in costs.items():
        print(f"{what:32}{cost['dense']:10.3f} → {cost['sums']:8.3f}", end="")
        print(f"   {cost['dense'] / cost['sums']:6.1f}×")
    threads = torch.get_num_threads()
    keep(options.out, space=SPACE, threads=threads, largest_difference=error, **costs)


if __name__ == "__main__":
    main()

"""What do the set layers cost? Every ratio of one run, on two CPU threads.

Run ``python benchmarks/layer_cost.py [--out FILE]``. Times are medians of interleaved forward and
backward passes, so that a busy machine slows down both sides of a ratio alike.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import shared_graph
import torch
from kept import keep
from torch import Tensor, nn

from symsets import DSS, RaggedSets, Siamese
from symsets.nn import CircularConv1d, Graph, GraphConv
from symsets.sets import map_elements

ROUNDS, MAKES = 7, 5
Step = Callable[[], object]
Make = Callable[[], nn.Module]


def interleaved(make: Callable[[], dict[str, Step]], rounds: int) -> dict[str, float]:
    """Run steps in turn and return the median seconds of each.

    They are made anew several times: where tensors lie decides whether the next step finds memory
    or needs fresh pages, which can cost as much as the step.
    """
    seconds: dict[str, list[float]] = {}
    for _ in range(MAKES):
        for round_, (name, step) in product(range(rounds + 2), make().items()):
            start = time.perf_counter()
            step()
            if round_ >= 2:  # the first two warm up
                seconds.setdefault(name, []).append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def training_step(layer: nn.Module, x: Tensor | RaggedSets, *args: object) -> Step:
    """A forward and backward pass with gradients for the input and all weights."""
    rows = x.elements if isinstance(x, RaggedSets) else x
    rows.requires_grad_()

    def output() -> Tensor:
        out = layer(x, *args)
        return out.elements if isinstance(out, RaggedSets) else out

    gradient = torch.randn_like(output())

    def step() -> None:
        torch.autograd.grad(output(), [rows, *layer.parameters()], gradient)

    return step


def dss_over_siamese(rounds: int) -> list[tuple[str, float, float]]:
    """DSS(sum) over Siamese of the same width."""
    graph = shared_graph.grid(45)
    cases = {
        "signals": ((16, 25, 160, 50), lambda: CircularConv1d(160, 160, 50, stride=2), (), 1.25),
        "images": ((8, 8, 64, 32, 32), lambda: nn.Conv2d(64, 64, 3, padding=1), (), 0.0),
        "clouds": ((4, 7, 128, 2000), lambda: nn.Conv1d(128, 128, 1), (), 0.0),
        "graphs": ((4, 7, 64, graph.num_nodes), lambda: GraphConv(64, 64), (graph,), 0.0),
    }
    rows = []
    for name, (shape, make, args, bound) in cases.items():

        def steps(
            shape: tuple[int, ...] = shape, make: Make = make, args: tuple[Graph, ...] = args
        ) -> dict[str, Step]:
            return {
                "siamese": training_step(Siamese(make()), torch.randn(shape), *args),
                "dss": training_step(DSS(make(), size=shape[1]), torch.randn(shape), *args),
            }

        median = interleaved(steps, rounds)
        bound = bound or 1 + 1 / shape[1] + 0.15
        rows.append((f"DSS(sum) / Siamese, {name}", median["dss"] / median["siamese"], bound))
    return rows


def spectral_over_direct(rounds: int) -> list[tuple[str, float, float]]:
    """Direct over spectral circular convolution at full length."""
    x = torch.randn(400, 160, 50)

    def steps() -> dict[str, Step]:
        return {
            method: training_step(CircularConv1d(160, 160, 50, stride=2, method=method), x)
            for method in ("direct", "spectral")
        }

    median = interleaved(steps, max(1, rounds // 5))
    return [("direct / spectral convolution", median["direct"] / median["spectral"], 10.0)]


def shared_graph_over_list() -> list[tuple[str, float, float]]:
    """A list of graphs, batched by torch_geometric or run one by one, over one shared graph."""
    steps = shared_graph.steps(shared_graph.grid(shared_graph.SIDE))
    median = shared_graph.interleaved_medians(steps)
    memory = {name: shared_graph.peak_bytes(step) for name, step in steps.items()}
    time = {rival: median[rival] / median["shared graph"] for rival in ("union", "one by one")}
    return [
        ("batch of graphs / shared graph, time", time["union"], 6.0),
        ("shared graph / batch of graphs, memory", memory["shared graph"] / memory["union"], 0.4),
        ("graphs one by one / shared graph, time", time["one by one"], 0.0),
    ]


class PaddedDSS(nn.Module):
    """DSS(sum) on padded sets with a mask, as code without ragged batches does it."""

    def __init__(self, layer: DSS, mask: Tensor) -> None:
        super().__init__()
        self.layer, self.mask = layer, mask[:, :, None, None, None]

    def forward(self, x: Tensor) -> Tensor:
        context = self.layer.context((x * self.mask).sum(1))[:, None]
        return (map_elements(x, self.layer.element) + context) * self.mask


def padded_over_packed(rounds: int) -> list[tuple[str, float, float]]:
    """Padded over packed sets, at skewed and at equal sizes."""
    rows = []
    skewed = [64, 64, *(2 + k % 5 for k in range(30))]
    for name, counts, bound in (("skewed", skewed, 4.0), ("equal", [8] * 16, 0.9)):

        def steps(counts: list[int] = counts) -> dict[str, Step]:
            layer = DSS(nn.Conv2d(16, 16, 3, padding=1))
            sets = RaggedSets(torch.randn(sum(counts), 16, 16, 16), counts)
            x, mask = sets.to_padded()
            return {
                "packed": training_step(layer, sets),
                "padded": training_step(PaddedDSS(layer, mask), x),
            }

        median = interleaved(steps, rounds)
        rows.append(
            (f"padded / packed sets, {name} sizes", median["padded"] / median["packed"], bound)
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, help="also write the ratios here, as JSON")
    options = parser.parse_args()
    torch.set_num_threads(2)
    torch.manual_seed(0)
    rows = [
        *dss_over_siamese(options.rounds),
        *spectral_over_direct(options.rounds),
        *shared_graph_over_list(),
        *padded_over_packed(options.rounds),
    ]
    at_most = ("DSS(sum)", "shared graph /")
    for name, ratio, bound in rows:
        sign = "≤" if name.startswith(at_most) else "≥"
        met = ratio <= bound if sign == "≤" else ratio >= bound
        target = f"target {sign} {bound:.2f}   {'met' if met else 'MISSED'}" if bound else ""
        print(f"{name:42} {ratio:6.2f}   {target}")
    ratios = {name: {"ratio": round(ratio, 3), "target": bound} for name, ratio, bound in rows}
    keep(options.out, threads=2, ratios=ratios)


if __name__ == "__main__":
    main()

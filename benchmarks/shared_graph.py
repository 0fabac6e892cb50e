"""What does one product over a shared graph save, against one graph object per element?

Run ``python benchmarks/shared_graph.py``: forward and backward of one layer (64 → 64 channels) on
4 sets of 7 elements over a grid of 2,025 nodes. The rivals are torch_geometric's ``GCNConv`` called
on every element in turn, and called once on the disjoint union of the elements, which is what a
``Batch`` of a list of graphs is. Times are medians of interleaved runs; memory is the peak of what
torch allocates during one run, on top of what is there before it.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from symsets.nn import Graph, GraphConv

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its import still scripts with torch.jit
    from torch_geometric.nn import GCNConv

SIDE, BATCH, SET_SIZE, CHANNELS, ROUNDS = 45, 4, 7, 64, 15
Step = Callable[[], list[Tensor]]


def grid(side: int) -> Graph:
    """A triangulated square."""
    node = torch.arange(side * side).view(side, side)
    corners = node[:-1, :-1], node[:-1, 1:], node[1:, :-1], node[1:, 1:]
    a, b, c, d = (corner.flatten() for corner in corners)
    faces = torch.cat([torch.stack([a, b, d], 1), torch.stack([a, d, c], 1)])
    return Graph.from_faces(faces, side * side)


def steps(graph: Graph) -> dict[str, Step]:
    """Return what to compare; each gives the output of a layer with the same weights."""
    torch.manual_seed(0)
    elements, edges, V = BATCH * SET_SIZE, graph.edge_index, graph.num_nodes
    ours, theirs = GraphConv(CHANNELS, CHANNELS), GCNConv(CHANNELS, CHANNELS, improved=True)
    theirs.lin.weight.data.copy_(ours.weight.data)
    x = torch.randn(elements, CHANNELS, V).requires_grad_()
    rows = [row.detach().T.contiguous().requires_grad_() for row in x]
    weight = torch.ones(graph.num_edges)
    union = torch.cat([edges + i * V for i in range(elements)], 1)
    all_rows = torch.cat([row.detach() for row in rows]).requires_grad_()
    return {
        "one by one": lambda: [theirs(row, edges, weight) for row in rows],
        "union": lambda: [theirs(all_rows, union, weight.repeat(elements))],
        "shared graph": lambda: [ours(x, graph)],
    }


def run(step: Step) -> None:
    outputs = step()
    # An expanded one takes no memory, so that nothing but the layer is measured.
    torch.autograd.backward(outputs, [torch.ones(()).expand_as(y) for y in outputs])


def interleaved_medians(named: dict[str, Step]) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in named}
    for _ in range(ROUNDS):
        for name, step in named.items():
            start = time.perf_counter()
            run(step)
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def peak_bytes(step: Step) -> int:
    """Return the most that torch held at once during a run, above what it held before."""
    run(step)  # gradients exist from here on
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        run(step)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiled.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    memory = [e for e in events if e.get("name") == "[memory]"]
    changes = [e["args"]["Bytes"] for e in sorted(memory, key=lambda e: e["ts"])]
    held = peak = 0
    for change in changes:
        held += change
        peak = max(peak, held)
    return peak


def main() -> None:
    graph = grid(SIDE)
    named = steps(graph)
    reference = torch.stack(named["one by one"]())  # (T, V, C)
    assert torch.allclose(named["shared graph"]()[0].mT, reference, atol=1e-4)
    assert torch.allclose(named["union"]()[0], reference.flatten(0, 1), atol=1e-4)
    interleaved_medians(named)  # warm up
    seconds = interleaved_medians(named)
    memory = {name: peak_bytes(step) for name, step in named.items()}
    print(f"{graph}, {BATCH} sets of {SET_SIZE}, {CHANNELS} channels, forward and backward")
    for name in named:
        faster, share = (cost[name] / cost["shared graph"] for cost in (seconds, memory))
        print(
            f"{name:14}{1e3 * seconds[name]:8.1f} ms{memory[name] / 2**20:8.1f} MiB   "
            f"shared graph: {faster:4.1f}× faster, {1 / share:.2f} of the memory"
        )


if __name__ == "__main__":
    main()

"""How long does a training step on sets of graphs take, against a list of torch_geometric graphs?

Run ``python benchmarks/graph_step.py [--device cuda] [--nodes 6890] [--batch 8] [--out FILE]``: the
published graph network (``dss-sum``) on sets of 7 meshes with the published number of nodes. The
rivals have the same weights in torch_geometric's ``GCNConv``: *list* calls it on one graph after
the other, *batch* on the disjoint union of all of them. Outputs and gradients of all three are
compared in float64 before anything is timed.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from kept import keep
from steps import make_steps, milliseconds
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from symsets import DSS
from symsets.data import LabelledSets
from symsets.experiments.shapes.network import ShapeNetwork
from symsets.nn import Graph

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its import still scripts with torch.jit
    import torch_geometric
    from torch_geometric.data import Batch, Data
    from torch_geometric.nn import GCNConv

SET_SIZE = 7


def sphere(num_nodes: int) -> Graph:
    """A closed mesh: rings of nodes between two poles, as many faces as the published body has."""
    inner = num_nodes - 2
    around = next(n for n in range(int(inner**0.5), 2, -1) if inner % n == 0)
    ring = torch.arange(inner).view(-1, around)
    a, b, c, d = (
        part.flatten()
        for part in (ring[:-1], ring[:-1].roll(-1, 1), ring[1:], ring[1:].roll(-1, 1))
    )
    faces = [torch.stack([a, b, d], 1), torch.stack([a, d, c], 1)]
    for pole, edge in ((inner, ring[0]), (inner + 1, ring[-1])):
        faces.append(torch.stack([torch.full_like(edge, pole), edge, edge.roll(-1)], 1))
    return Graph.from_faces(torch.cat(faces), num_nodes)


class OneByOne(nn.Module):
    """Apply a ``GCNConv`` to one graph of a list after the other."""

    def __init__(self, conv: GCNConv) -> None:
        super().__init__()
        self.conv = conv

    def forward(self, graphs: list[Data]) -> list[Data]:
        return [_with(g, self.conv(g.x, g.edge_index, g.edge_weight)) for g in graphs]


class AsBatch(OneByOne):
    """Apply a ``GCNConv`` to all graphs of a list at once, as one disjoint union."""

    def forward(self, graphs: list[Data]) -> list[Data]:
        union = Batch.from_data_list(graphs)
        y = self.conv(union.x, union.edge_index, union.edge_weight)
        return [_with(g, part) for g, part in zip(graphs, y.chunk(len(graphs)), strict=True)]


class ListNetwork(nn.Module):
    """The network of a :class:`ShapeNetwork`, with its weights, on lists of graphs.

    Args:
        network: ``dss-sum`` in its published form.
        apply: How convolutions go through a list.
    """

    def __init__(self, network: ShapeNetwork, apply: Callable[[GCNConv], nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.ModuleList([*_theirs(m.element, apply), *_theirs(m.context, apply)])
            for m in network.features
            if isinstance(m, DSS)
        )
        self.scores = network.scores

    def forward(self, x: Tensor, graph: Graph) -> Tensor:
        B, N = x.shape[:2]
        weight = torch.ones(graph.num_edges, dtype=x.dtype, device=x.device)  # else A + I, not 2 I
        graphs = [_data(nodes.T, graph.edge_index, weight) for nodes in x.flatten(0, 1)]
        for conv, norm, context, context_norm in self.layers:  # type: ignore[misc]
            sets = [graphs[b * N : b * N + N] for b in range(B)]
            sums = [_with(of[0], torch.stack([g.x for g in of]).sum(0)) for of in sets]
            own = norm(torch.cat([g.x for g in conv(graphs)])).chunk(B * N)
            shared = context_norm(torch.cat([g.x for g in context(sums)])).chunk(B)
            graphs = [_with(g, (own[i] + shared[i // N]).relu()) for i, g in enumerate(graphs)]
        return self.scores(torch.stack([g.x.amax(0) for g in graphs]).unflatten(0, (B, N)))


def _theirs(branch: nn.Module, apply: Callable[[GCNConv], nn.Module]) -> list[nn.Module]:
    """Return a convolution of theirs with our weights, and the normalisation after it."""
    ours = branch.element
    conv = GCNConv(ours.in_channels, ours.out_channels, improved=True)
    conv.lin.weight, conv.bias = ours.weight, ours.bias
    return [apply(conv), branch.norm.module]


def _data(x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Data:
    return Data(x=x, edge_index=edge_index, edge_weight=edge_weight)


def _with(graph: Data, x: Tensor) -> Data:
    return _data(x, graph.edge_index, graph.edge_weight)


def make_network(graph: Graph) -> ShapeNetwork:
    torch.manual_seed(0)
    network = ShapeNetwork("dss-sum", kind="graphs", recipe="published")
    network.graph = graph
    return network


class Bound(nn.Module):
    """A network on lists, with its graph."""

    def __init__(self, network: ListNetwork, graph: Graph) -> None:
        super().__init__()
        self.network = network
        self.graph = graph

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x, self.graph)


def contestants(network: ShapeNetwork, graph: Graph) -> dict[str, nn.Module]:
    """Return the rivals, made of the very weights of our network, and our network."""
    return {
        "list": Bound(ListNetwork(network, OneByOne), graph),
        "batch": Bound(ListNetwork(network, AsBatch), graph),
        "ours": network,
    }


def disagreement(graph: Graph, x: Tensor, y: Tensor) -> float:
    """The largest relative difference, in float64, of scores and gradients from ours."""
    network = make_network(graph).to(x.device, torch.float64)
    found: dict[str, list[Tensor]] = {}
    for name, one in contestants(network, graph).items():
        network.zero_grad()
        source = x.double().requires_grad_()
        scores = one.train()(source)
        cross_entropy(scores, y).backward()
        gradients = [source.grad, *(p.grad for p in network.parameters())]
        found[name] = [scores.detach(), *(g.clone() for g in gradients if g is not None)]
    scale = max(ours.norm() for ours in found["ours"])  # the last context and bias get zeros
    return max(
        ((theirs - ours).norm() / ours.norm().clamp(min=1e-6 * scale)).item()
        for name in ("list", "batch")
        for theirs, ours in zip(found[name], found["ours"], strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--nodes", type=int, default=6890)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    on_gpu = options.device.startswith("cuda")
    graph = sphere(options.nodes).to(options.device)
    torch.manual_seed(1)
    x = torch.randn(options.batch, SET_SIZE, 3, options.nodes, device=options.device)
    y = torch.randint(SET_SIZE, (options.batch,), device=options.device)
    difference = disagreement(graph, x[:2], y[:2])
    print(f"{graph}, {options.batch} sets of {SET_SIZE}, dss-sum in its published form")
    print(f"scores and gradients in float64 differ by {difference:.1e} at most")
    assert difference < 1e-8
    data = LabelledSets(x, y)
    order = torch.arange(options.batch, device=options.device).expand(3, 1, options.batch)
    rows = []
    for precision in ("float32", "tf32", "bfloat16") if on_gpu else ("float32",):
        names = ["list", "batch", "ours", *(["ours, captured"] if on_gpu else [])]
        if precision == "bfloat16":  # the rivals scatter in float32
            names = [name for name in names if name.startswith("ours")]
        steps = [
            make_steps(
                [contestants(make_network(graph), graph)[name.split(",")[0]]],
                data,
                cross_entropy,
                precision,
                captured=name.endswith("captured"),
            )
            for name in names
        ]
        took = dict(zip(names, milliseconds(steps, order, options.rounds), strict=True))
        for name, value in took.items():
            rows.append({"style": name, "precision": precision, "milliseconds": round(value, 3)})
            best = min(took.values())
            print(f"{name:16} {precision:9} {value:9.2f} ms  {value / best:6.1f}", flush=True)
    keep(
        options.out,
        device=options.device,
        torch_geometric=torch_geometric.__version__,
        float64_difference=difference,
        rows=rows,
    )


if __name__ == "__main__":
    main()

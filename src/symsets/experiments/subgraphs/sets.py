"""A graph as a set of its subgraphs, all with the nodes of the graph and edges of their own."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from symsets._checks import check_choice
from symsets.data.labelled import LabelledSets
from symsets.experiments.subgraphs.graphs import LabelledGraph
from symsets.sets import GraphSets, RaggedSets

HOPS = 3  # from the centre of an ego subgraph


def _whole(num_nodes: int, edges: Tensor) -> Tensor:
    return torch.ones(1, edges.shape[1], dtype=torch.bool)


def _node_deleted(num_nodes: int, edges: Tensor) -> Tensor:
    node = torch.arange(num_nodes)
    return (edges != node[:, None, None]).all(1)


def _edge_deleted(num_nodes: int, edges: Tensor) -> Tensor:
    low, high = edges.sort(0).values
    pairs, edge = (low * num_nodes + high).unique(return_inverse=True)
    return edge != torch.arange(len(pairs))[:, None]


def _near(num_nodes: int, edges: Tensor) -> Tensor:
    step = torch.eye(num_nodes)
    step[edges[1], edges[0]] = 1.0
    near = torch.linalg.matrix_power(step, HOPS) > 0  # (V, V): which nodes each node reaches
    return near[:, edges].all(1)


POLICIES: dict[str, Callable[[int, Tensor], Tensor]] = {
    "whole": _whole,
    "node-deleted": _node_deleted,
    "edge-deleted": _edge_deleted,
    "ego": _near,
}
MARKED = ("ego",)  # subgraph v has a channel that is 1 at node v


def kept_edges(policy: str, num_nodes: int, edge_index: Tensor) -> Tensor:
    """Return which edges each subgraph keeps.

    ``"whole"`` is a set of one: the graph itself. ``"node-deleted"`` leaves out the edges of one
    node, ``"edge-deleted"`` one edge in both directions, and ``"ego"`` all edges but those between
    nodes that are at most three steps away from one node.

    Shape:
        - edge_index: ``(2, E)``.
        - output: ``(N, E)``, boolean.

    Example:
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> kept_edges("node-deleted", 3, path).int()
        tensor([[0, 0, 1, 1],
                [0, 0, 0, 0],
                [1, 1, 0, 0]], dtype=torch.int32)
    """
    check_choice("policy", policy, POLICIES)
    return POLICIES[policy](num_nodes, edge_index)


def subgraph_sets(graphs: Sequence[LabelledGraph], policy: str) -> LabelledSets:
    """Return a set of subgraphs for every graph, with its class.

    The nodes of ego subgraphs have a further channel that marks the centre.

    Example:
        >>> from symsets.experiments.subgraphs.graphs import csl
        >>> subgraph_sets(csl()[:2], "edge-deleted").x
        GraphSets(2 sets of 82 from [164 sets of 41 elements (1,)], 26568 edges)
    """
    nodes, of_nodes, edges, of_edges, sizes = [], [], [], [], []
    for x, edge_index, _ in graphs:
        kept = kept_edges(policy, len(x), edge_index)
        num = len(kept)
        copies = x.repeat(num, 1)
        if policy in MARKED:
            copies = torch.cat([copies, torch.eye(num, dtype=x.dtype).reshape(-1, 1)], dim=1)
        nodes.append(copies)
        of_nodes += [len(x)] * num
        edges.append(edge_index.T[kept.nonzero()[:, 1]])
        of_edges += kept.sum(1).tolist()
        sizes.append(num)
    bags = GraphSets(
        RaggedSets(torch.cat(nodes), of_nodes), sizes, RaggedSets(torch.cat(edges), of_edges)
    )
    return LabelledSets(bags, torch.tensor([graph.label for graph in graphs]))

"""Graph convolutions over sets of subgraphs that have their nodes in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from symsets._extras import require
from symsets.models.registry import RegisteredNetwork, register_network
from symsets.nn import Sequential, SetModule, set_layer
from symsets.sets import GraphSets, RaggedSets, pool


@dataclass(eq=False)
class CommonEdges:
    """The edges of subgraphs between the copies of nodes; a set has those of all its subgraphs.

    Attributes:
        edge_index: Edges between copies, ``(2, E)``.
        node: The node that each copy is of, ``(T,)``.
        graph: The graph that each copy belongs to, ``(T,)``.
    """

    edge_index: Tensor
    node: Tensor
    graph: Tensor
    _common: CommonEdges | None = None

    def over_sets(self, index: Tensor, sizes: Tensor) -> CommonEdges:
        """Return the edges between nodes that at least one subgraph has, each once."""
        if self._common is None:
            source, target = self.node[self.edge_index]
            num = len(sizes)
            pairs = (source * num + target).unique()
            ends = torch.stack([pairs // num, pairs % num])
            self._common = CommonEdges(ends, self.node, self.graph)
        return self._common


class NodeConv(nn.Module):
    r"""A graph isomorphism convolution whose elements are the nodes of a batch of graphs.

    .. math:: y_v = m\Bigl((1 + \epsilon) x_v + \sum_{u \to v} x_u\Bigr)

    Shape:
        - x: ``(T, C)``, the nodes of all graphs.
        - output: ``(T, C')``.

    Reference:
        Xu, Hu, Leskovec, Jegelka: How Powerful are Graph Neural Networks? ICLR 2019.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        mlp = nn.Sequential(
            nn.Linear(in_channels, out_channels),
            nn.ReLU(),
            nn.Linear(out_channels, out_channels),
        )
        self.conv = require("torch_geometric.nn", "graphs").GINConv(mlp, train_eps=True)

    def forward(self, x: Tensor, edges: CommonEdges) -> Tensor:
        return self.conv(x, edges.edge_index)


class BagNorm(SetModule):
    """Bring every channel to mean 0 and variance 1 over all nodes of all subgraphs of one graph.

    Nodes far from what was deleted hardly differ, and this makes them differ. Statistics of a batch
    would not do: where all nodes of a graph are alike, they are rounding, and what was learnt fails
    in evaluation.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = require("torch_geometric.nn", "graphs").GraphNorm(channels, eps=1e-3)

    def forward(self, x: RaggedSets, edges: CommonEdges) -> RaggedSets:
        return x.with_elements(self.norm(x.elements, edges.graph))


@register_network("subgraphs")
class SubgraphNetwork(RegisteredNetwork):
    r"""Classify a graph by the set of its subgraphs.

    .. math:: L(X)_{iv} = \operatorname{GIN}_1(A_i, x_i)_v
        + \operatorname{GIN}_2\bigl(A, \operatorname{mean}_j x_j\bigr)_v

    Subgraph i has the adjacency :math:`A_i` and features :math:`x_{iv}` of all nodes v;
    :math:`A` has the edges of all subgraphs of the set. What follows such layers is a mean over
    nodes, a map of the vector of each subgraph, a mean over subgraphs, and an MLP.

    The layers are ordinary set layers. Their sets are the copies of one node in all subgraphs,
    which lie one after the other; the convolution connects copies of different nodes. So graphs
    in a batch may differ in nodes and in subgraphs, and nothing is padded.

    Args:
        model: The scheme: ``"dss-mean"`` is the formula, ``"siamese"`` its first term.
        in_channels: Of a node.
        num_classes: Of a graph.
        width: Channels of all layers.
        depth: Number of layers.

    Shape:
        - x: :class:`~symsets.sets.GraphSets`; the graphs of a set have as many nodes, and node v of
          one is node v of all others.
        - output: ``(B, num_classes)``.

    Symmetry:
        Invariant to :math:`S_N \times S_V`: reordering the subgraphs of a set, and renumbering
        the nodes of all of them alike. ``"siamese"`` is invariant to :math:`S_V \wr S_N`, too.

    Example:
        >>> from symsets.experiments.subgraphs.graphs import csl
        >>> from symsets.experiments.subgraphs.sets import subgraph_sets
        >>> sets = subgraph_sets(csl()[:2], "node-deleted")
        >>> SubgraphNetwork("dss-mean", num_classes=10, width=8)(sets.x).shape
        torch.Size([2, 10])

    Reference:
        Bevilacqua, Frasca, Lim, Srinivasan, Cai, Balamurugan, Bronstein, Maron: Equivariant
        Subgraph Aggregation Networks. ICLR 2022.
    """

    def __init__(
        self,
        model: str,
        *,
        in_channels: int = 1,
        num_classes: int = 2,
        width: int = 32,
        depth: int = 4,
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for channels in (in_channels, *[width] * (depth - 1)):
            layer = set_layer(model, NodeConv, channels, width)
            layers += [layer, BagNorm(width), nn.ReLU()]
        self.layers = Sequential(*layers)
        self.vectors = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.head = nn.Sequential(
            nn.BatchNorm1d(width),  # means over a graph hardly differ
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, num_classes),
        )

    def forward(self, x: Any) -> Tensor:
        copies, edges, back = by_node(x)
        copies = self.layers(copies, edges)
        of_graphs = x.elements.with_elements(copies.elements[back])
        vectors = x.with_elements(self.vectors(pool(of_graphs, "mean")))
        return self.head(pool(vectors, "mean"))


def by_node(x: GraphSets) -> tuple[RaggedSets, CommonEdges, Tensor]:
    """Reorder the nodes of sets of graphs, so that all copies of one node form a set.

    Returns:
        The copies of each node of each set; the edges between them; and where each row of ``x`` is.
    """
    graphs = x.elements.partition
    first = torch.tensor(x.partition.starts[:-1], device=x.device)
    num_nodes = graphs.sizes[first]
    if not torch.equal(num_nodes[x.partition.index], graphs.sizes):
        raise ValueError(
            "the graphs of a set must have their nodes in common, got sets with graphs of "
            "different numbers of nodes"
        )
    start = num_nodes.cumsum(0) - num_nodes  # of the nodes of each set
    place = torch.arange(graphs.total, device=x.device) - graphs.offsets[graphs.index]
    graph = x.partition.index[graphs.index]
    node, order = (start[graph] + place).sort(stable=True)  # (T,)
    back = order.argsort()
    sizes = x.partition.sizes.repeat_interleave(num_nodes)
    copies = RaggedSets(x.elements.elements[order], sizes)
    return copies, CommonEdges(back[x.edge_index], node, graph[order]), back

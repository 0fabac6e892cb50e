"""Graphs whose nodes all elements share, and the graph convolution over them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from symsets._checks import check_number, positive
from symsets.nn._explain import explained
from symsets.nn._topology import Topology, check_edge_index, check_edge_weight, normalised_adjacency
from symsets.nn.base import ElementMap
from symsets.ops import SparseMatrix
from symsets.ops._constants import outside_transforms
from symsets.ops.layout import entries_first


class Graph(Topology):
    r"""Hold one graph that all elements share, with its normalised adjacency.

    .. math:: \hat D^{-1/2} \hat A \hat D^{-1/2}, \qquad
        \hat A = A + 2 I, \quad \hat D_{ii} = \sum_j \hat A_{ij}

    It is computed once, in float64, and kept as a sparse matrix with its transpose. One product
    serves all elements and channels, forward and backward; no call waits for the device (making
    a graph does). The graph is constant: no gradient reaches its weights.

    Args:
        edge_index: Edges from ``edge_index[0]`` to ``edge_index[1]``; an undirected edge is given
            both ways. Edges given twice count twice.
        num_nodes: Number of nodes, with or without edges.
        edge_weight: Weights of the edges, all 1 if left out.
        self_loops: Weight of the loop added to each node that has none of its own; the paper
            uses 2, the usual graph convolution 1.

    Shape:
        - edge_index: ``(2, E)``.
        - edge_weight: ``(E,)``.

    Example:
        >>> graph = Graph(torch.tensor([[0, 1], [1, 0]]), num_nodes=3)
        >>> graph
        Graph(3 nodes, 2 edges)
        >>> graph.to_dense()[0]
        tensor([0.6667, 0.3333, 0.0000], dtype=torch.float64)
        >>> graph.propagate(torch.ones(4, 8, 3)).shape
        torch.Size([4, 8, 3])

    Reference:
        Kipf and Welling, "Semi-Supervised Classification with Graph Convolutional Networks",
        ICLR 2017.
    """

    rows = (2, 0, 1)  # one product for all elements: (V, B, C)

    def __init__(
        self,
        edge_index: Tensor,
        num_nodes: int,
        *,
        edge_weight: Tensor | None = None,
        self_loops: float = 2.0,
    ) -> None:
        num_nodes = positive("num_nodes", num_nodes)
        check_number("self_loops", self_loops)
        check_edge_index(edge_index, num_nodes)
        check_edge_weight(edge_weight, edge_index.shape[1])
        self.edge_index, self.edge_weight = edge_index.long(), edge_weight
        self.num_nodes, self.self_loops = num_nodes, float(self_loops)
        self._matrix = normalised_adjacency(
            self.edge_index, edge_weight, num_nodes, self.self_loops
        )

    @classmethod
    def from_faces(cls, faces: Tensor, num_nodes: int, *, self_loops: float = 2.0) -> Graph:
        """Take the edges of a triangular mesh, both ways and without duplicates.

        Example:
            >>> Graph.from_faces(torch.tensor([[0, 1, 2], [2, 1, 3]]), num_nodes=4)
            Graph(4 nodes, 10 edges)
        """
        if faces.ndim != 2 or faces.shape[1] != 3:
            raise ValueError(f"faces must be (F, 3), got shape {tuple(faces.shape)}")
        sides = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
        sides = sides[sides[:, 0] != sides[:, 1]].sort(dim=1).values.unique(dim=0)
        return cls(torch.cat([sides, sides.flip(1)]).T, num_nodes, self_loops=self_loops)

    @classmethod
    def from_adjacency(cls, adjacency: Tensor, *, self_loops: float = 2.0) -> Graph:
        """Take the non-zero entries of a matrix; entry (i, j) is the edge from node j to node i.

        Example:
            >>> Graph.from_adjacency(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
            Graph(2 nodes, 2 edges)
        """
        if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
            raise ValueError(f"adjacency must be (V, V), got shape {tuple(adjacency.shape)}")
        target, source = adjacency.nonzero(as_tuple=True)
        weight = adjacency[target, source]
        edge_index = torch.stack([source, target])
        return cls(edge_index, len(adjacency), edge_weight=weight, self_loops=self_loops)

    @staticmethod
    def stack(graphs: Sequence[Graph]) -> GraphBatch:
        """Give each element a graph of its own; see :class:`GraphBatch`."""
        return GraphBatch(graphs)

    @property
    def num_edges(self) -> int:
        """Number of edges as they were given, so that an undirected edge counts twice."""
        return self.edge_index.shape[1]

    def _map(self, fn: Callable[[Tensor], Tensor]) -> Self:
        mapped = super()._map(fn)
        mapped.edge_index = fn(self.edge_index)
        mapped.edge_weight = None if self.edge_weight is None else fn(self.edge_weight)
        return mapped

    def to_dense(self) -> Tensor:
        """Return the normalised adjacency ``(V, V)``."""
        return self._matrix.to_dense()

    def __repr__(self) -> str:
        return f"Graph({self.num_nodes} nodes, {self.num_edges} edges)"


class GraphBatch(Topology):
    """Hold a graph for each element, all over the same nodes.

    All elements go through one block-diagonal sparse product. The nodes must be common: node v
    of one element is node v of every other, since a set layer adds node to node.

    Args:
        graphs: One graph per element, all with the same number of nodes.

    Example:
        >>> path = Graph(torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
        >>> star = Graph(torch.tensor([[1, 2], [0, 0]]), num_nodes=3)
        >>> graphs = GraphBatch([path, star])
        >>> graphs
        GraphBatch(2 graphs, 3 nodes)
        >>> graphs.propagate(torch.ones(2, 8, 3)).shape
        torch.Size([2, 8, 3])
    """

    rows = (0, 2, 1)  # the nodes of one element after those of another: (T, V, C)

    def __init__(self, graphs: Sequence[Graph]) -> None:
        if not graphs:
            raise ValueError("graphs must hold at least one graph, got none")
        counts = sorted({graph.num_nodes for graph in graphs})
        if len(counts) > 1:
            raise ValueError(
                f"graphs must share their nodes, got graphs with {counts[0]} and {counts[1]} "
                "nodes: without common nodes the symmetry is the wreath product, for which only "
                "siamese and wreath layers, and layers after pooling each element, exist"
            )
        self.num_graphs, self.num_nodes = len(graphs), counts[0]
        self._matrix = SparseMatrix.block_diagonal([graph._matrix for graph in graphs])
        self._means: tuple[Tensor, Tensor, GraphBatch] | None = None

    def __len__(self) -> int:
        return self.num_graphs

    def check(self, x: Tensor) -> None:
        """Raise ValueError unless each row of ``x (T, C, V)`` has its graph."""
        super().check(x)
        if x.shape[0] != self.num_graphs:
            raise ValueError(
                f"x must have {self.num_graphs} elements (first axis), one for each graph, "
                f"got {x.shape[0]}"
            )

    def _map(self, fn: Callable[[Tensor], Tensor]) -> Self:
        mapped = super()._map(fn)
        mapped._means = None
        return mapped

    def over_sets(self, index: Tensor, sizes: Tensor) -> GraphBatch:
        """Return, for each set, the mean of its elements' normalised adjacencies.

        Empty sets get a zero matrix. Nothing waits for the device, so the values of ``index`` are
        not checked. The last result is kept for the next layer that asks with the same two tensors
        (not copies of them).

        Args:
            index: The set that each element belongs to, ``(T,)``.
            sizes: The number of elements of each set, ``(B,)``.
        """
        if index.shape != (self.num_graphs,):
            raise ValueError(
                f"graphs must be one for each element, got {self.num_graphs} graphs, and sets of "
                f"elements as in an index of shape {tuple(index.shape)}"
            )
        kept = self._means  # read once: another thread may put its own there
        if kept is None or kept[0] is not index or kept[1] is not sizes:
            mean = outside_transforms(lambda: self._mean(index, sizes))
            if torch.compiler.is_compiling():
                return mean
            kept = self._means = index, sizes, mean
        return kept[2]

    def _mean(self, index: Tensor, sizes: Tensor) -> GraphBatch:
        V, entries = self.num_nodes, self._matrix.matrix
        element = entries.columns.long() // V
        shift = (index[element] - element) * V  # from the element's block to that of its set
        share = sizes.to(entries.values.dtype).clamp(min=1).reciprocal()
        mean = copy.copy(self)
        mean.num_graphs, mean._means = len(sizes), None
        mean._matrix = SparseMatrix.from_entries(
            entries.rows + shift,
            entries.columns + shift,
            entries.values * share[index[element]],
            len(sizes) * V,
            symmetric=self._matrix.symmetric,
        )
        return mean

    def to_dense(self) -> Tensor:
        """Return the normalised adjacencies ``(T, V, V)``."""
        T, V = self.num_graphs, self.num_nodes
        blocks = self._matrix.to_dense().unflatten(0, (T, V)).unflatten(2, (T, V))
        return blocks.diagonal(dim1=0, dim2=2).movedim(-1, 0)

    def __repr__(self) -> str:
        return f"GraphBatch({self.num_graphs} graphs, {self.num_nodes} nodes)"


class GraphConv(ElementMap):
    r"""Average every node with its neighbours, and mix the channels.

    .. math:: y = \hat D^{-1/2} \hat A \hat D^{-1/2} x W + b

    The graph may be shared or be one for each element. Channels are mixed before the average
    unless that makes more of them. At initialisation, signals that vary slowly over the graph keep
    their scale.

    Args:
        in_channels: Channels of each node.
        out_channels: Channels of each node of the output.
        bias: Whether to add :math:`b`.

    Shape:
        - x: ``(B, C, V)``.
        - graph: A :class:`Graph` of V nodes, or a :class:`GraphBatch` of B of them.
        - output: ``(B, C', V)``.

    Symmetry:
        Equivariant to the automorphisms of the graph; for each permutation of the nodes, moving
        nodes and edges together moves the output.

    Example:
        >>> graph = Graph(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), num_nodes=4)
        >>> layer, x = GraphConv(3, 8), torch.randn(2, 3, 4)
        >>> torch.allclose(layer(x.roll(1, -1), graph), layer(x, graph).roll(1, -1), atol=1e-5)
        True

    Reference:
        Kipf and Welling, "Semi-Supervised Classification with Graph Convolutional Networks",
        ICLR 2017.
    """

    axes = ("V",)

    def __init__(self, in_channels: int, out_channels: int, *, bias: bool = True) -> None:
        super().__init__(in_channels, out_channels)
        self.weight = nn.Parameter(torch.empty(self.out_channels, self.in_channels))
        self.bias = nn.Parameter(torch.empty(self.out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        self._draw((3.0 / self.in_channels) ** 0.5)

    @explained
    def forward(self, x: Tensor, graph: Graph | GraphBatch) -> Tensor:
        graph.check(x)
        widens = self.out_channels > self.in_channels
        if widens:
            rows = linear(graph.multiply(graph.to_rows(x)), self.weight, self.bias)
        else:  # in this order a backward pass needs x, which is kept anyway, and no average of it
            rows = graph.multiply(self._mix(x, graph))
        y = graph.from_rows(rows)
        if not (isinstance(graph, Graph) and entries_first(x)):
            y = y.contiguous()  # on a CPU, sums over a set are much faster with nodes last
        return y if widens or self.bias is None else y + self.bias.to(y.dtype).unsqueeze(-1)

    def _mix(self, x: Tensor, graph: Graph | GraphBatch) -> Tensor:
        """Return rows with mixed channels, reading ``x`` in the order of its memory."""
        if x.is_contiguous():
            # Reordered here, so that nothing holds the product while the nodes are averaged.
            return graph.to_rows(torch.bmm(self.weight.expand(x.shape[0], -1, -1), x)).contiguous()
        return linear(graph.to_rows(x), self.weight)

    def extra_repr(self) -> str:
        bias = "" if self.bias is None else " + b"
        return f"{self.in_channels} → {self.out_channels}, Â x W{bias}"

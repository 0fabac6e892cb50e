"""Batches of sets of graphs, each with nodes and edges of its own."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symsets._checks import shown
from symsets.sets.ragged import RaggedSets, end_to_end

LEFT_OUT = ("edge_weight", "edge_attr", "pos")  # what layers of torch_geometric often take


class GraphSets(RaggedSets):
    """Sets of graphs: all nodes end to end, and all edges.

    The elements of a set are its graphs, and those of a graph its nodes, as with clouds of
    different sizes. So everything for such clouds takes graphs as well, and sees their nodes.
    :func:`symsets.collate` makes it of lists of ``torch_geometric.data.Data``.

    Args:
        elements: The nodes of all graphs.
        sizes: How many graphs each set has.
        edges: The edges of all graphs, as pairs of nodes of the graph, counted from 0.

    Shape:
        - elements: ragged, with nodes ``(C,)``.
        - edges: ragged, with pairs ``(2,)``.

    Example:
        >>> nodes = RaggedSets(torch.randn(5, 3), sizes=[2, 3])                   # of two graphs
        >>> edges = RaggedSets(torch.tensor([[0, 1], [0, 1], [1, 2]]), sizes=[1, 2])
        >>> graphs = GraphSets(nodes, [2], edges)
        >>> graphs
        GraphSets(1 sets of 2 from [2 sets of 2–3 elements (3,)], 3 edges)
        >>> graphs.edge_index
        tensor([[0, 2, 3],
                [1, 3, 4]])
    """

    edges: RaggedSets

    def __init__(
        self, elements: RaggedSets, sizes: Tensor | Sequence[int], edges: RaggedSets
    ) -> None:
        for name, ragged in (("elements", elements), ("edges", edges)):
            if not isinstance(ragged, RaggedSets) or not isinstance(ragged.elements, Tensor):
                raise TypeError(f"{name} must be RaggedSets of tensors, got {shown(ragged)}")
        if len(elements) != len(edges):
            raise ValueError(
                f"edges must be those of {len(elements)} graphs, got those of {len(edges)}"
            )
        super().__init__(elements, sizes)
        self.edges = edges
        if edges.device.type == "cpu":  # what moves to another device was here before
            self._check_edges(edges.elements)

    def _check_edges(self, pairs: Tensor) -> None:
        if pairs.dtype != torch.int64 or pairs.shape[1:] != (2,):
            raise ValueError(f"edges must be pairs of integers (E, 2), got {shown(pairs)}")
        nodes = self.elements.partition.sizes[self.edges.partition.index].unsqueeze(1)
        wrong = ((pairs < 0) | (pairs >= nodes)).any(1).nonzero()
        if len(wrong):
            first = int(wrong[0])
            raise ValueError(
                f"edges must number the {int(nodes[first])} nodes of their graph from 0, "
                f"got {pairs[first].tolist()}"
            )

    @classmethod
    def from_data(cls, sets: Sequence[Sequence[Any]]) -> GraphSets:
        """Join sets of graphs that have node features ``x (V, C)`` and an ``edge_index (2, E)``.

        Anything else that they may have is left out, with a warning if it belongs to edges or
        nodes.
        """
        graphs = [graph for graphs in sets for graph in graphs]
        if not graphs:
            raise ValueError("sets must hold at least one graph, got none")
        for graph in graphs:
            x, edges = getattr(graph, "x", None), getattr(graph, "edge_index", None)
            if not isinstance(x, Tensor) or x.ndim != 2 or not isinstance(edges, Tensor):
                raise ValueError(
                    "each graph must have node features x (V, C) and an edge_index (2, E), "
                    f"got {shown(graph)}"
                )
        if others := {k for k in LEFT_OUT for g in graphs if getattr(g, k, None) is not None}:
            warnings.warn(
                f"{', '.join(sorted(others))} of graphs are left out: sets of graphs have nodes x "
                "and edges edge_index alone",
                stacklevel=2,
            )
        nodes, edges = (
            RaggedSets.from_list(rows)
            for rows in ([graph.x for graph in graphs], [graph.edge_index.T for graph in graphs])
        )
        return cls(nodes, [len(graphs) for graphs in sets], edges)

    @classmethod
    def join(cls, batches: Sequence[GraphSets]) -> GraphSets:
        """Make one batch of several."""
        nodes, edges = (
            end_to_end([getattr(batch, name) for batch in batches])
            for name in ("elements", "edges")
        )
        return cls(nodes, [n for batch in batches for n in batch.partition.counts], edges)

    @property
    def edge_index(self) -> Tensor:
        """All edges as pairs of nodes of the whole batch, ``(2, E)``."""
        first = self.elements.partition.offsets[self.edges.partition.index]
        return (self.edges.elements + first.unsqueeze(1)).T

    def _like(self, elements: RaggedSets) -> GraphSets:
        return GraphSets(elements, self.partition.counts, self.edges.to(elements.device))

    def pin_memory(self, device: Any = None) -> GraphSets:
        """Copy nodes and edges to page-locked memory."""
        return GraphSets(self.elements.pin_memory(), self.partition.counts, self.edges.pin_memory())

    def record_stream(self, stream: Any) -> None:
        """Keep the memory of nodes, sizes and edges until a CUDA stream is done with them."""
        super().record_stream(stream)
        self.edges.record_stream(stream)

    def __reduce__(self) -> tuple[Any, ...]:
        return GraphSets, (self.elements, list(self.partition.counts), self.edges)

    def __getitem__(self, which: Any) -> GraphSets:
        """Return some of the sets, in any order; one set is a batch of one."""
        if not isinstance(which, slice) and np.ndim(which) == 0:
            which = [which]
        nodes, edges = (
            RaggedSets(part, self.partition.counts)[which] for part in (self.elements, self.edges)
        )
        return GraphSets(nodes.elements, nodes.partition.counts, edges.elements)

    def __repr__(self) -> str:
        inner = super().__repr__()[len("RaggedSets(") : -1]
        return f"GraphSets({inner}, {len(self.edges.elements)} edges)"


torch.serialization.add_safe_globals([GraphSets])  # numbers and tensors, no code


def is_pyg(value: Any, name: str) -> bool:
    """Whether a value is of a class of PyTorch Geometric, told without importing it."""
    return any(
        kind.__name__ == name and kind.__module__.split(".")[0] == "torch_geometric"
        for kind in type(value).__mro__
    )

"""What one graph and a batch of graphs share: edges, a normalised adjacency, products with it."""

import copy
from collections.abc import Callable
from typing import Any, Self

import torch
from torch import Tensor

from symsets._checks import check_kind
from symsets.ops import SparseMatrix


class Topology:
    """The base of graphs: a sparse matrix that acts on nodes.

    Attributes:
        rows: The axes of ``x (B, C, V)`` in the order in which the matrix takes them.
    """

    num_nodes: int
    rows: tuple[int, int, int]
    _matrix: SparseMatrix

    @property
    def device(self) -> torch.device:
        """Where the graph lies."""
        return self._matrix.device

    def to(
        self, device: Any = None, dtype: torch.dtype | None = None, *, non_blocking: bool = False
    ) -> Self:
        """Return the graph on another device.

        The weights are kept in float64 and rounded to the type of ``x`` in each product; a
        ``dtype`` rounds them once and for all.
        """
        if isinstance(device, torch.dtype):  # graph.to(torch.float32), as tensors take it
            device, dtype = None, device

        def move(x: Tensor) -> Tensor:
            kind = dtype if x.is_floating_point() else None
            return x.to(device=device, dtype=kind, non_blocking=non_blocking)

        with torch.inference_mode(False):  # what is kept may be used in training
            return self._map(move)

    def pin_memory(self) -> Self:
        """Return the graph in page-locked memory, as a ``DataLoader`` asks for."""
        return self._map(Tensor.pin_memory)

    def _map(self, fn: Callable[[Tensor], Tensor]) -> Self:
        mapped = copy.copy(self)
        mapped._matrix = self._matrix.map(fn)
        return mapped

    def check(self, x: Tensor) -> None:
        """Raise ValueError unless ``x (B, C, V)`` has these nodes; torch would not notice."""
        if x.ndim != 3:
            raise ValueError(f"x must be (B, C, V), got shape {tuple(x.shape)}")
        if x.shape[-1] != self.num_nodes:
            raise ValueError(
                f"x must have {self.num_nodes} nodes (last axis) like the graph, got {x.shape[-1]}"
            )
        if x.device != self.device:
            raise ValueError(
                f"x must be on the device of the graph, {self.device}, got {x.device}; "
                "move one of them with .to(device)"
            )

    def propagate(self, x: Tensor) -> Tensor:
        """Multiply the normalised adjacency with every channel of ``x``, in one sparse product."""
        self.check(x)
        return self.from_rows(self.multiply(self.to_rows(x)))

    def to_rows(self, x: Tensor) -> Tensor:
        """Reorder the axes of ``x (B, C, V)`` as :meth:`multiply` takes them, channels last."""
        return x.permute(self.rows)

    def from_rows(self, rows: Tensor) -> Tensor:
        """Undo :meth:`to_rows`."""
        return rows.permute([self.rows.index(axis) for axis in range(3)])

    def multiply(self, rows: Tensor) -> Tensor:
        """Multiply the normalised adjacency with rows of channels."""
        first = self.rows.index(2)  # the matrix takes the nodes, and whatever comes before them
        flat = rows.flatten(first + 1).flatten(0, first)
        return (self._matrix @ flat).reshape(rows.shape)


def normalised_adjacency(
    edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int, self_loops: float
) -> SparseMatrix:
    """Return the symmetrically normalised adjacency with self loops, in float64."""
    source, target = edge_index
    weight = (torch.ones_like(source) if edge_weight is None else edge_weight).double()
    # A loop that is already there keeps its weight, as in torch_geometric.
    own, loops = source == target, weight.new_full((num_nodes,), self_loops)
    loops[source[own]] = weight[own]
    nodes = torch.arange(num_nodes, device=source.device)
    row = torch.cat([target[~own], nodes])
    column = torch.cat([source[~own], nodes])
    value = torch.cat([weight[~own], loops])
    place, inverse = (row * num_nodes + column).unique(return_inverse=True)  # sorted
    value = value.new_zeros(len(place)).index_add(0, inverse, value)
    row, column = place // num_nodes, place % num_nodes
    degree = value.new_zeros(num_nodes).index_add(0, row, value)
    scale = torch.where(degree > 0, degree.rsqrt(), 0.0)
    value = value * (scale[row] * scale[column])  # grouped so that symmetry is exact
    return SparseMatrix.from_entries(row, column, value, num_nodes)


def check_edge_index(edge_index: Tensor, num_nodes: int) -> None:
    """Raise ValueError or TypeError unless ``edge_index`` holds edges between these nodes."""
    check_kind("edge_index", edge_index, Tensor, "tensor (2, E)")
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise ValueError(f"edge_index must be (2, E), got shape {tuple(edge_index.shape)}")
    if edge_index.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"edge_index must hold integers (torch.long), got {edge_index.dtype}")
    if edge_index.shape[1] == 0 or torch.compiler.is_compiling():
        return
    low, high = (int(end) for end in edge_index.aminmax())
    if low < 0 or high >= num_nodes:
        wrong = low if low < 0 else high
        raise ValueError(f"edge_index must point to nodes 0..{num_nodes - 1}, got {wrong}")


def check_edge_weight(edge_weight: Tensor | None, num_edges: int) -> None:
    """Raise ValueError unless there is a constant weight, zero or more, for each edge."""
    if edge_weight is None:
        return
    check_kind("edge_weight", edge_weight, Tensor, "tensor (E,)")
    if edge_weight.shape != (num_edges,):
        raise ValueError(
            f"edge_weight must be ({num_edges},), one for each edge, "
            f"got shape {tuple(edge_weight.shape)}"
        )
    if edge_weight.requires_grad:
        raise ValueError("edge_weight must be constant, got one that requires a gradient")
    wrong = ~((edge_weight >= 0) & (edge_weight < torch.inf))
    if bool(wrong.any()):
        got = edge_weight[wrong][0].item()
        raise ValueError(f"edge_weight must not be negative, NaN or infinite, got {got:g}")

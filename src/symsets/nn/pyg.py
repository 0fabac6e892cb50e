"""Convolutions of PyTorch Geometric as element maps; the library itself is never imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from symsets.nn._topology import check_edge_index
from symsets.sets.graphs import is_pyg

if TYPE_CHECKING:
    from symsets.nn.graph import Graph


class PyGConv(nn.Module):
    """Apply a convolution of PyTorch Geometric to elements that share their graph.

    The convolution runs once, on the disjoint union of all elements. ``improved=True`` is
    honoured without edge weights too (the convolution by itself silently ignores it there):
    unit weights are passed on.

    Args:
        conv: Any ``torch_geometric.nn.MessagePassing`` from node features to node features.

    Shape:
        - x: ``(B, C, V)``.
        - edge_index: ``(2, E)``, or a :class:`Graph` (checked once, when it is made).
        - edge_weight: ``(E,)``, as the convolution takes it.
        - edge_attr: ``(E, D)``, as the convolution takes it.
        - output: ``(B, C', V)``.

    Symmetry:
        Equivariant to relabelling the nodes together with the edges, as ``conv`` is.

    Example:
        >>> from torch_geometric.nn import SAGEConv
        >>> layer = PyGConv(SAGEConv(3, 8))
        >>> layer(torch.randn(2, 3, 4), torch.tensor([[0, 1, 2], [1, 2, 3]])).shape
        torch.Size([2, 8, 4])
    """

    def __init__(self, conv: nn.Module) -> None:
        super().__init__()
        name = type(conv).__name__
        if not is_pyg(conv, "MessagePassing"):
            raise TypeError(
                f"conv must be a torch_geometric convolution (MessagePassing), got {name}"
            )
        if getattr(conv, "cached", False):
            raise ValueError(
                f"conv must not keep the graph of its first call, got {name}(cached=True): "
                "it is silently wrong when the batch size changes"
            )
        self.conv = conv

    def reset_parameters(self) -> None:
        """Draw new weights."""
        self.conv.reset_parameters()  # type: ignore[operator]

    def _check_channels(self, x: Tensor) -> None:
        """Raise ValueError where nodes and channels are likely to be the wrong way round."""
        kind, wanted = type(self.conv), getattr(self.conv, "in_channels", None)
        known = kind.__module__.startswith("torch_geometric.") and isinstance(wanted, int)
        if known and wanted > 0 and x.shape[1] != wanted:  # type: ignore[operator]
            raise ValueError(
                f"x must be (B, {wanted}, V) for {kind.__name__}, channels before nodes, "
                f"got shape {tuple(x.shape)}"
            )

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | Graph,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
    ) -> Tensor:
        if x.ndim != 3:
            raise ValueError(f"x must be (B, C, V), got shape {tuple(x.shape)}")
        self._check_channels(x)
        batch, _, num_nodes = x.shape
        edges: Any = edge_index
        if hasattr(edges, "edge_index"):  # a Graph
            edges.check(x)
            edge_weight = edges.edge_weight if edge_weight is None else edge_weight
            edges = edges.edge_index
        else:
            check_edge_index(edges, num_nodes)
        if edge_weight is None and getattr(self.conv, "improved", False):
            edge_weight = x.new_ones(edges.shape[1])
        extra = {"edge_weight": edge_weight, "edge_attr": edge_attr}
        tiled = {name: _tile(e, batch, x) for name, e in extra.items() if e is not None}
        nodes = x.transpose(1, 2).flatten(0, 1)  # (B V, C)
        y: Any = self.conv(nodes, _union(edges, batch, num_nodes), **tiled)
        return y.unflatten(0, (batch, num_nodes)).transpose(1, 2)  # (B, C', V)


def _union(edge_index: Tensor, batch: int, num_nodes: int) -> Tensor:
    """Repeat edges for each element, on its own nodes: ``(2, E)`` → ``(2, B E)``."""
    shift = torch.arange(batch, device=edge_index.device) * num_nodes
    return (edge_index.unsqueeze(1) + shift.unsqueeze(-1)).flatten(1)


def _tile(per_edge: Tensor, batch: int, x: Tensor) -> Tensor:
    if per_edge.is_floating_point():
        per_edge = per_edge.to(x.dtype)
    return per_edge.expand(batch, *per_edge.shape).flatten(0, 1)

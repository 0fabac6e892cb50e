"""What the networks for sets of shapes are made of, beside the maps in :mod:`symsets.nn`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from symsets._checks import positive
from symsets.nn import Graph
from symsets.nn._explain import check_type
from symsets.ops.layout import entries_first
from symsets.sets import RaggedSets, pool

Rows = Tensor | RaggedSets
"""Shapes ``(T, C, V)``, or clouds of points ``(P, C)`` where their numbers differ."""


class Points(nn.Module):
    r"""Map the channels of every point on its own.

    .. math:: y_p = A x_p + b

    Args:
        in_channels: Channels of a point.
        out_channels: Channels of a point of the output.
        bias: Whether to add :math:`b`.

    Shape:
        - x: ``(B, C, P)``, or ragged with points ``(P, C)``.
        - output: ``(B, C', P)``, or ragged with points ``(P, C')``.

    Symmetry:
        Equivariant to :math:`S_P`.

    Example:
        >>> Points(3, 8)(torch.randn(2, 3, 50)).shape
        torch.Size([2, 8, 50])
        >>> Points(3, 8)(RaggedSets(torch.randn(9, 3), [4, 5]))
        RaggedSets(2 sets of 4–5 elements (8,))
    """

    def __init__(self, in_channels: int, out_channels: int, *, bias: bool = True) -> None:
        super().__init__()
        self.in_channels = positive("in_channels", in_channels)
        self.out_channels = positive("out_channels", out_channels)
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        bound = (3.0 / self.in_channels) ** 0.5
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Rows) -> Rows:
        """Apply the layer."""
        if isinstance(x, RaggedSets):
            return x.map(linear, self.weight, self.bias)
        check_type(x, self)
        if entries_first(x):
            return linear(x.movedim(-1, 0), self.weight, self.bias).movedim(0, -1)
        weight = self.weight.expand(x.shape[0], -1, -1)
        if self.bias is None:
            return torch.bmm(weight, x)
        return torch.baddbmm(self.bias[:, None], weight, x)

    def extra_repr(self) -> str:
        """Show the formula."""
        bias = "" if self.bias is None else " + b"
        return f"{self.in_channels} → {self.out_channels}, A x_p{bias}"


class PerPoint(nn.Module):
    """Apply a module that keeps points apart, such as an activation, to shapes or clouds.

    Args:
        module: For shapes ``(T, C, V)`` and for points ``(P, C)``.

    Example:
        >>> PerPoint(nn.BatchNorm1d(3))(RaggedSets(torch.randn(9, 3), [4, 5]))
        RaggedSets(2 sets of 4–5 elements (3,))
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Rows) -> Rows:
        """Apply the module."""
        return x.map(self.module) if isinstance(x, RaggedSets) else self.module(x)


class Normed(nn.Module):
    """Map shapes, perhaps along a graph, and normalise what comes out.

    Args:
        element: The map.
        norm: The normalisation.

    Example:
        >>> Normed(Points(3, 8), nn.BatchNorm1d(8))(torch.randn(2, 3, 50)).shape
        torch.Size([2, 8, 50])
    """

    def __init__(self, element: nn.Module, norm: nn.Module) -> None:
        super().__init__()
        self.element = element
        self.norm = PerPoint(norm)

    def forward(self, x: Rows, *args: Any) -> Rows:
        """Apply both."""
        return self.norm(self.element(x, *args))


class MaxOverPoints(nn.Module):
    """Make a vector of every shape: the maximum of each channel.

    Where several points hold it, its gradient is shared between them.

    Shape:
        - x: ``(T, C, *V)``, or ragged with points ``(P, C)``.
        - output: ``(T, C)``.

    Symmetry:
        Invariant to permutations of the points.

    Example:
        >>> MaxOverPoints()(torch.tensor([[[1.0, 3.0, 2.0]]]))
        tensor([[3.]])
    """

    def forward(self, x: Rows) -> Tensor:
        """Take the maximum."""
        return pool(x, "max") if isinstance(x, RaggedSets) else x.flatten(2).amax(2)


class EdgeTensors(nn.Module):
    """Write shapes on a graph as V×V tensors: coordinates on the diagonal, edges as a channel.

    Shape:
        - x: ``(T, C, V)``.
        - graph: Of V nodes.
        - output: ``(T, C + 1, V, V)``; the last channel has the weights of the edges, and nothing
          on its diagonal.

    Symmetry:
        Relabelling the nodes of shapes and graph permutes rows and columns of the output.

    Example:
        >>> graph = Graph(torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
        >>> EdgeTensors()(torch.tensor([[[5.0, 7.0]]]), graph)[0]
        tensor([[[5., 0.],
                 [0., 7.]],
        <BLANKLINE>
                [[0., 1.],
                 [1., 0.]]])
    """

    def forward(self, x: Tensor, graph: Graph) -> Tensor:
        """Return the tensors."""
        graph.check(x)
        source, target = graph.edge_index
        weight = torch.ones_like(source) if graph.edge_weight is None else graph.edge_weight
        joined = x.new_zeros(graph.num_nodes, graph.num_nodes)
        joined = joined.index_put((target, source), weight.to(x.dtype), accumulate=True)
        joined = joined * (1 - torch.eye(graph.num_nodes, dtype=x.dtype, device=x.device))
        edges = joined.expand(len(x), 1, -1, -1)
        return torch.cat([torch.diag_embed(x), edges], dim=1)

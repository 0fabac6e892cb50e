"""Every map for single elements, with what the shared battery needs to test it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from symsets import groups
from symsets.nn import (
    AdjacencyLinear,
    CircularConv1d,
    CircularConv2d,
    EquivariantLinear,
    Exchangeable,
    Graph,
    GraphConv,
)
from symsets.testing import roll


@dataclass(frozen=True)
class Element:
    """A map for elements of shape ``(3, *shape)`` and its symmetry."""

    make: Callable[[int, int], nn.Module]
    shape: tuple[int, ...] = ()
    symmetry: Any = None
    args: tuple[Any, ...] = ()
    moved_args: tuple[Any, ...] | None = None


RING = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])
EDGES = torch.cat([RING, RING.flip(0)], dim=1)
ORDER = torch.tensor([2, 0, 4, 1, 3])  # new node k is old node ORDER[k]
MOVED_EDGES = ORDER.argsort()[EDGES]


def relabel(x: torch.Tensor) -> torch.Tensor:
    return x[..., ORDER]


def pyg_conv(i: int, o: int) -> nn.Module:
    from torch_geometric.nn import SAGEConv

    return SAGEConv(i, o)


ELEMENTS = {
    "linear": Element(nn.Linear),
    "conv1d": Element(
        lambda i, o: nn.Conv1d(i, o, 3, padding=1, padding_mode="circular"), (6,), roll(2)
    ),
    "circular1d": Element(lambda i, o: CircularConv1d(i, o, 6), (6,), groups.Cyclic(6)),
    "spectral1d": Element(
        lambda i, o: CircularConv1d(i, o, 5, method="spectral"), (7,), groups.Cyclic(7)
    ),
    "circular2d": Element(
        lambda i, o: CircularConv2d(i, o, (3, 2)), (4, 5), groups.Translations(4, 5)
    ),
    "exchangeable": Element(Exchangeable, (5,), groups.Symmetric(5)),
    "graph": Element(GraphConv, (5,), relabel, (Graph(EDGES, 5),), (Graph(MOVED_EDGES, 5),)),
    "adjacency": Element(AdjacencyLinear, (4, 4), groups.parse("S4^2")),
    "equivariant": Element(
        lambda i, o: EquivariantLinear(groups.Dihedral(5), i, o), (5,), groups.Dihedral(5)
    ),
    "pyg": Element(pyg_conv, (5,), relabel, (EDGES,), (MOVED_EDGES,)),
}

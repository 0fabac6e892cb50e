"""Set layers, heads, and maps for single elements."""

from symsets.nn.adjacency import AdjacencyLinear
from symsets.nn.aggregate import ConcatPool, RemoveMean
from symsets.nn.attention import SetAttention
from symsets.nn.attention_pool import AttentionPool
from symsets.nn.base import AdditiveSetLayer, SetLayer, SetModule
from symsets.nn.circular import CircularConv1d, CircularConv2d
from symsets.nn.dss import DSS, Siamese
from symsets.nn.equivariant import EquivariantLinear
from symsets.nn.exchangeable import Exchangeable
from symsets.nn.graph import Graph, GraphConv
from symsets.nn.heads import Classify, Merge, Select
from symsets.nn.induced import InducedAttention
from symsets.nn.loss import select_loss
from symsets.nn.norm_act import NormAct
from symsets.nn.packed import Packed
from symsets.nn.registry import register_scheme, schemes, set_layer
from symsets.nn.residual import Residual
from symsets.nn.sequential import Sequential
from symsets.nn.set_norm import SetNorm
from symsets.nn.sizes import for_any_size
from symsets.nn.wreath import Wreath

__all__ = [
    # set layers
    "Siamese",
    "DSS",
    "ConcatPool",
    "RemoveMean",
    "SetAttention",
    "InducedAttention",
    "Wreath",
    "Sequential",
    "Residual",
    "SetNorm",
    "NormAct",
    "SetModule",
    "SetLayer",
    "AdditiveSetLayer",
    "set_layer",
    "register_scheme",
    "schemes",
    "for_any_size",
    "Packed",
    # maps for single elements
    "CircularConv1d",
    "CircularConv2d",
    "Exchangeable",
    "Graph",
    "GraphConv",
    "AdjacencyLinear",
    "EquivariantLinear",
    # heads
    "Classify",
    "Select",
    "Merge",
    "AttentionPool",
    "select_loss",
]

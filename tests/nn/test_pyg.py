import copy
import warnings

import pytest
import torch
from torch import nn

from symsets import collate
from symsets.nn.graph import Graph, GraphBatch
from symsets.nn.pyg import PyGConv
from symsets.sets.graphs import is_pyg

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its import still scripts with torch.jit
    pyg = pytest.importorskip("torch_geometric.nn")
    data = pytest.importorskip("torch_geometric.data")

EDGES = torch.tensor([[0, 1, 2, 3, 4, 0, 2], [1, 0, 3, 2, 0, 4, 2]])
V = 5


def convolutions():
    torch.manual_seed(0)
    return [
        pyg.GCNConv(3, 4),
        pyg.GCNConv(3, 4, improved=True),
        pyg.SAGEConv(3, 4),
        pyg.GATConv(3, 2, heads=2),
        pyg.GINConv(nn.Linear(3, 4)),
    ]


@pytest.mark.parametrize("conv", convolutions(), ids=lambda conv: type(conv).__name__)
@pytest.mark.parametrize("batch", [1, 3])
def test_equals_a_loop_over_the_elements(conv, batch):
    conv = conv.double()
    x = torch.randn(batch, 3, V).double()
    ones = {"edge_weight": torch.ones(7).double()} if getattr(conv, "improved", False) else {}
    expected = torch.stack([conv(element.T, EDGES, **ones).T for element in x])
    y = PyGConv(conv)(x, EDGES)
    assert y.shape == (batch, 4, V)
    assert torch.allclose(y, expected, atol=1e-9)


@pytest.mark.parametrize("conv", convolutions(), ids=lambda conv: type(conv).__name__)
def test_commutes_with_relabelling_the_nodes(conv):
    layer, x, perm = PyGConv(conv.double()), torch.randn(2, 3, V).double(), torch.randperm(V)
    moved = layer(x[..., perm], perm.argsort()[EDGES])
    assert (moved - layer(x, EDGES)[..., perm]).abs().max() < 1e-9


def test_edge_weights_and_attributes_are_repeated_for_each_element():
    x, weight = torch.randn(3, 3, V).double(), torch.rand(7).double()
    conv = pyg.GCNConv(3, 4).double()
    expected = torch.stack([conv(element.T, EDGES, weight).T for element in x])
    assert torch.allclose(PyGConv(conv)(x, EDGES, weight), expected, atol=1e-9)
    conv, attr = pyg.GATConv(3, 4, edge_dim=2).double(), torch.rand(7, 2).double()
    expected = torch.stack([conv(element.T, EDGES, attr).T for element in x])
    assert torch.allclose(PyGConv(conv)(x, EDGES, edge_attr=attr), expected, atol=1e-9)


def test_a_graph_stands_for_its_edges_and_weights():
    x, weight = torch.randn(3, 3, V), torch.rand(7)
    layer = PyGConv(pyg.GCNConv(3, 4))
    assert torch.equal(layer(x, Graph(EDGES, V)), layer(x, EDGES))
    graph = Graph(EDGES, V, edge_weight=weight)
    assert torch.equal(layer(x, graph), layer(x, EDGES, weight))


def test_a_reset_draws_other_weights():
    layer = PyGConv(pyg.GCNConv(3, 4))
    before = copy.deepcopy(layer.conv.lin.weight)
    layer.reset_parameters()
    assert not torch.equal(layer.conv.lin.weight, before)


def test_recognises_convolutions_only():
    assert all(is_pyg(conv, "MessagePassing") for conv in convolutions())
    assert not is_pyg(nn.Linear(2, 2), "MessagePassing")
    assert not is_pyg(PyGConv(pyg.SAGEConv(3, 4)), "MessagePassing")


def test_wrong_arguments_are_named():
    with pytest.raises(TypeError, match=r"conv must be a torch_geometric .*, got Linear"):
        PyGConv(nn.Linear(2, 2))
    with pytest.raises(ValueError, match=r"conv must not keep .*, got GCNConv\(cached=True\)"):
        PyGConv(pyg.GCNConv(3, 4, cached=True))
    layer = PyGConv(pyg.SAGEConv(3, 4))
    with pytest.raises(ValueError, match=r"x must be \(B, C, V\), got shape \(3, 5\)"):
        layer(torch.zeros(3, V), EDGES)
    # Node 4 of a 4-node element would be node 0 of the next one.
    with pytest.raises(ValueError, match=r"edge_index must point to nodes 0\.\.3, got 4"):
        layer(torch.zeros(2, 3, 4), EDGES)
    with pytest.raises(ValueError, match="x must have 5 nodes"):
        layer(torch.zeros(2, 3, 4), Graph(EDGES, V))
    with pytest.raises(TypeError, match=r"edge_index must be a tensor .*, got GraphBatch"):
        layer(torch.zeros(2, 3, V), GraphBatch([Graph(EDGES, V)] * 2))


def test_channels_come_before_nodes():
    edges = torch.tensor([[0, 1, 6], [1, 2, 0]])
    rule = r"x must be \(B, 3, V\) for GCNConv, channels before nodes, got shape \(10, 7, 3\)"
    with pytest.raises(ValueError, match=rule):
        PyGConv(pyg.GCNConv(3, 8))(torch.randn(10, 7, 3), edges)
    assert PyGConv(pyg.GCNConv(-1, 8))(torch.randn(10, 3, 7), edges).shape == (10, 8, 7)


def test_a_convolution_takes_the_nodes_of_graphs_of_many_sizes():
    graphs = collate([[pyg_data(3), pyg_data(4)], [pyg_data(2)]])
    conv = pyg.GCNConv(3, 8)
    mapped = graphs.with_elements(graphs.elements.map(conv, graphs.edge_index))
    assert mapped.elements.elements.shape == (9, 8)


def pyg_data(nodes):
    edges = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])
    return data.Data(torch.randn(nodes, 3), edges)

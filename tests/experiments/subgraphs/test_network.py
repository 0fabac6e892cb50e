"""The network over sets of subgraphs: its symmetries, and what it sees."""

import pytest
import torch
from torch_geometric.nn import GINConv

import symsets
from symsets.experiments.subgraphs.graphs import LabelledGraph, csl
from symsets.experiments.subgraphs.network import SubgraphNetwork, by_node
from symsets.experiments.subgraphs.sets import subgraph_sets
from symsets.sets import GraphSets, RaggedSets

MODELS = ("dss-mean", "siamese")


def graph(num_nodes, seed, label=0):
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.combinations(torch.arange(num_nodes)).T
    ends = pairs[:, torch.rand(pairs.shape[1], generator=generator) < 0.5]
    x = torch.randn(num_nodes, 2, generator=generator, dtype=torch.float64)
    return LabelledGraph(x, torch.cat([ends, ends.flip(0)], dim=1), label)


def network(model):
    torch.manual_seed(0)
    return SubgraphNetwork(model, in_channels=2, num_classes=3, width=8, depth=2).double().eval()


def bags(*graphs, policy="node-deleted"):
    return subgraph_sets(graphs, policy).x


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("policy", ["whole", "node-deleted", "edge-deleted"])
def test_renumbering_nodes_changes_nothing(model, policy):
    x, edges, _ = graph(7, 1)
    number = torch.randperm(7, generator=torch.Generator().manual_seed(2))
    moved = LabelledGraph(x[number.argsort()], number[edges], 0)
    net = network(model)
    one, other = (net(bags(g, policy=policy)) for g in (graph(7, 1), moved))
    torch.testing.assert_close(one, other, rtol=0, atol=1e-9)
    assert not torch.allclose(one, net(bags(graph(7, 3), policy=policy)), atol=1e-3)


def some_subgraphs(x, order):
    nodes, edges = x.elements.to_list(), x.edges.to_list()
    picked = [RaggedSets.from_list([rows[k] for k in order]) for rows in (nodes, edges)]
    return GraphSets(picked[0], [len(order)], picked[1])


@pytest.mark.parametrize("model", MODELS)
def test_the_order_of_subgraphs_says_nothing_but_each_of_them_counts(model):
    x, net = bags(graph(6, 1)), network(model)
    torch.testing.assert_close(
        net(some_subgraphs(x, [4, 2, 0, 5, 1, 3])), net(x), rtol=0, atol=1e-9
    )
    assert not torch.allclose(net(some_subgraphs(x, [4, 2, 0])), net(x), atol=1e-3)


@pytest.mark.parametrize("model", MODELS)
def test_graphs_of_a_batch_do_not_meet(model):
    net, graphs = network(model), [graph(5, 1), graph(8, 2), graph(3, 3)]
    together = net(bags(*graphs))
    alone = torch.cat([net(bags(g)) for g in graphs])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-9)


def test_a_layer_is_the_formula():
    x, edges, _ = graph(6, 1)
    bag = bags(graph(6, 1))
    layer = network("dss-mean").layers[0]
    copies, common, back = by_node(bag)
    found = layer(copies, common).elements[back].unflatten(0, (6, 6))  # (N, V, C)
    element, context = layer.element.conv, layer.context.conv
    assert isinstance(element, GINConv)
    for i in range(6):
        kept = edges[:, (edges != i).all(0)]
        expected = element(x, kept) + context(x, edges)  # all subgraphs have the same features
        torch.testing.assert_close(found[i], expected, rtol=0, atol=1e-9)


def test_the_context_is_of_the_mean_over_subgraphs():
    bag = bags(graph(6, 1))
    nodes = torch.randn(36, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    bag = GraphSets(bag.elements.with_elements(nodes), [6], bag.edges)
    layer = network("dss-mean").layers[0]
    copies, common, back = by_node(bag)
    context = layer.message(copies, common)[back].unflatten(0, (6, 6))
    mean = nodes.unflatten(0, (6, 6)).mean(0)
    expected = layer.context.conv(mean, graph(6, 1).edge_index)
    torch.testing.assert_close(context, expected.expand(6, 6, 8), rtol=0, atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_the_convolution_alone_sees_no_difference_between_skips_and_subgraphs_show_it(model):
    torch.manual_seed(0)
    net, graphs = SubgraphNetwork(model, num_classes=10, width=8).double().eval(), csl()[:10]
    whole, deleted = (
        net(subgraph_sets(graphs, policy).x.to(torch.float64))
        for policy in ("whole", "node-deleted")
    )
    assert torch.pdist(whole).max() < 1e-9
    assert torch.pdist(deleted).min() > 1e-6  # all ten classes differ


def test_graphs_without_common_nodes_are_refused():
    nodes = RaggedSets(torch.ones(5, 2), [2, 3])
    edges = RaggedSets(torch.tensor([[0, 1], [0, 1]]), [1, 1])
    with pytest.raises(ValueError, match="must have their nodes in common"):
        by_node(GraphSets(nodes, [2], edges))


def test_a_saved_network_comes_back(tmp_path):
    net = SubgraphNetwork("dss-mean", num_classes=3, width=8, depth=2).eval()
    symsets.save(net, tmp_path / "net")
    x = subgraph_sets(csl()[:2], "whole").x
    assert torch.equal(symsets.load(tmp_path / "net").eval()(x), net(x))

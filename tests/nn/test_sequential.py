from collections import OrderedDict

import pytest
import torch
from elements import EDGES
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

from symsets import DSS, RaggedSets, Sequential
from symsets.nn import Classify, Graph, GraphConv, Merge

WRAPPERS = {
    "compiled": lambda module: torch.compile(module, backend="eager"),
    "averaged": torch.optim.swa_utils.AveragedModel,
    "checkpointed": checkpoint_wrapper,
}


def test_plain_modules_run_per_element():
    net = Sequential(DSS(nn.Conv2d(3, 4, 3)), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
    assert net(torch.randn(2, 5, 3, 6, 6)).shape == (2, 5, 64)
    out = net(RaggedSets(torch.randn(4, 3, 6, 6), [1, 3]))
    assert out.elements.shape == (4, 64)


def test_a_plain_chain_with_set_layers_inside_becomes_one_for_sets():
    inner = nn.Sequential(DSS(nn.Conv1d(2, 2, 1)), nn.BatchNorm1d(2))
    net = Sequential(inner, nn.ReLU())
    assert isinstance(net[0], Sequential)
    assert net(torch.randn(2, 3, 2, 5)).shape == (2, 3, 2, 5)


def test_chains_made_in_other_ways_are_the_same():
    def inner():
        return nn.Sequential(DSS(nn.Conv1d(2, 2, 1)), nn.BatchNorm1d(2))

    made = [
        Sequential(OrderedDict(first=inner(), last=nn.ReLU())),
        Sequential(nn.ReLU()).append(inner()),
        Sequential(inner(), nn.ReLU(), nn.ReLU())[:2],
    ]
    for net in made:
        assert any(isinstance(part, Sequential) for part in net)
        assert net(torch.randn(2, 3, 2, 5)).shape == (2, 3, 2, 5)


@pytest.mark.parametrize("ragged", [False, True])
def test_what_follows_a_head_sees_one_thing_per_set(ragged):
    merge = Merge(nn.Conv2d(3, 4, 3), pool="max")
    after = nn.Sequential(nn.BatchNorm2d(4), nn.Conv2d(4, 2, 3), nn.Flatten(), nn.Linear(8, 5))
    x = torch.randn(3, 2, 3, 6, 6)
    sets = RaggedSets(x.flatten(0, 1), [2, 2, 2]) if ragged else x
    expected = after(merge(sets))
    torch.testing.assert_close(Sequential(merge, *after)(sets), expected)
    torch.testing.assert_close(Sequential(Sequential(merge), *after)(sets), expected)
    vector = Sequential(DSS(nn.Linear(3, 4)), Classify(4, 5), nn.Softmax(dim=1))
    torch.testing.assert_close(vector(torch.randn(2, 6, 3)).sum(1), torch.ones(2))


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_a_wrapped_head_is_a_head(wrap):
    head, x = Classify(3, 4), torch.randn(2, 5, 3)
    net = Sequential(wrap(head), nn.Softmax(dim=-1))
    torch.testing.assert_close(net(x), head(x).softmax(-1))
    assert not net.returns_sets


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_graphs_reach_the_wrapped_layers_that_take_them(wrap):
    parts = DSS(GraphConv(2, 4)), Sequential(nn.ReLU(), DSS(nn.Linear(6, 6))), Classify(4, 5)
    graph, x = Graph(EDGES, 6), torch.randn(2, 3, 2, 6)
    with torch.no_grad():
        expected = Sequential(*parts)(x, graph)
        torch.testing.assert_close(Sequential(*map(wrap, parts))(x, graph), expected)


def test_a_module_may_come_twice():
    linear = nn.Linear(3, 3)
    x = torch.randn(2, 5, 3)
    torch.testing.assert_close(Sequential(linear, linear)(x), linear(linear(x)))


def test_set_layers_after_such_a_head_are_refused():
    with pytest.raises(ValueError, match=r"must not take sets after .* got DSS at place 2"):
        Sequential(Merge(nn.Linear(3, 4)), nn.ReLU(), DSS(nn.Linear(4, 4)))


def test_graphs_reach_the_layers_that_take_them():
    graph = Graph(EDGES, 5)
    net = Sequential(DSS(GraphConv(3, 4)), nn.ReLU(), DSS(nn.Conv1d(4, 2, 1)))
    assert net(torch.randn(2, 3, 3, 5), graph).shape == (2, 3, 2, 5)
    with pytest.raises(TypeError, match="none of the layers takes further arguments, got 1"):
        Sequential(DSS(nn.Linear(2, 2)))(torch.randn(1, 2, 2), graph)


def plain_chain():
    return nn.Sequential(OrderedDict(first=DSS(nn.Linear(3, 4)), last=nn.Flatten()))


def assigned(net):
    net[0] = plain_chain()


@pytest.mark.parametrize(
    "put",
    [assigned, lambda net: net.insert(0, plain_chain()), lambda net: net.append(plain_chain())],
)
def test_a_plain_chain_with_set_layers_is_a_chain_however_it_comes_in(put):
    net = Sequential(nn.Identity())
    put(net)
    assert net(torch.randn(2, 5, 3)).shape == (2, 5, 4)


def test_a_plain_chain_keeps_the_names_of_its_parts():
    assert [name for name, _ in Sequential(plain_chain())[0].named_children()] == ["first", "last"]


@pytest.mark.parametrize("join", [lambda a: a + a, lambda a: 2 * a])
def test_joined_chains_are_chains(join):
    net = join(Sequential(DSS(nn.Linear(3, 3)), nn.Flatten()))
    assert len(net) == 4
    assert net(torch.randn(2, 5, 3)).shape == (2, 5, 3)

"""Chains of set layers and plain modules, and how each is called."""

import copy
import pickle
import sys
from collections import OrderedDict

import pytest
import torch
from elements import EDGES
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

from symsets import DSS, RaggedSets, Sequential, Siamese
from symsets.nn import Classify, Graph, GraphConv, Merge, Select, SetModule
from symsets.sets import fold

WRAPPERS = {
    "compiled": lambda module: torch.compile(module, backend="eager"),
    "averaged": torch.optim.swa_utils.AveragedModel,
    "checkpointed": checkpoint_wrapper,
}


class TestSequential:
    def test_plain_modules_run_per_element(self):
        net = Sequential(DSS(nn.Conv2d(3, 4, 3)), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
        assert net(torch.randn(2, 5, 3, 6, 6)).shape == (2, 5, 64)
        out = net(RaggedSets(torch.randn(4, 3, 6, 6), [1, 3]))
        assert out.elements.shape == (4, 64)

    def test_a_plain_chain_with_set_layers_inside_becomes_one_for_sets(self):
        inner = nn.Sequential(DSS(nn.Conv1d(2, 2, 1)), nn.BatchNorm1d(2))
        net = Sequential(inner, nn.ReLU())
        assert isinstance(net[0], Sequential)
        assert net(torch.randn(2, 3, 2, 5)).shape == (2, 3, 2, 5)

    def test_chains_made_in_other_ways_are_the_same(self):
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
    def test_what_follows_a_head_sees_one_thing_per_set(self, ragged):
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
    def test_a_wrapped_head_is_a_head(self, wrap):
        head, x = Classify(3, 4), torch.randn(2, 5, 3)
        net = Sequential(wrap(head), nn.Softmax(dim=-1))
        torch.testing.assert_close(net(x), head(x).softmax(-1))
        assert not net.returns_sets

    @pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
    def test_graphs_reach_the_wrapped_layers_that_take_them(self, wrap):
        parts = DSS(GraphConv(2, 4)), Sequential(nn.ReLU(), DSS(nn.Linear(6, 6))), Classify(4, 5)
        graph, x = Graph(EDGES, 6), torch.randn(2, 3, 2, 6)
        with torch.no_grad():
            expected = Sequential(*parts)(x, graph)
            torch.testing.assert_close(Sequential(*map(wrap, parts))(x, graph), expected)

    def test_a_module_may_come_twice(self):
        linear = nn.Linear(3, 3)
        x = torch.randn(2, 5, 3)
        torch.testing.assert_close(Sequential(linear, linear)(x), linear(linear(x)))

    def test_set_layers_after_such_a_head_are_refused(self):
        with pytest.raises(ValueError, match=r"must not take sets after .* got DSS at place 2"):
            Sequential(Merge(nn.Linear(3, 4)), nn.ReLU(), DSS(nn.Linear(4, 4)))

    def test_graphs_reach_the_layers_that_take_them(self):
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


# How modules are called is decided when they join; every change of the chain decides anew.


def conv(i, o):
    return nn.Conv1d(i, o, 1)  # refuses whole sets, and DSS refuses single elements


def chain():
    return Sequential(DSS(conv(3, 4)), nn.BatchNorm1d(4), DSS(conv(4, 3)), nn.Conv1d(3, 3, 1))


def by_hand(net, x):
    for part in net:
        if isinstance(part, SetModule):
            x = part(x)
        else:
            x = part(x.flatten(0, 1)).unflatten(0, x.shape[:2]) if x.ndim == 4 else part(x)
    return x


def replaced(net, place, module):
    net[place] = module
    return net


def without(net, place):
    del net[place]
    return net


CHANGES = {
    "a set layer for a plain one": lambda net: replaced(net, 1, DSS(conv(4, 4))),
    "a plain one for a set layer": lambda net: replaced(net, 0, conv(3, 4)),
    "a head for the last": lambda net: replaced(net, 3, Merge(conv(3, 2))),
    "a set layer inserted": lambda net: net.insert(1, DSS(conv(4, 4))),
    "a plain one inserted": lambda net: net.insert(0, conv(3, 3)),
    "the first deleted": lambda net: without(replaced(net, 1, conv(3, 4)), 0),
    "the first two deleted": lambda net: without(replaced(net, 2, DSS(conv(3, 3))), slice(2)),
    "one taken out": lambda net: net.pop(1) and net,
    "one appended": lambda net: net.append(DSS(conv(3, 3))),
    "several appended": lambda net: net.extend([conv(3, 3), Merge(conv(3, 2)), nn.Flatten()]),
    "another chain added": lambda net: net + chain(),
    "a plain chain added": lambda net: net + nn.Sequential(DSS(conv(3, 3)), nn.Tanh()),
    "another chain taken in": lambda net: net.__iadd__(chain()),
    "the same twice": lambda net: net.__imul__(2),
    "a part of it": lambda net: replaced(net[1:], 0, DSS(conv(3, 4))),
    "a copy": copy.deepcopy,
    "a copy that changes": lambda net: replaced(copy.deepcopy(net), 0, conv(3, 4)),
    "read from a file": lambda net: replaced(pickle.loads(pickle.dumps(net)), 0, conv(3, 4)),
    "set by name": lambda net: setattr(net, "1", DSS(conv(4, 4))) or net,
    "registered": lambda net: net.register_module("last", Classify(3, 2)) or net,
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_changed_chain_calls_its_modules_as_they_want(how):
    old = chain()
    net, x = CHANGES[how](old), torch.randn(2, 5, 3, 7)
    assert isinstance(net, Sequential)
    torch.testing.assert_close(net.eval()(x), by_hand(net, x))
    if net is not old:
        torch.testing.assert_close(old.eval()(x), by_hand(old, x))
    ends = not isinstance(net[-1], Merge | Classify | nn.Flatten)
    assert net.returns_sets is ends


def test_what_follows_a_head_that_came_later_sees_what_it_makes():
    net = Sequential(DSS(conv(3, 4)), DSS(conv(4, 4)), nn.Flatten(), nn.Linear(28, 2))
    x = torch.randn(2, 5, 3, 7)
    assert net(x).shape == (2, 5, 2)
    net[1] = Merge(conv(4, 4))
    assert net(x).shape == (2, 2)
    net[1] = DSS(conv(4, 4))
    assert net(x).shape == (2, 5, 2)


def test_graphs_reach_a_layer_that_came_later():
    graph, x = Graph(EDGES, 5), torch.randn(2, 3, 3, 5)
    net = Sequential(DSS(conv(3, 3)))
    with pytest.raises(TypeError, match="none of the layers takes further arguments"):
        net(x, graph)
    net[0] = DSS(GraphConv(3, 4))
    assert net(x, graph).shape == (2, 3, 4, 5)


@pytest.mark.parametrize(
    "change",
    [
        lambda net: net.append(DSS(conv(2, 2))),
        lambda net: net.insert(1, Merge(conv(3, 3))),
        lambda net: replaced(net, 0, Merge(conv(3, 3))),
        lambda net: net.register_module("last", Siamese(conv(2, 2))),
    ],
)
def test_a_change_that_is_refused_leaves_the_chain_as_it_was(change):
    net = Sequential(Siamese(conv(3, 3)), DSS(conv(3, 3)), Merge(conv(3, 2)))
    x = torch.randn(2, 5, 3, 7)
    before, names = net(x), list(net.state_dict())
    with pytest.raises(ValueError, match="must not take sets after a head"):
        change(net)
    assert list(net.state_dict()) == names
    assert torch.equal(net(x), before)


def test_it_decides_once(monkeypatch):
    net, x, calls = chain(), torch.randn(2, 5, 3, 7), []
    module = sys.modules["symsets.nn.sequential"]
    monkeypatch.setattr(module, "takes_sets", lambda part: calls.append(part))
    monkeypatch.setattr(module, "accepts_args", lambda part: calls.append(part))
    net(x)
    assert calls == []


@pytest.mark.parametrize("kind", [nn.Softmax, nn.LogSoftmax, nn.Softmin])
@pytest.mark.parametrize("x", [torch.randn(3, 5, 4), RaggedSets(torch.randn(5, 4), [2, 3])])
def test_a_softmax_over_all_sets_of_a_batch_is_refused(kind, x):
    with pytest.raises(ValueError, match="modules must not mix sets, got"):
        Sequential(DSS(nn.Linear(4, 8)), kind(dim=0))
    with pytest.raises(IndexError, match="x must have at least 3 axes, got 2"):
        Sequential(DSS(nn.Linear(4, 8)), Select(8), kind(dim=-1))(x)
    over_channels = Sequential(DSS(nn.Linear(4, 8)), kind(dim=-1))
    torch.testing.assert_close(fold(over_channels(x))[0], kind(dim=1)(fold(over_channels[0](x))[0]))


def test_a_chain_inside_may_lose_its_head_or_get_one():
    x = torch.randn(6, 7, 4)
    inner = Sequential(DSS(nn.Linear(4, 8)), nn.ReLU(), Classify(8, 5))
    outer = Sequential(inner, nn.Softmax(1))
    inner[2] = nn.Linear(8, 5)  # now an answer for each element
    assert outer.returns_sets
    torch.testing.assert_close(outer(x), Sequential(inner, nn.Softmax(1))(x))
    torch.testing.assert_close(outer(x).sum(2), torch.ones(6, 7))
    inner.append(Classify(5, 1))
    assert not outer.returns_sets
    torch.testing.assert_close(outer(x), Sequential(inner, nn.Softmax(1))(x))


def test_a_module_of_ones_own_returns_what_its_last_set_layer_does():
    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = DSS(nn.Linear(3, 8)), Classify(8, 1)

        def forward(self, x):
            return self.head(self.body(x))

    assert Sequential(Head(), nn.Flatten(0))(torch.randn(6, 4, 3)).shape == (6,)

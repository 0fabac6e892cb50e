import copy

import pytest
import torch
from torch import nn

from symsets import DSS, RaggedSets, Sequential, Siamese, groups, lift
from symsets.nn import Classify, Graph, GraphConv, SetModule
from symsets.testing import assert_equivariant, equivariance_error, roll

ORDER = "the order of the set is not kept"
ELEMENT = "the symmetry of the elements is not kept"


def dense():
    return torch.randn(2, 5, 3, 8)


def ragged():
    return RaggedSets(torch.randn(7, 3, 8), [3, 0, 1, 3])


def circular(i, o, stride=1):
    return nn.Conv1d(i, o, 3, padding=1, padding_mode="circular", stride=stride)


class Fn(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x, *args):
        return self.fn(x, *args)


def mapped(x, fn):
    return x.map(fn) if isinstance(x, RaggedSets) else fn(x)


def noise(x):
    """Return what is zero but for rounding, in which the order shows."""
    return 1e-14 * x.cumsum(1)


def test_single_precision_is_no_excuse_and_no_obstacle():
    assert equivariance_error(DSS(circular(3, 4)).half(), dense().half(), symmetry=roll(1)) < 1e-12


def test_integers_stay_integers():
    assert_equivariant(Siamese(nn.Embedding(4, 2)), torch.randint(4, (2, 5, 3)))


def test_further_arguments_are_cast_and_never_changed():
    weight, part = torch.randn(8), nn.Linear(8, 8)

    def fn(x, weight, part, pair):
        return part(x * weight + pair[1])

    assert_equivariant(Fn(fn), dense(), weight, part, (2, torch.ones(8)))
    assert part.weight.dtype == torch.float32


def test_graphs_are_relabelled_with_the_elements():
    torch.manual_seed(1)
    edges, perm = torch.randint(8, (2, 12)), torch.randperm(8)
    graph, relabelled = Graph(edges, 8), Graph(perm.argsort()[edges], 8)
    options = {"symmetry": lambda x: x[..., perm], "moved_args": (relabelled,)}
    assert_equivariant(DSS(GraphConv(3, 4)), dense(), graph, **options)
    with pytest.raises(AssertionError, match="the symmetry of the elements is not kept"):
        assert_equivariant(DSS(GraphConv(3, 4)), dense(), graph, symmetry=options["symmetry"])
    wrong = Fn(lambda x, graph: layer(x.cumsum(1), graph))
    layer = DSS(GraphConv(3, 4)).double()
    with pytest.raises(AssertionError, match=ORDER):
        assert_equivariant(wrong, dense(), graph, **options)


def test_the_first_of_several_outputs_that_breaks_is_named(fails):
    net = nn.Sequential(Siamese(circular(3, 4)), Fn(lambda x: (x.relu(), x.cumsum(1))))
    fails(net, dense(), rf"{ORDER}; it first breaks in '1' \(Fn\)", symmetry=roll(3))


@pytest.mark.parametrize("x", [dense(), ragged()], ids=["dense", "ragged"])
def test_the_first_layer_that_breaks_shifts_is_named(x, fails):
    zeros = nn.Conv1d(4, 4, 3, padding=1)
    net = Sequential(DSS(circular(3, 4)), nn.ReLU(), DSS(zeros), nn.ReLU(), DSS(circular(4, 2)))
    found = rf"{ELEMENT}; it first breaks in '2.context' \(Conv1d\)"
    fails(net, x, found, symmetry=roll(3))


@pytest.mark.parametrize("task", ["transform", "classify"])
def test_the_first_layer_that_breaks_the_order_is_named(task, fails):
    class Cumulate(DSS):
        def forward(self, x):
            return mapped(x, lambda t: t.cumsum(0 if isinstance(x, RaggedSets) else 1))

    layers = [DSS(circular(3, 4)), nn.ReLU(), Cumulate(nn.Identity(), nn.Identity())]
    net = Sequential(
        *layers, DSS(circular(4, 2)), *([Classify(2, 2)] if task == "classify" else [])
    )
    for x in (dense(), ragged()):
        fails(net, x, rf"{ORDER}; it first breaks in '2' \(Cumulate\)", task=task, symmetry=roll(3))


def test_layers_inside_lifted_networks_are_named(fails):
    net = lift(nn.Sequential(circular(3, 4), nn.ReLU(), nn.Conv1d(4, 4, 3, padding=1)))
    fails(net, dense(), r"first breaks in 'model.2.message.context' \(Conv1d\)", symmetry=roll(3))


def test_strides_are_not_blamed_for_what_comes_later(fails):
    net = Sequential(
        Siamese(circular(3, 4, stride=2)),  # a shift by 4 is now one by 2
        Siamese(circular(4, 4, stride=2)),
        Siamese(nn.Conv1d(4, 4, 3, padding=1)),
    )
    options = {"symmetry": roll(4), "output_symmetry": roll(1)}
    fails(net, dense(), r"first breaks in '2.element' \(Conv1d\)", **options)


def test_the_order_is_followed_through_strides(fails):
    class Cumulate(DSS):
        def forward(self, x):
            return x.cumsum(1)

    middle = Cumulate(nn.Identity(), nn.Identity())
    net = Sequential(Siamese(circular(3, 4, stride=2)), middle, Siamese(circular(4, 4, stride=2)))
    options = {"symmetry": roll(4), "output_symmetry": roll(1)}
    fails(net, dense(), rf"{ORDER}; it first breaks in '1' \(Cumulate\)", **options)


def test_flattening_is_named_where_shifts_get_lost(fails):
    net = Sequential(Siamese(circular(3, 4)), nn.Flatten(), nn.Linear(32, 3), Classify(3, 2))
    fails(net, dense(), r"first breaks in '1' \(Flatten\)", task="classify", symmetry=roll(3))


def test_a_module_without_parts_is_named_by_its_class(fails):
    fails(Fn(lambda x: x.cumsum(1)), dense(), f"{ORDER}; it first breaks in Fn$")
    fails(lambda x: x.cumsum(1), dense(), f"{ORDER}$")


def test_nearly_zero_outputs_inside_are_not_blamed(fails):
    class Chain(nn.Module):
        def __init__(self):
            super().__init__()
            self.cancel, self.wrong = Fn(noise), Fn(lambda x: x.cumsum(1))

        def forward(self, x):
            return self.wrong(x + self.cancel(x))

    fails(Chain(), dense(), r"first breaks in 'wrong' \(Fn\)")


def test_models_inputs_and_random_numbers_are_left_alone():
    net = Sequential(DSS(circular(3, 4)), nn.BatchNorm1d(4), nn.Dropout())
    before, x = copy.deepcopy(net.state_dict()), dense()
    kept, state = x.clone(), torch.get_rng_state()
    equivariance_error(net, x, symmetry=groups.Cyclic(8))
    with pytest.raises(AssertionError):
        assert_equivariant(net, x, symmetry=roll(1))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(x, kept)
    assert net.training
    assert net[0].element.weight.dtype == torch.float32
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert not any(module._forward_hooks for module in net.modules())


def test_other_errors_of_a_model_are_its_own():
    with pytest.raises(ValueError, match="my own"):
        assert_equivariant(Fn(lambda x: (_ for _ in ()).throw(ValueError("my own"))), dense())


class Position(nn.Module):
    """Adds a number that belongs to the place of an element between two layers that keep it."""

    def __init__(self):
        super().__init__()
        self.embed, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)
        self.position = nn.Parameter(torch.randn(5, 1, 8))

    def forward(self, x):
        return self.norm(self.embed(x) + self.position)


def test_what_breaks_between_two_layers_is_blamed_on_neither(fails):
    fails(Position(), dense(), rf"{ORDER}; it first breaks before 'norm' \(LayerNorm\)")


@pytest.mark.parametrize("net", [DSS(circular(3, 4)), nn.Linear(8, 2)])
def test_networks_in_single_precision_are_copied_to_double(net):
    assert_equivariant(lambda x, net: net(x), dense(), net)
    assert_equivariant(net, dense())
    assert {p.dtype for p in net.parameters()} == {torch.float32}


def test_functions_around_single_precision_get_advice_that_works():
    net = DSS(circular(3, 4))
    with pytest.raises(TypeError) as caught:
        assert_equivariant(lambda x: net(x), dense())
    assert caught.value.__notes__[0].endswith("(lambda x, net: net(x), x, net).")
    assert_equivariant(lambda x, net: net(x), dense(), net)


def test_weights_that_are_zero_hide_nothing():
    class Positions(SetModule):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(torch.zeros(5, 3))

        def forward(self, x):
            return x + self.table

    net = Sequential(Positions(), DSS(nn.Linear(3, 4)))
    with pytest.raises(AssertionError, match=r"first breaks in '0' \(Positions\)"):
        assert_equivariant(net, torch.randn(2, 5, 3))
    assert not net[0].table.any()  # only in the copy that is tested

import copy
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from symsets import DSS, RaggedSets, Sequential, Siamese, Wreath, groups, lift
from symsets.nn import Classify, EquivariantLinear, Graph, GraphConv, Merge, Select
from symsets.testing import assert_equivariant, equivariance_error, roll

ORDER = "the order of the set is not kept"
ELEMENT = "the symmetry of the elements is not kept"


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


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


def fails(model, x, match, **options):
    assert equivariance_error(model, x, **options) > 1e-3
    with pytest.raises(AssertionError, match=match):
        assert_equivariant(model, x, **options)


# What must pass


@pytest.mark.parametrize("x", [dense(), ragged()], ids=["dense", "ragged"])
@pytest.mark.parametrize(
    ("task", "model"),
    [
        ("transform", DSS(circular(3, 4))),
        ("select", Sequential(DSS(circular(3, 4)), Select(4))),
        ("merge", Sequential(DSS(circular(3, 4)), Merge(circular(4, 2)))),
        ("classify", Sequential(DSS(circular(3, 4)), Classify(4, 2))),
    ],
)
def test_exact_models_pass_in_all_tasks(task, model, x):
    assert_equivariant(model, x, symmetry=roll(3), task=task)
    assert equivariance_error(model, x, symmetry=roll(3), task=task) < 1e-12


def test_single_precision_is_no_excuse_and_no_obstacle():
    assert equivariance_error(DSS(circular(3, 4)).half(), dense().half(), symmetry=roll(1)) < 1e-12


def test_zero_outputs_and_inputs_have_no_error():
    for x in (dense(), torch.zeros(2, 5, 3, 8), torch.zeros(2, 0, 3, 8), torch.zeros(0, 5, 3, 8)):
        assert equivariance_error(lambda x: 0 * x, x, symmetry=roll(1)) == 0
    assert_equivariant(lambda x: x - x.mean(1, keepdim=True), torch.ones(1, 3, 2, 4))


def noise(x):
    """Return what is zero but for rounding, in which the order shows."""
    return 1e-14 * x.cumsum(1)


def test_rounding_noise_of_an_output_that_is_nearly_zero_passes():
    assert_equivariant(noise, dense())


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_errors_are_relative_to_the_output(scale):
    def fn(x):
        return scale * x.cumsum(1)

    x = dense()
    assert 0.1 < equivariance_error(fn, x) <= 2
    assert equivariance_error(fn, 1e6 * x) == pytest.approx(equivariance_error(fn, x))


def far(offset, spread=1.0):
    """Return sets far from zero, as of times of measurement."""
    return offset + spread * torch.randn(2, 5, 3, dtype=torch.float64)


@pytest.mark.parametrize(
    ("x", "fn"),
    [
        (far(1.7e9), lambda x: torch.softmax((x - 1.7e9).cumsum(1), 1)),
        (1e9 * far(0.0), lambda x: torch.softmax((x / 1e9).cumsum(1), 1)),
        (far(1.7e9, 1e-3), lambda x: ((x - x.mean(1, keepdim=True)) / x.std()).cumsum(1)),
    ],
)
def test_large_inputs_do_not_hide_errors(x, fn):
    fails(fn, x, ORDER)
    net = nn.Sequential(nn.Identity(), Fn(fn))
    fails(net, x, rf"{ORDER}; it first breaks in '1' \(Fn\)")


@pytest.mark.parametrize("gain", [1.0, 1e6])
@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0])
def test_what_rounding_leaves_of_large_inputs_passes(gain, spread):
    x = far(1.7e9, spread)
    assert_equivariant(lambda x: gain * (x - x.mean(1, keepdim=True)), x)
    assert_equivariant(lambda x: torch.tanh(gain * (x - 1.7e9).mean((1, 2))), x, task="classify")


def test_models_that_never_repeat_themselves_are_no_rounding():
    draws = np.random.default_rng(0)
    with pytest.raises(AssertionError, match="does not repeat itself"):
        assert_equivariant(lambda x: x + draws.normal(), dense())


def test_infinite_inputs_hide_no_errors():
    x = dense()
    x[0, 0, 0, 0] = math.inf
    fails(lambda x: x.sigmoid().cumsum(1), x, ORDER)


@pytest.mark.parametrize("name", ["C8", "S8", "D8"])
def test_groups_draw_their_own_symmetries(name):
    group = groups.parse(name)
    assert_equivariant(Siamese(EquivariantLinear(group, 3, 2)), dense(), symmetry=group)
    fails(DSS(nn.Conv1d(3, 2, 3, padding=1)), dense(), "symmetry of the elements", symmetry=group)


def test_groups_act_on_several_axes():
    group = groups.Translations(2, 4)
    x = torch.randn(2, 3, 2, 2, 4)
    assert_equivariant(DSS(EquivariantLinear(group, 2, 2)), x, symmetry=group)
    fails(Siamese(nn.Conv2d(2, 2, 3, padding=1)), x, "symmetry of the elements", symmetry=group)


def test_a_larger_group_is_not_kept():
    circulant = Siamese(EquivariantLinear(groups.Cyclic(8), 3, 3))
    assert_equivariant(circulant, dense(), symmetry=groups.Cyclic(8))
    fails(circulant, dense(), "symmetry of the elements", symmetry=groups.Symmetric(8))


def test_groups_must_act_on_the_elements():
    with pytest.raises(
        ValueError, match=r"last axes of an element, got C5 for elements of shape \(3, 8\)"
    ):
        equivariance_error(lambda x: x, dense(), symmetry=groups.Cyclic(5))


def test_strides_move_the_output_by_less():
    model = DSS(circular(3, 4, stride=2))
    assert_equivariant(model, dense(), symmetry=roll(2), output_symmetry=roll(1))
    fails(model, dense(), "symmetry of the elements", symmetry=roll(2))


def test_elements_may_move_on_their_own():
    x = dense()

    def each(rows):
        return torch.stack([row.roll(k, -1) for k, row in enumerate(rows)])

    assert_equivariant(Wreath(circular(3, 4)), x, symmetry=each)
    fails(DSS(circular(3, 4)), x, "symmetry of the elements", symmetry=each)


def test_elements_of_different_sizes():
    clouds = RaggedSets.from_list([[torch.randn(n, 3) for n in (4, 2)], [torch.randn(3, 3)] * 2])
    assert_equivariant(Wreath(Siamese(nn.Linear(3, 2))), clouds)
    fails(Siamese(Fn(lambda x: x.with_elements(x.elements.cumsum(0)))), clouds, ORDER)


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


def test_further_arguments_are_cast_and_never_changed():
    weight, part = torch.randn(8), nn.Linear(8, 8)

    def fn(x, weight, part, pair):
        return part(x * weight + pair[1])

    assert_equivariant(Fn(fn), dense(), weight, part, (2, torch.ones(8)))
    assert part.weight.dtype == torch.float32


def test_integers_stay_integers():
    assert_equivariant(Siamese(nn.Embedding(4, 2)), torch.randint(4, (2, 5, 3)))


# What must fail


@pytest.mark.parametrize(
    ("task", "model"),
    [
        ("transform", lambda x: x.cumsum(1)),
        ("transform", lambda x: x - x[:, :1]),
        ("select", lambda x: x.sum((2, 3)).cumsum(1)),
        ("merge", lambda x: x[:, 0]),
        ("classify", lambda x: x[:, 0].sum(-1)),
        ("classify", lambda x: x.sum((2, 3))),  # scores in the order of the set
    ],
)
def test_dependence_on_the_order_fails(task, model):
    fails(model, dense(), ORDER, task=task)
    fails(model, dense(), ORDER, task=task, symmetry=roll(3))


@pytest.mark.parametrize(
    ("task", "model"),
    [
        ("transform", lambda x: x.cumsum(-1)),
        ("select", lambda x: x[..., 0].sum(-1)),
        ("merge", lambda x: x.sum(1).cumsum(-1)),
        ("classify", lambda x: x.sum((1, 2))),
    ],
)
def test_breaking_the_symmetry_of_the_elements_alone_fails(task, model):
    assert_equivariant(model, dense(), task=task)
    fails(model, dense(), ELEMENT, task=task, symmetry=roll(3))


def test_breaking_both_fails():
    fails(lambda x: x.cumsum(1).cumsum(-1), dense(), "neither the order", symmetry=roll(3))


def test_outputs_may_be_booleans_or_integers():
    x = dense()
    assert_equivariant(lambda x: x > 0, x, symmetry=roll(3))
    assert_equivariant(lambda x: (x > 0).byte(), x, symmetry=roll(3))
    assert_equivariant(lambda x: x & True, x > 0)
    fails(lambda x: x.cumsum(1) > 0, x, ORDER)
    fails(lambda x: (x.cumsum(1) > 0).byte(), x, ORDER)


@pytest.mark.parametrize("x", [dense(), ragged()], ids=["dense", "ragged"])
def test_each_of_several_outputs_is_measured(x):
    def cumulated(x):
        return mapped(x, lambda t: 1e-12 * t.cumsum(0 if isinstance(x, RaggedSets) else 1))

    for put in (lambda *y: y, lambda *y: list(y), lambda a, b: {"a": a, "b": (b,)}):
        assert_equivariant(lambda x, put=put: put(x, mapped(x, torch.abs)), x, symmetry=roll(3))
        fails(lambda x, put=put: put(x, cumulated(mapped(x, torch.abs))), x, ORDER)


def test_the_first_of_several_outputs_that_breaks_is_named():
    net = nn.Sequential(Siamese(circular(3, 4)), Fn(lambda x: (x.relu(), x.cumsum(1))))
    fails(net, dense(), rf"{ORDER}; it first breaks in '1' \(Fn\)", symmetry=roll(3))


def test_outputs_put_together_otherwise_fail():
    x = dense().double()
    first = x[:, 0].clone()
    assert math.inf == equivariance_error(
        lambda x: (x,) if torch.equal(x[:, 0], first) else x, x, trials=5
    )


def test_breaking_for_ragged_batches_alone_fails():
    def fn(x):
        return x.with_elements(x.elements.cumsum(0)) if isinstance(x, RaggedSets) else 2 * x

    assert_equivariant(fn, dense())
    fails(fn, ragged(), ORDER)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_outputs_that_are_not_finite_fail(bad):
    for fn in (lambda x: x * bad, lambda x: torch.where(x == x.max(), bad, x)):
        assert equivariance_error(fn, dense()) == math.inf
        with pytest.raises(AssertionError, match="error inf is above 1e-09"):
            assert_equivariant(fn, dense())


def test_rare_breaks_are_found_by_more_trials():
    x = dense().double()

    def fn(y):  # wrong only where the last element of the first set comes first
        return y + (y[0, 0] == x[0, -1]).all()

    assert 0 in {equivariance_error(fn, x, trials=1, seed=seed) for seed in range(5)}
    assert equivariance_error(fn, x, trials=30) > 0.1


def test_outputs_of_another_shape_fail():
    def fn(x):
        return x.sum(1) if (x[:, 0] == first).all() else x.sum(1, keepdim=True)

    x = dense().double()
    first = x[:, 0]
    assert equivariance_error(fn, x, task="merge") == math.inf


def test_randomness_is_told():
    with pytest.raises(AssertionError, match=r"does not repeat itself .* evaluation mode"):
        assert_equivariant(Sequential(DSS(circular(3, 4)), nn.Dropout()), dense())


# Where it breaks


@pytest.mark.parametrize("x", [dense(), ragged()], ids=["dense", "ragged"])
def test_the_first_layer_that_breaks_shifts_is_named(x):
    zeros = nn.Conv1d(4, 4, 3, padding=1)
    net = Sequential(DSS(circular(3, 4)), nn.ReLU(), DSS(zeros), nn.ReLU(), DSS(circular(4, 2)))
    found = rf"{ELEMENT}; it first breaks in '2.context' \(Conv1d\)"
    fails(net, x, found, symmetry=roll(3))


@pytest.mark.parametrize("task", ["transform", "classify"])
def test_the_first_layer_that_breaks_the_order_is_named(task):
    class Cumulate(DSS):
        def forward(self, x):
            return mapped(x, lambda t: t.cumsum(0 if isinstance(x, RaggedSets) else 1))

    layers = [DSS(circular(3, 4)), nn.ReLU(), Cumulate(nn.Identity(), nn.Identity())]
    net = Sequential(
        *layers, DSS(circular(4, 2)), *([Classify(2, 2)] if task == "classify" else [])
    )
    for x in (dense(), ragged()):
        fails(net, x, rf"{ORDER}; it first breaks in '2' \(Cumulate\)", task=task, symmetry=roll(3))


def test_layers_inside_lifted_networks_are_named():
    net = lift(nn.Sequential(circular(3, 4), nn.ReLU(), nn.Conv1d(4, 4, 3, padding=1)))
    fails(net, dense(), r"first breaks in 'model.2' \(LiftedConv1d\)", symmetry=roll(3))


def test_strides_are_not_blamed_for_what_comes_later():
    net = Sequential(
        Siamese(circular(3, 4, stride=2)),  # a shift by 4 is now one by 2
        Siamese(circular(4, 4, stride=2)),
        Siamese(nn.Conv1d(4, 4, 3, padding=1)),
    )
    options = {"symmetry": roll(4), "output_symmetry": roll(1)}
    fails(net, dense(), r"first breaks in '2.element' \(Conv1d\)", **options)


def test_the_order_is_followed_through_strides():
    class Cumulate(DSS):
        def forward(self, x):
            return x.cumsum(1)

    middle = Cumulate(nn.Identity(), nn.Identity())
    net = Sequential(Siamese(circular(3, 4, stride=2)), middle, Siamese(circular(4, 4, stride=2)))
    options = {"symmetry": roll(4), "output_symmetry": roll(1)}
    fails(net, dense(), rf"{ORDER}; it first breaks in '1' \(Cumulate\)", **options)


def test_flattening_is_named_where_shifts_get_lost():
    net = Sequential(Siamese(circular(3, 4)), nn.Flatten(), nn.Linear(32, 3), Classify(3, 2))
    fails(net, dense(), r"first breaks in '1' \(Flatten\)", task="classify", symmetry=roll(3))


def test_a_module_without_parts_is_named_by_its_class():
    fails(Fn(lambda x: x.cumsum(1)), dense(), f"{ORDER}; it first breaks in Fn$")
    fails(lambda x: x.cumsum(1), dense(), f"{ORDER}$")


def test_nearly_zero_outputs_inside_are_not_blamed():
    class Chain(nn.Module):
        def __init__(self):
            super().__init__()
            self.cancel, self.wrong = Fn(noise), Fn(lambda x: x.cumsum(1))

        def forward(self, x):
            return self.wrong(x + self.cancel(x))

    fails(Chain(), dense(), r"first breaks in 'wrong' \(Fn\)")


# Nothing is changed


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


def test_draws_are_repeatable():
    def fn(x):
        return x.cumsum(1)

    x = dense()
    assert equivariance_error(fn, x) == equivariance_error(fn, x)
    found = {equivariance_error(fn, x, trials=1, seed=seed) for seed in range(5)}
    assert len(found) > 1
    assert equivariance_error(fn, x, trials=5) >= equivariance_error(fn, x, trials=1)


# Arguments


def test_wrong_arguments_are_told():
    with pytest.raises(ValueError, match=r"task must be one of \['transform', .*, got 'sort'"):
        assert_equivariant(F.relu, dense(), task="sort")
    with pytest.raises(
        TypeError, match=r"symmetry must be a function or .*group, got 'C4'; .*parse"
    ):
        assert_equivariant(F.relu, dense(), symmetry="C4")
    with pytest.raises(ValueError, match="trials must be at least 1, got 0"):
        assert_equivariant(F.relu, dense(), trials=0)
    with pytest.raises(ValueError, match="x must have at least 2 axes"):
        assert_equivariant(F.relu, torch.zeros(3))
    with pytest.raises(TypeError, match="x must be a tensor or RaggedSets, got list"):
        assert_equivariant(F.relu, [1])
    for out, found in (("x", "str"), ((dense(), 1.0), "float"), ((), r"\(\)"), (None, "NoneType")):
        with pytest.raises(
            TypeError, match=rf"model must return a tensor, .* of them, got {found}$"
        ):
            assert_equivariant(lambda x, out=out: out, dense(), task="classify")
    with pytest.raises(ValueError, match="one row per element, 10, for task 'transform', got 18"):
        assert_equivariant(lambda x: torch.zeros(2, 9), dense())


@pytest.mark.parametrize("net", [DSS(circular(3, 4)), Siamese(nn.Linear(8, 2)), nn.Linear(8, 2)])
def test_functions_around_single_precision_get_advice_that_works(net):
    with pytest.raises(
        TypeError, match=r"^model must take x in float64.* x, net\), and it is conv"
    ):
        assert_equivariant(lambda x: net(x), dense())
    assert_equivariant(lambda x, net: net(x), dense(), net)
    assert_equivariant(net, dense())
    assert {p.dtype for p in net.parameters()} == {torch.float32}


def test_other_errors_of_a_model_are_its_own():
    with pytest.raises(ValueError, match="my own"):
        assert_equivariant(Fn(lambda x: (_ for _ in ()).throw(ValueError("my own"))), dense())


def test_tolerances_are_heeded():
    def fn(x):
        return x + 1e-6 * x.cumsum(1)

    assert_equivariant(fn, dense(), tolerance=1e-3)
    with pytest.raises(AssertionError, match="is above 1e-08"):
        assert_equivariant(fn, dense(), tolerance=1e-8)


def test_roll_moves_the_last_axes():
    x = torch.arange(6).reshape(1, 2, 3)
    assert torch.equal(roll(1)(x), x.roll(1, -1))
    assert torch.equal(roll(1, 2)(x), x.roll((1, 2), (-2, -1)))


def test_an_output_symmetry_must_be_a_function():
    with pytest.raises(TypeError, match="output_symmetry must be a function, got C8"):
        equivariance_error(
            nn.Identity(), dense(), symmetry=roll(1), output_symmetry=groups.Cyclic(8)
        )


def test_draws_do_not_depend_on_the_default_device():
    layer, x = Siamese(circular(3, 4)), dense()
    with torch.device("meta"):
        assert_equivariant(layer, x, symmetry=roll(3))
        assert_equivariant(layer, x, symmetry=groups.Cyclic(8))
        with pytest.raises(AssertionError, match=ORDER):
            assert_equivariant(lambda x: x.cumsum(1), x)

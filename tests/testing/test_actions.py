import pytest
import torch
from torch import nn

from symsets import DSS, RaggedSets, Siamese, Wreath, groups
from symsets.nn import EquivariantLinear
from symsets.testing import assert_equivariant, equivariance_error, roll

ORDER = "the order of the set is not kept"


def dense():
    return torch.randn(2, 5, 3, 8)


def circular(i, o, stride=1):
    return nn.Conv1d(i, o, 3, padding=1, padding_mode="circular", stride=stride)


class Fn(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x, *args):
        return self.fn(x, *args)


@pytest.mark.parametrize("name", ["C8", "S8", "D8"])
def test_groups_draw_their_own_symmetries(name, fails):
    group = groups.parse(name)
    assert_equivariant(Siamese(EquivariantLinear(group, 3, 2)), dense(), symmetry=group)
    fails(DSS(nn.Conv1d(3, 2, 3, padding=1)), dense(), "symmetry of the elements", symmetry=group)


def test_groups_act_on_several_axes(fails):
    group = groups.Translations(2, 4)
    x = torch.randn(2, 3, 2, 2, 4)
    assert_equivariant(DSS(EquivariantLinear(group, 2, 2)), x, symmetry=group)
    fails(Siamese(nn.Conv2d(2, 2, 3, padding=1)), x, "symmetry of the elements", symmetry=group)


def test_a_larger_group_is_not_kept(fails):
    circulant = Siamese(EquivariantLinear(groups.Cyclic(8), 3, 3))
    assert_equivariant(circulant, dense(), symmetry=groups.Cyclic(8))
    fails(circulant, dense(), "symmetry of the elements", symmetry=groups.Symmetric(8))


def test_groups_must_act_on_the_elements():
    with pytest.raises(ValueError, match=r"x must end in the axes \(5,\)"):
        equivariance_error(lambda x: x, dense(), symmetry=groups.Cyclic(5))


def test_strides_move_the_output_by_less(fails):
    model = DSS(circular(3, 4, stride=2))
    assert_equivariant(model, dense(), symmetry=roll(2), output_symmetry=roll(1))
    fails(model, dense(), "symmetry of the elements", symmetry=roll(2))


def test_elements_may_move_on_their_own(fails):
    x = dense()

    def each(rows):
        return torch.stack([row.roll(k, -1) for k, row in enumerate(rows)])

    assert_equivariant(Wreath(circular(3, 4)), x, symmetry=each)
    fails(DSS(circular(3, 4)), x, "symmetry of the elements", symmetry=each)


def test_elements_of_different_sizes(fails):
    clouds = RaggedSets.from_list([[torch.randn(n, 3) for n in (4, 2)], [torch.randn(3, 3)] * 2])
    assert_equivariant(Wreath(Siamese(nn.Linear(3, 2))), clouds)
    fails(Siamese(Fn(lambda x: x.with_elements(x.elements.cumsum(0)))), clouds, ORDER)


def test_rare_breaks_are_found_by_more_trials():
    x = dense().double()

    def fn(y):  # wrong only where the last element of the first set comes first
        return y + (y[0, 0] == x[0, -1]).all()

    assert 0 in {equivariance_error(fn, x, trials=1, seed=seed) for seed in range(5)}
    assert equivariance_error(fn, x, trials=30) > 0.1


def test_draws_are_repeatable():
    def fn(x):
        return x.cumsum(1)

    x = dense()
    assert equivariance_error(fn, x) == equivariance_error(fn, x)
    found = {equivariance_error(fn, x, trials=1, seed=seed) for seed in range(5)}
    assert len(found) > 1
    assert equivariance_error(fn, x, trials=5) >= equivariance_error(fn, x, trials=1)


def test_draws_do_not_depend_on_the_default_device():
    layer, x = Siamese(circular(3, 4)), dense()
    with torch.device("meta"):
        assert_equivariant(layer, x, symmetry=roll(3))
        assert_equivariant(layer, x, symmetry=groups.Cyclic(8))
        with pytest.raises(AssertionError, match=ORDER):
            assert_equivariant(lambda x: x.cumsum(1), x)


@pytest.mark.parametrize("seed", range(12))
def test_no_seed_draws_nothing_but_the_identity(seed):
    def wrong(x):
        return x * torch.arange(2.0)

    pair = torch.ones(1, 2, 3)
    assert equivariance_error(lambda x: x.cumsum(1), pair, seed=seed) > 0.1
    swaps = groups.Symmetric(2)
    assert equivariance_error(wrong, torch.ones(1, 1, 3, 2), symmetry=swaps, seed=seed) > 0.1


@pytest.mark.parametrize("seed", range(12))
def test_all_generators_of_a_group_are_tried(seed):
    x, thirds = torch.randn(1, 1, 2, 3), groups.Symmetric(3)
    assert equivariance_error(lambda x: x.roll(1, -1), x, symmetry=thirds, seed=seed) > 0.1

    rows = torch.tensor([[1.0], [2.0]])  # keeps shifts along the rows, and none across them
    shifts, pictures = groups.Translations(2, 8), torch.randn(1, 1, 2, 2, 8)
    assert equivariance_error(lambda x: x * rows, pictures, symmetry=shifts, seed=seed) > 0.1

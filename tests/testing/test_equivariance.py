import pytest
import torch
import torch.nn.functional as F
from torch import nn

from symsets import DSS, RaggedSets, Sequential
from symsets.nn import Classify, Merge, Select
from symsets.testing import assert_equivariant, equivariance_error, roll

ORDER = "the order of the set is not kept"
ELEMENT = "the symmetry of the elements is not kept"


def dense():
    return torch.randn(2, 5, 3, 8)


def ragged():
    return RaggedSets(torch.randn(7, 3, 8), [3, 0, 1, 3])


def circular(i, o, stride=1):
    return nn.Conv1d(i, o, 3, padding=1, padding_mode="circular", stride=stride)


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
def test_dependence_on_the_order_fails(task, model, fails):
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
def test_breaking_the_symmetry_of_the_elements_alone_fails(task, model, fails):
    assert_equivariant(model, dense(), task=task)
    fails(model, dense(), ELEMENT, task=task, symmetry=roll(3))


def test_breaking_both_fails(fails):
    fails(lambda x: x.cumsum(1).cumsum(-1), dense(), "neither the order", symmetry=roll(3))


def test_breaking_for_ragged_batches_alone_fails(fails):
    def fn(x):
        return x.with_elements(x.elements.cumsum(0)) if isinstance(x, RaggedSets) else 2 * x

    assert_equivariant(fn, dense())
    fails(fn, ragged(), ORDER)


def test_randomness_is_told():
    with pytest.raises(AssertionError, match=r"does not repeat itself .* evaluation mode"):
        assert_equivariant(Sequential(DSS(circular(3, 4)), nn.Dropout()), dense())


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


def test_tolerance_is_the_largest_error_that_passes():
    def fn(x):
        return x + 1e-6 * x.cumsum(1)

    assert_equivariant(fn, dense(), tolerance=1e-3)
    with pytest.raises(AssertionError, match="is above 1e-08"):
        assert_equivariant(fn, dense(), tolerance=1e-8)


def test_roll_moves_the_last_axes():
    x = torch.arange(6).reshape(1, 2, 3)
    assert torch.equal(roll(1)(x), x.roll(1, -1))
    assert torch.equal(roll(1, 2)(x), x.roll((1, 2), (-2, -1)))


class OverAllRows(nn.Module):
    def forward(self, rows):
        return rows.softmax(0)


class OverEarlierSets(nn.Module):
    """Gives each set the sum over those before it, and the first one nothing of others."""

    def forward(self, x):
        return x + x.mean(1, keepdim=True).cumsum(0)


@pytest.mark.parametrize("x", [torch.randn(2, 5, 8), RaggedSets(torch.randn(7, 8), [3, 4])])
def test_what_mixes_the_sets_of_a_batch_is_told(x):
    assert_equivariant(Sequential(DSS(nn.Linear(8, 8)), nn.Softmax(dim=-1)), x)
    with pytest.raises(AssertionError, match=r"changes by .* with the other sets of its batch"):
        assert_equivariant(Sequential(DSS(nn.Linear(8, 8)), OverAllRows()), x)


def test_what_mixes_sets_after_the_first_is_told():
    with pytest.raises(AssertionError, match="with the other sets of its batch"):
        assert_equivariant(OverEarlierSets(), torch.randn(3, 5, 4))


def test_batch_normalisation_may_mix_sets_in_training_only():
    norm = nn.BatchNorm1d(8)
    assert_equivariant(Sequential(DSS(nn.Linear(8, 8)), norm), torch.randn(3, 5, 8))
    mixed = Sequential(norm.eval(), DSS(nn.Linear(8, 8)), OverAllRows())
    with pytest.raises(AssertionError, match="with the other sets of its batch"):
        assert_equivariant(mixed, torch.randn(3, 5, 8))

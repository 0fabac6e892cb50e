import math

import numpy as np
import pytest
import torch
from torch import nn

from symsets import RaggedSets
from symsets.testing import assert_equivariant, equivariance_error, roll

ORDER = "the order of the set is not kept"


def dense():
    return torch.randn(2, 5, 3, 8)


def ragged():
    return RaggedSets(torch.randn(7, 3, 8), [3, 0, 1, 3])


class Fn(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x, *args):
        return self.fn(x, *args)


def mapped(x, fn):
    return x.map(fn) if isinstance(x, RaggedSets) else fn(x)


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
def test_large_inputs_do_not_hide_errors(x, fn, fails):
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


def test_infinite_inputs_hide_no_errors(fails):
    x = dense()
    x[0, 0, 0, 0] = math.inf
    fails(lambda x: x.sigmoid().cumsum(1), x, ORDER)


def test_outputs_may_be_booleans_or_integers(fails):
    x = dense()
    assert_equivariant(lambda x: x > 0, x, symmetry=roll(3))
    assert_equivariant(lambda x: (x > 0).byte(), x, symmetry=roll(3))
    assert_equivariant(lambda x: x & True, x > 0)
    fails(lambda x: x.cumsum(1) > 0, x, ORDER)
    fails(lambda x: (x.cumsum(1) > 0).byte(), x, ORDER)


@pytest.mark.parametrize("x", [dense(), ragged()], ids=["dense", "ragged"])
def test_each_of_several_outputs_is_measured(x, fails):
    def cumulated(x):
        return mapped(x, lambda t: 1e-12 * t.cumsum(0 if isinstance(x, RaggedSets) else 1))

    for put in (lambda *y: y, lambda *y: list(y), lambda a, b: {"a": a, "b": (b,)}):
        assert_equivariant(lambda x, put=put: put(x, mapped(x, torch.abs)), x, symmetry=roll(3))
        fails(lambda x, put=put: put(x, cumulated(mapped(x, torch.abs))), x, ORDER)


def test_outputs_put_together_otherwise_fail():
    x = dense().double()
    first = x[:, 0].clone()
    assert math.inf == equivariance_error(
        lambda x: (x,) if torch.equal(x[:, 0], first) else x, x, trials=5
    )


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_outputs_that_are_not_finite_fail(bad):
    for fn in (lambda x: x * bad, lambda x: torch.where(x == x.max(), bad, x)):
        assert equivariance_error(fn, dense()) == math.inf
        with pytest.raises(AssertionError, match="error inf is above 1e-09"):
            assert_equivariant(fn, dense())


def test_outputs_of_another_shape_fail():
    def fn(x):
        return x.sum(1) if (x[:, 0] == first).all() else x.sum(1, keepdim=True)

    x = dense().double()
    first = x[:, 0]
    assert equivariance_error(fn, x, task="merge") == math.inf

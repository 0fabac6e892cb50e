import pytest
import torch
from torch import nn

from symsets import DSS, Siamese, Wreath, register_scheme, schemes, set_layer
from symsets.nn import SetModule
from symsets.nn.registry import unregister_scheme


def test_a_scheme_of_your_own():
    @register_scheme("twice")
    def build(make, in_channels, out_channels, *, size):
        return Siamese(make(in_channels, out_channels))

    try:
        assert isinstance(set_layer("twice", nn.Linear, 2, 3), Siamese)
        assert "twice" in schemes()
        with pytest.raises(ValueError, match="there is a scheme 'twice' already"):
            register_scheme("twice")(print)
    finally:
        unregister_scheme("twice")
    with pytest.raises(ValueError, match="registered scheme"):
        unregister_scheme("twice")

    def test_a_cell_of_a_notebook_may_run_again():
        cell = """
@register_scheme("mine")
def build(make, in_channels, out_channels, *, size):
    return DSS(make(in_channels, out_channels), pool=pool)
"""
        try:
            for pool in ("max", "mean"):  # the second time changed
                names = {"__name__": "__main__", "DSS": DSS, "pool": pool}
                exec(cell, names | {"register_scheme": register_scheme})
                assert set_layer("mine", nn.Linear, 2, 3).pool == pool
        finally:
            unregister_scheme("mine")


def test_another_function_without_a_name_is_another():
    def made(pool):
        return lambda make, i, o, *, size: DSS(make(i, o), pool=pool)

    register_scheme("mine")(made("max"))
    try:
        with pytest.raises(ValueError, match="there is a scheme 'mine' already"):
            register_scheme("mine")(made("mean"))
    finally:
        unregister_scheme("mine")


@pytest.mark.parametrize("made", [None, nn.Linear(2, 3)])
def test_a_scheme_makes_a_set_layer(made):
    register_scheme("none")(lambda make, in_channels, out_channels, *, size: made)
    try:
        with pytest.raises(TypeError, match=r"scheme 'none' must make a set layer, .* got"):
            set_layer("none", nn.Linear, 2, 3)
    finally:
        unregister_scheme("none")


def test_every_scheme_returns_the_channels_asked_for():
    for scheme in schemes():
        layer = set_layer(scheme, nn.Linear, 3, 8, size=5)
        assert isinstance(layer, SetModule)
        assert layer(torch.randn(2, 5, 3)).shape == (2, 5, 8)
        assert layer(torch.randn(0, 5, 3)).shape == (0, 5, 8)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: set_layer("dss-sun", nn.Linear, 2, 2),
            ValueError,
            r"scheme must be one of \['aittala', .*\] \(or dss-power2, .*\), got 'dss-sun'",
        ),
        (
            lambda: set_layer("aittala", nn.Linear, 2, 3),
            ValueError,
            "out_channels must be even for 'aittala', .* got 3",
        ),
        (lambda: register_scheme("My Scheme"), ValueError, "lower-case words"),
        (lambda: register_scheme("dss-power4")(print), ValueError, "there is a scheme"),
        (lambda: set_layer(["dss-sum"], nn.Linear, 2, 2), ValueError, "scheme must be one of"),
        (
            lambda: set_layer("dss-sum", nn.Linear(2, 2), 2, 2),
            TypeError,
            "takes 2 positional arguments but 3 were given",
        ),
        (
            lambda: set_layer("siamese", nn.Linear, 2, 2, size=0),
            ValueError,
            "size must be positive, got 0",
        ),
        (lambda: register_scheme(None), ValueError, "lower-case words joined by '-', got None"),
    ],
)
def test_wrong_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_numbers_of_channels_are_integers():
    with pytest.raises(TypeError, match="in_channels must be an integer, got '3'"):
        set_layer("dss-sum", nn.Linear, "3", 4)
    with pytest.raises(TypeError, match=r"out_channels must be an integer, got 4\.5"):
        Wreath(nn.Linear(3, 4), out_channels=4.5)

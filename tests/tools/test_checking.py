"""Networks that keep a symmetry, and networks that do not."""

import math

import pytest
import torch
from torch import nn

from symsets import DSS, Sequential
from symsets.tools.checking import check, picture_of, table_of
from symsets.tools.targets import Target


def target(network, *shape):
    network = network.double().eval() if isinstance(network, nn.Module) else network
    return Target(network, torch.randn(shape, dtype=torch.float64))


def layers(padding):
    """Return a network of which the second convolution pads as told."""
    first = nn.Conv1d(3, 4, 3, padding=1, padding_mode="circular")
    return Sequential(
        DSS(first), nn.ReLU(), DSS(nn.Conv1d(4, 4, 3, padding=1, padding_mode=padding))
    )


@pytest.mark.parametrize("symmetry", ["permute:axis=1", "roll", "C16"])
def test_what_is_kept_is_told(symmetry):
    found = check(target(layers("circular"), 2, 5, 3, 16), symmetry)
    assert found.kept == "equivariant"
    assert found.invariant > 0.01 > 1e-9 > found.equivariant
    assert found.breaks is None


def test_the_layer_that_breaks_is_named():
    found = check(target(layers("zeros"), 2, 5, 3, 16), "roll")
    assert found.kept is None
    assert found.breaks == "2.context (Conv1d)"
    by_name = dict(found.layers)
    assert by_name["0 (DSS)"] < 1e-9 < 0.01 < by_name["2 (DSS)"]


def test_invariance_is_told_where_the_output_has_no_such_axis():
    pooled = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, padding_mode="circular"),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 10),
    )
    found = check(target(pooled, 2, 3, 8, 8), "roll")
    assert (found.kept, found.equivariant) == ("invariant", None)
    assert check(target(pooled, 2, 3, 8, 8), "flip").breaks == "0 (Conv2d)"


def test_layers_on_which_the_group_does_not_act_are_not_blamed():
    flat = nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Linear(24, 2))
    found = check(target(flat, 2, 3, 8), "flip")
    assert found.layers[1] == ("1 (Flatten)", None)
    assert found.breaks == "the whole network"


def test_functions_are_checked_without_layers():
    found = check(target(lambda x: x.cumsum(1), 2, 5), "permute:axis=1")
    assert (found.kept, found.layers) == (None, ())
    assert check(target(lambda x: x.sum(1), 2, 5), "permute:axis=1").kept == "invariant"


def test_of_several_outputs_all_must_keep_it():
    assert check(target(lambda x: (x, x * 2), 2, 5), "flip").kept == "equivariant"
    assert check(target(lambda x: (x, x.cumsum(1)), 2, 5), "flip").kept is None
    assert check(target(lambda x: (x, x.sum(1)), 2, 5), "flip").equivariant is None


def test_outputs_that_are_not_finite_are_broken():
    assert check(target(lambda x: x / 0, 2, 5), "flip").invariant == math.inf


def test_a_network_that_draws_random_numbers_is_repeatable():
    assert check(target(lambda x: x + torch.rand(1), 2, 5), "flip").kept == "equivariant"


def test_wrong_inputs_and_outputs_are_named():
    with pytest.raises(ValueError, match=r"must take an input of shape \(2, 5\) in float64"):
        check(target(nn.Linear(3, 4), 2, 5), "flip")
    with pytest.raises(ValueError, match="must return tensors, got 3"):
        check(target(lambda x: 3, 2, 5), "flip")


def test_tables_and_pictures_tell_each_symmetry(tmp_path):
    given = target(layers("zeros"), 2, 5, 3, 16)
    found = [check(given, one) for one in ("permute:axis=1", "roll")]
    words = [[cell.text for cell in row] for row in table_of(found).rows]
    assert [(row[0], row[-1]) for row in words] == [
        ("permute:axis=1", "equivariant"),
        ("roll", "broken"),
    ]
    picture = picture_of(found, "layers")
    [axis] = picture.figure.axes
    labels = [label.get_text() for label in axis.get_yticklabels()]
    assert labels == [name for name, _ in found[0].layers]
    assert picture.save_png(tmp_path).is_file()

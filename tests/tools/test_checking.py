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


def kept(found):
    return [output.kept for output in found.outputs]


def layers(padding):
    """Return a network of which the second convolution pads as told."""
    first = nn.Conv1d(3, 4, 3, padding=1, padding_mode="circular")
    return Sequential(
        DSS(first), nn.ReLU(), DSS(nn.Conv1d(4, 4, 3, padding=1, padding_mode=padding))
    )


@pytest.mark.parametrize("symmetry", ["permute:axis=1", "roll", "C16"])
def test_what_is_kept_is_told(symmetry):
    found = check(target(layers("circular"), 2, 5, 3, 16), symmetry)
    [output] = found.outputs
    assert output.kept == "equivariant"
    assert output.invariant > 0.01 > 1e-9 > output.equivariant
    assert found.breaks is None


def test_the_layer_that_breaks_is_named():
    found = check(target(layers("zeros"), 2, 5, 3, 16), "roll")
    assert not found.kept
    assert found.breaks == "in 2.context (Conv1d)"
    by_name = dict(found.layers)
    assert by_name["0 (DSS)"] < 1e-9 < 0.01 < by_name["2 (DSS)"]


def test_invariance_is_told_where_the_output_has_no_such_axis():
    pooled = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, padding_mode="circular"),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 10),
    )
    [output] = check(target(pooled, 2, 3, 8, 8), "roll").outputs
    assert (output.kept, output.equivariant) == ("invariant", None)
    assert check(target(pooled, 2, 3, 8, 8), "flip").breaks == "in 0 (Conv2d)"


def test_layers_on_which_the_group_does_not_act_are_not_blamed():
    flat = nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Linear(24, 2))
    found = check(target(flat, 2, 3, 8), "flip")
    assert found.layers[1] == ("1 (Flatten)", None)
    assert found.breaks == "in the whole network"


def test_functions_are_checked_without_layers():
    found = check(target(lambda x: x.cumsum(1), 2, 5), "permute:axis=1")
    assert (kept(found), found.layers) == ([None], ())
    assert kept(check(target(lambda x: x.sum(1), 2, 5), "permute:axis=1")) == ["invariant"]


def test_of_several_outputs_each_may_keep_it_in_its_own_way():
    found = check(target(lambda x: (x, x.sum(1)), 2, 5), "flip")
    assert (kept(found), found.kept) == (["equivariant", "invariant"], True)
    rows = [row[0].text for row in table_of([found]).rows]
    assert rows == ["flip, output 1", "flip, output 2"]


def test_of_several_outputs_all_must_keep_it():
    found = check(target(lambda x: (x, x.cumsum(1)), 2, 5), "flip")
    assert (kept(found), found.kept) == (["equivariant", None], False)


class Position(nn.Module):
    """Adds a number that belongs to the place of an element between two layers that keep it."""

    def __init__(self):
        super().__init__()
        self.embed, self.norm = nn.Linear(3, 8), nn.LayerNorm(8)
        self.position = nn.Parameter(torch.randn(5, 8))

    def forward(self, x):
        return self.norm(self.embed(x) + self.position)


def test_what_breaks_between_two_layers_is_blamed_on_neither():
    found = check(target(Position(), 2, 5, 3), "permute:axis=1")
    assert found.breaks == "before norm (LayerNorm)"


def test_an_input_that_is_not_finite_is_refused():
    wrong = Target(lambda x: x, torch.full((2, 5), torch.nan))
    with pytest.raises(ValueError, match="input of the network must be finite"):
        check(wrong, "flip")


def test_outputs_that_are_not_finite_are_broken():
    assert check(target(lambda x: x / 0, 2, 5), "flip").outputs[0].invariant == math.inf


def test_a_network_that_draws_random_numbers_is_repeatable():
    assert kept(check(target(lambda x: x + torch.rand(1), 2, 5), "flip")) == ["equivariant"]


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

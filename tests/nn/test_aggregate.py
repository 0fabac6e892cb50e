import pytest
import torch
from torch import nn

from symsets import ConcatPool, RaggedSets, RemoveMean


@pytest.mark.parametrize("pool", ["max", "sum"])
def test_the_layers_follow_their_formulas(pool):
    element, x = nn.Conv1d(3, 4, 3), torch.randn(2, 5, 3, 8)
    y = element(x.flatten(0, 1)).unflatten(0, (2, 5))
    summary = y.amax(1, keepdim=True) if pool == "max" else y.sum(1, keepdim=True)
    expected = torch.cat([y, summary.expand_as(y)], dim=2)
    ragged = RaggedSets(x.flatten(0, 1), [5, 5])
    for layer, out in (
        (ConcatPool(element, pool=pool), expected),
        (RemoveMean(element), y - y.mean(1, keepdim=True)),
    ):
        torch.testing.assert_close(layer(x), out)
        torch.testing.assert_close(layer(ragged).elements, out.flatten(0, 1))


@pytest.mark.parametrize(
    ("layer", "formula"),
    [
        (ConcatPool(nn.Linear(1, 1)), "[element(x_i), max_j element(x_j)]"),
        (RemoveMean(nn.Linear(1, 1)), "element(x_i) - mean_j element(x_j)"),
    ],
)
def test_repr_shows_the_formula(layer, formula):
    assert formula in repr(layer)


def test_the_channels_of_a_linear_map_are_last():
    layer, x = ConcatPool(nn.Linear(3, 8)), torch.randn(2, 5, 6, 3)
    assert layer(x).shape == (2, 5, 6, 16)
    ragged = layer(RaggedSets(x.flatten(0, 1), [5, 5])).elements
    assert ragged.unflatten(0, (2, 5)).allclose(layer(x))

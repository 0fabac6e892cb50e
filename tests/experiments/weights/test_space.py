"""Weights as vectors, and how reordering neurons moves them."""

import pytest
import torch

from symsets.experiments.weights.fitting import draw, random_start
from symsets.experiments.weights.space import WIDTHS, WeightSpace

SPACES = [(2, 32, 32, 1), (3, 5, 1), (2, 4, 6, 5, 3)]


@pytest.mark.parametrize("widths", SPACES)
def test_split_and_join_are_inverse(widths):
    space = WeightSpace(widths)
    x = torch.randn(4, 2, space.size)
    weights, biases = space.split(x)
    assert [w.shape[2:] for w in weights] == space.shapes
    assert [b.shape[2] for b in biases] == list(widths[1:])
    assert torch.equal(space.join(weights, biases), x)


@pytest.mark.parametrize("widths", SPACES)
def test_reordering_neurons_changes_nothing_that_a_network_computes(widths):
    space = WeightSpace(widths)
    x = random_start(space, 3, seed=0).double()
    points = torch.randn(7, widths[0], dtype=torch.float64)
    moved = space.reorder(x, space.random_orders(x))
    assert not torch.allclose(moved, x)
    torch.testing.assert_close(draw(space, moved, points), draw(space, x, points))


@pytest.mark.parametrize("widths", SPACES)
def test_the_group_moves_weights_as_reordering_does(widths):
    space = WeightSpace(widths)
    assert space.group.shape == (space.size,)
    x = random_start(space, 1, seed=0).double()
    points = torch.randn(7, widths[0], dtype=torch.float64)
    moved = space.group.act(x, space.group.group.random_element())
    assert not torch.allclose(moved, x)
    torch.testing.assert_close(draw(space, moved, points), draw(space, x, points))


def test_orders_are_drawn_for_every_network_and_fixed_by_a_generator():
    space, x = WeightSpace(WIDTHS), torch.zeros(5, 1185)
    one, other = (space.random_orders(x, torch.Generator().manual_seed(3)) for _ in range(2))
    assert all(map(torch.equal, one, other))
    assert [order.shape for order in one] == [(5, 32), (5, 32)]
    assert len(one[0].unique(dim=0)) == 5


@pytest.mark.parametrize("widths", [(2, 1), (2, 0, 1)])
def test_widths_that_are_no_network_are_refused(widths):
    with pytest.raises(ValueError, match="widths must"):
        WeightSpace(widths)

"""Networks beside the one in which weights act."""

import torch

from symsets.experiments.weights.baselines import Reorder, deep_sets, dws
from symsets.experiments.weights.fitting import draw
from symsets.experiments.weights.space import WeightSpace
from symsets.nn import EquivariantLinear

SPACE = WeightSpace((2, 6, 5, 1))


def test_reordering_is_for_training():
    x, layer = torch.randn(4, 1, SPACE.size, dtype=torch.float64), Reorder(SPACE)
    assert torch.equal(layer.eval()(x), x)
    moved = layer.train()(x)
    assert not torch.equal(moved, x)
    points = torch.randn(5, 2, dtype=torch.float64)
    drawn = [draw(SPACE, one.squeeze(1), points) for one in (x, moved)]
    torch.testing.assert_close(*drawn)


def test_weight_space_layers_are_the_most_general_ones():
    layers = [m for m in dws(SPACE, 3, 8).modules() if isinstance(m, EquivariantLinear)]
    assert [(layer.in_channels, layer.out_channels) for layer in layers] == [(1, 8), (8, 8), (8, 8)]
    assert all(str(layer.group) == str(SPACE.group) for layer in layers)


def test_deep_sets_know_the_part_of_a_weight_but_not_its_place():
    torch.manual_seed(0)
    net = deep_sets(SPACE, 3, 8).double().eval()
    x = torch.randn(2, 1, SPACE.size, dtype=torch.float64)
    within, across = torch.arange(SPACE.size), torch.arange(SPACE.size)
    within[[12, 20]] = within[[20, 12]]  # two weights of the second matrix
    across[[0, 20]] = across[[20, 0]]  # of two matrices
    torch.testing.assert_close(net(x[..., within]), net(x), rtol=0, atol=1e-9)
    assert not torch.allclose(net(x[..., across]), net(x), atol=1e-4)

"""The layer in which weights act on features of neurons."""

import torch

from symsets.experiments.weights.action import WeightAction


def inputs(batch=2, n=5, m=4, channels=3):
    generator = torch.Generator().manual_seed(0)
    shapes = (batch, n, channels), (batch, n, m), (batch, m)
    return [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]


def test_the_layer_is_the_formula():
    layer, (h, weight, bias) = WeightAction(3, 8).double(), inputs()
    y = layer(h, weight, bias)
    assert y.shape == (2, 4, 8)
    for b in range(4):
        acted = sum(weight[1, a, b] * h[1, a] for a in range(5)) / 5**0.5
        torch.testing.assert_close(y[1, b], acted @ layer.mix + bias[1, b] * layer.bias)


def test_reordering_and_flipping_neurons_moves_the_output_with_them():
    layer, (h, weight, bias) = WeightAction(3, 8).double(), inputs()
    a, b = torch.tensor([3, 0, 4, 1, 2]), torch.tensor([2, 3, 1, 0])
    moved = layer(h[:, a], weight[:, a][:, :, b], bias[:, b])
    torch.testing.assert_close(moved, layer(h, weight, bias)[:, b], rtol=0, atol=1e-9)
    s, t = torch.tensor([1.0, -1, -1, 1, -1]).double(), torch.tensor([-1.0, 1, -1, 1]).double()
    flipped = layer(h * s[:, None], weight * s[:, None] * t, bias * t)
    torch.testing.assert_close(flipped, layer(h, weight, bias) * t[:, None], rtol=0, atol=1e-9)


def test_one_layer_takes_any_numbers_of_neurons():
    layer = WeightAction(3, 8).double()
    assert layer(*inputs(batch=1, n=1, m=1)).shape == (1, 1, 8)
    assert layer(*inputs(n=9, m=7)).shape == (2, 7, 8)
    assert str(layer) == "WeightAction(3 → 8, A Σ_a W_ab h_a / √n + β c_b)"


def test_gradients_are_right():
    layer = WeightAction(3, 2).double()
    assert torch.autograd.gradcheck(layer, [x.requires_grad_() for x in inputs()])

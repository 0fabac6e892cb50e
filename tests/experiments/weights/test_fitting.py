"""Sine networks that are fitted to pictures."""

import math

import torch

from symsets.experiments.weights import fitting
from symsets.experiments.weights.fitting import (
    OMEGA,
    draw,
    fit_networks,
    pixel_places,
    random_start,
    start_scale,
)
from symsets.experiments.weights.space import WeightSpace

SPACE = WeightSpace((2, 8, 8, 1))


def pictures(num, size=5):
    return 2 * torch.rand(num, size, size, generator=torch.Generator().manual_seed(1)) - 1


def test_a_network_is_the_formula():
    x, points = random_start(SPACE, 2, seed=0), torch.randn(3, 2)
    (first, second, third), (a, b, c) = SPACE.split(x[1])
    h = torch.sin(OMEGA * (points @ first + a))
    expected = torch.sin(OMEGA * (h @ second + b)) @ third + c
    torch.testing.assert_close(draw(SPACE, x, points)[1], expected)


def test_starts_have_the_published_scale_and_are_fixed_by_their_seed():
    x = random_start(SPACE, 2000, seed=0)
    weights, biases = SPACE.split(x)
    for parts in (weights, biases):
        assert 0.49 < parts[0].abs().max() <= 0.5
        assert parts[1].abs().max() <= math.sqrt(6 / 8) / OMEGA
    torch.testing.assert_close(x.std(0), start_scale(SPACE), rtol=0.1, atol=0)
    assert torch.equal(random_start(SPACE, 2000, seed=0), x)
    assert not torch.equal(random_start(SPACE, 2000, seed=1), x)


def test_places_are_the_middles_of_pixels_row_by_row():
    expected = [[-0.5, -2 / 3], [-0.5, 0], [-0.5, 2 / 3], [0.5, -2 / 3], [0.5, 0], [0.5, 2 / 3]]
    torch.testing.assert_close(pixel_places(2, 3), torch.tensor(expected))


def test_fitted_networks_draw_their_own_pictures():
    target = pictures(3)
    fitted = fit_networks(SPACE, random_start(SPACE, 3, seed=0), target, steps=400)
    drawn = draw(SPACE, fitted, pixel_places(5, 5)).reshape(3, 5, 5)
    assert ((drawn - target).square().mean((1, 2)) < 0.02).all()


def test_networks_that_are_fitted_together_do_not_meet(monkeypatch):
    start, target = random_start(SPACE, 5, seed=0), pictures(5)
    together = fit_networks(SPACE, start, target, steps=5)
    assert torch.equal(fit_networks(SPACE, start, target, steps=5), together)
    monkeypatch.setitem(fitting.AT_ONCE, "cpu", 2)
    alone = fit_networks(SPACE, start, target, steps=5)
    torch.testing.assert_close(alone, together, rtol=1e-4, atol=1e-4)

import torch

from symsets.experiments.synthetic.random import Draws, make_keys, uniform


def test_random_numbers_are_even_and_independent():
    u = uniform(make_keys(range(2000)), 50)
    assert u.min() >= 0
    assert u.max() < 1
    counts = torch.histc(u, 20, 0, 1) / u.numel()
    assert (counts - 0.05).abs().max() < 0.003  # four standard deviations
    assert (torch.corrcoef(u.T) - torch.eye(50)).abs().max() < 0.12
    draws = Draws(make_keys(range(2000)))
    assert (draws.uniform() - draws.uniform()).abs().mean() > 0.3
    assert draws.choice(3).bincount().min() > 500
    assert 0.2 < draws.chance(0.25).float().mean() < 0.3

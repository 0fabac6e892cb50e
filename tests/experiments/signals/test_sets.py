import pytest
import torch

from symsets.experiments.signals.sets import CLASSES, Signals


def test_data_are_fixed_by_their_seed():
    a, b = (Signals(seed=4).make("train", 50) for _ in range(2))
    assert torch.equal(a.x, b.x)
    assert not torch.equal(a.x, Signals(seed=5).make("train", 50).x)


def test_more_sets_leave_the_first_ones_as_they_were():
    few, many = Signals().make("train", 30), Signals().make("train", 1200)
    assert torch.equal(few.x, many.x[:30])
    assert torch.equal(few.y, many.y[:30])


def test_splits_are_disjoint():
    splits = [Signals().make(split, 200).x.flatten(1) for split in ("train", "val", "test")]
    assert len(torch.cat(splits).unique(dim=0)) == 600
    # splits of neighbouring seeds do not meet either
    assert not torch.equal(Signals(seed=0).make("val", 5).x, Signals(seed=1).make("train", 5).x)


def test_without_noise_all_copies_are_one_periodic_wave():
    sets = Signals(num_elements=3, length=200, noise=0.0).make("train", 500)
    x = sets.x[:, :, 0]
    assert torch.equal(x[:, 0], x[:, 2])
    x = x[:, 0]
    offset = (x.amax(1) + x.amin(1)) / 2
    amplitude = (x.amax(1) - x.amin(1)) / 2
    assert -6 < offset.min() < -4
    assert 9 < amplitude.max() < 10.01
    square = sets.y == CLASSES.index("square")
    levels = ((x - offset[:, None]) / amplitude[:, None])[square]
    torch.testing.assert_close(levels.abs(), torch.ones_like(levels), rtol=0, atol=1e-4)
    sine = sets.y == CLASSES.index("sine")
    power = ((x - offset[:, None]) / amplitude[:, None]).square().mean(1)
    assert abs(power[sine].mean() - 0.5) < 0.05


def test_noise_is_three_amplitudes_and_independent():
    sets = Signals().make("train", 300)
    amplitude = sets.x.var(1).mean((1, 2)).sqrt() / 3
    assert 0.9 < amplitude.min() < 1.5
    assert 9 < amplitude.max() < 10.5
    residual = sets.x - sets.x.mean(1, keepdim=True)
    neighbours = (residual[:, 0] * residual[:, 1]).mean() / residual[:, 0].square().mean()
    assert abs(neighbours) < 0.1


def test_classes_are_uniform():
    counts = Signals(num_elements=1, length=2).make("train", 6000).y.bincount(minlength=3)
    assert (counts - 2000).abs().max() < 150


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"split must be one of \['train', 'val', 'test'\]"):
        Signals().make("valid", 3)
    with pytest.raises(ValueError, match="num must be at least 1, got 0"):
        Signals().make("train", 0)
    with pytest.raises(ValueError, match=r"num must be in 1\.\.3, got 4"):
        Signals().make("val", 3).first(4)

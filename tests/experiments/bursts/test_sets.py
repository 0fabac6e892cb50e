import pytest
import torch

from symsets.data.degrading import RADIUS
from symsets.experiments.bursts import sets as bursts
from symsets.experiments.bursts.sets import BurstSets, median


def photographs(num=3, size=32):
    return torch.randint(256, (num, 3, size, size), dtype=torch.uint8)


def test_a_still_camera_without_noise_shows_the_shifted_scene(monkeypatch):
    def shift(shape, shake, uniform, normal):
        k = torch.zeros(*shape, 2 * RADIUS + 1, 2 * RADIUS + 1)
        k[:, 0, RADIUS, RADIUS] = 1
        k[:, 1, RADIUS + 2, RADIUS - 1] = 1
        return k

    monkeypatch.setattr(bursts, "shake_kernels", shift)
    images = photographs()
    x, y = BurstSets(images, 3, num_elements=2, size=32, noise=0.0).part(0, 3)
    torch.testing.assert_close(y, images / 127.5 - 1)
    torch.testing.assert_close(x[:, 0], y, atol=1e-5, rtol=0)
    expected = y.roll((2, -1), (-2, -1))[..., 2:, :-1]
    torch.testing.assert_close(x[:, 1][..., 2:, :-1], expected, atol=1e-5, rtol=0)


def test_noise_is_that_of_the_burst_and_values_are_clipped(monkeypatch):
    grey = torch.full((1, 3, 24, 24), 128, dtype=torch.uint8)
    x, y = BurstSets(grey, 256, size=24, noise=20.0).part(0, 256)
    levels = 127.5 * (x - y[:, None]).double()
    strength = levels.flatten(2).std(2)  # (256, 5)
    # of n numbers, a standard deviation is known to 1 / sqrt(2 n)
    assert ((strength / strength.mean(1, keepdim=True) - 1).abs() < 0.1).all()
    burst = strength.mean(1)
    assert 0 <= burst.min() < 1
    assert 19 < burst.max() < 20.5
    assert abs(burst.mean() - 10) < 1.6
    white = torch.full((1, 3, 24, 24), 255, dtype=torch.uint8)
    assert BurstSets(white, 8, size=24).part(0, 8)[0].max() == 1


def test_scenes_are_mirrored_in_training_only_and_targets_with_them():
    images = photographs(num=1, size=24)
    sets = BurstSets(images, 40, size=24, noise=0.0, shake=0.0, num_elements=3)
    clean = images[0] / 127.5 - 1
    x, y = sets.batch(torch.arange(40))
    mirrored = (y == clean.flip(-1)).flatten(1).all(1)
    assert ((y == clean).flatten(1).all(1) ^ mirrored).all()
    assert 8 <= mirrored.sum() <= 32
    middle = slice(8, 16)
    for flip in (False, True):  # without shake, shots are near their target, not its mirror
        some = mirrored == flip
        near = (x - y[:, None])[some][..., middle, middle].abs().mean()
        far = (x - y.flip(-1)[:, None])[some][..., middle, middle].abs().mean()
        assert near < far
    assert torch.equal(sets.part(0, 40)[1], clean.expand(40, -1, -1, -1))


def test_the_median_is_that_of_every_pixel():
    x = torch.randn(2, 5, 3, 4, 4)
    assert torch.equal(median(x), x.sort(1).values[:, 2])


def test_the_median_removes_noise_but_not_shake():
    grey = torch.full((1, 3, 24, 24), 100, dtype=torch.uint8)
    x, y = BurstSets(grey, 8, size=24).part(0, 8)
    assert (median(x) - y).abs().mean() < 0.7 * (x - y[:, None]).abs().mean()


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"crop must be in 1\.\.32, got 128"):
        BurstSets(photographs(), 5).part(0, 1)

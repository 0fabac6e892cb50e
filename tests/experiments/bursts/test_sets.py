import pytest
import torch
import torch.nn.functional as F
from scipy.ndimage import convolve

from symsets.experiments.bursts import sets as bursts
from symsets.experiments.bursts.sets import RADIUS, BurstSets, median, shake_kernels


def photographs(num=3, size=32):
    return torch.randint(256, (num, 3, size, size), dtype=torch.uint8)


def kernels(*shape, shake=28.0, dtype=torch.float64):
    def uniform(*sizes):
        return torch.rand(sizes, dtype=dtype)

    def normal(*sizes):
        return torch.randn(sizes, dtype=dtype)

    return shake_kernels(shape, shake, uniform, normal)


def test_kernels_are_shares_of_time():
    k = kernels(40, 5)
    assert k.shape == (40, 5, 2 * RADIUS + 1, 2 * RADIUS + 1)
    assert k.min() >= 0
    torch.testing.assert_close(k.sum((-2, -1)), torch.ones(40, 5, dtype=k.dtype))


def moments(k):
    """Return the centre ``(…, 2)`` and the mean squared distance from it ``(…)``."""
    grid = torch.arange(-RADIUS, RADIUS + 1, dtype=k.dtype)
    centre = torch.stack([k.sum(-1) @ grid, k.sum(-2) @ grid], dim=-1)
    square = k.sum(-1) @ grid.square() + k.sum(-2) @ grid.square()
    return centre, square - centre.square().sum(-1)


def test_kernels_are_not_centred_and_shots_of_a_burst_differ():
    centre, _ = moments(kernels(400, 5))
    offset = centre.norm(dim=-1)
    assert 4.5 < offset.mean() < 6.5
    assert (offset > 0.5).double().mean() > 0.9
    assert centre.mean((0, 1)).abs().max() < 0.4  # in no direction more than in others
    assert abs(centre[..., 0].std() - centre[..., 1].std()) < 0.4
    between = (centre - centre.mean(1, keepdim=True)).norm(dim=-1)
    assert between.mean() > 1


def test_every_path_begins_where_the_target_is():
    k = kernels(400)
    assert k[:, RADIUS, RADIUS].min() > 0.9 / bursts.POINTS  # where it was when it set off
    still = kernels(50, shake=0.0)
    torch.testing.assert_close(still[:, RADIUS, RADIUS], torch.ones(50, dtype=k.dtype))


def test_longer_paths_blur_more():
    _, long = moments(kernels(300))
    _, short = moments(kernels(300, shake=5.0))
    assert long.mean() > 3 * short.mean()
    assert long.sqrt().max() < 28 / 2 + 1


def test_paths_that_would_leave_stay_at_the_border():
    k = kernels(50, shake=500.0)
    assert k.isfinite().all()
    torch.testing.assert_close(k.sum((-2, -1)), torch.ones(50, dtype=k.dtype))
    border = 1 - k[..., 1:-1, 1:-1].sum((-2, -1))
    assert border.mean() > 0.2


def test_blur_is_a_convolution_with_mirrored_borders():
    scene, k = torch.randn(2, 1, 3, 24, 24, dtype=torch.float64), kernels(2, 4)
    ours = bursts.blur(scene, k)
    assert ours.shape == (2, 4, 3, 24, 24)
    for b in range(2):
        for n in range(4):
            for c in range(3):
                picture, kernel = scene[b, 0, c].numpy(), k[b, n].numpy()
                expected = torch.as_tensor(convolve(picture, kernel, mode="mirror"))
                torch.testing.assert_close(ours[b, n, c], expected, rtol=1e-9, atol=1e-9)


def test_blur_agrees_with_a_direct_convolution_of_torch():
    scene, k = torch.randn(1, 1, 3, 16, 16, dtype=torch.float64), kernels(1, 2)
    padded = F.pad(scene[0], [RADIUS] * 4, mode="reflect")  # (1, 3, 46, 46)
    for n in range(2):
        weight = k[0, n].flip(-1, -2).expand(3, 1, -1, -1)  # conv2d correlates
        expected = F.conv2d(padded, weight, groups=3)
        torch.testing.assert_close(bursts.blur(scene, k)[:, n], expected, rtol=1e-9, atol=1e-9)


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

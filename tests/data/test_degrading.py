"""What cameras do to pictures, against scipy, torch and Pillow."""

import io
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image
from scipy.ndimage import affine_transform, convolve, gaussian_filter

from symsets.data.degrading import (
    POINTS,
    RADIUS,
    blur,
    disc_kernels,
    gaussian_kernels,
    grey,
    jpeg,
    move,
    sensor_noise,
    shake_kernels,
)


def kernels(*shape, shake=28.0, dtype=torch.float64, centred=False):
    def uniform(*sizes):
        return torch.rand(sizes, dtype=dtype)

    def normal(*sizes):
        return torch.randn(sizes, dtype=dtype)

    return shake_kernels(shape, shake, uniform, normal, centred=centred)


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
    assert k[:, RADIUS, RADIUS].min() > 0.9 / POINTS  # where it was when it set off
    still = kernels(50, shake=0.0)
    torch.testing.assert_close(still[:, RADIUS, RADIUS], torch.ones(50, dtype=k.dtype))


def test_centred_kernels_blur_pictures_where_they_are():
    k = kernels(200, shake=20.0, centred=True)
    centre, square = moments(k)
    assert centre.norm(dim=-1).max() < 1e-6
    assert square.sqrt().mean() > 2


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
    ours = blur(scene, k)
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
        torch.testing.assert_close(blur(scene, k)[:, n], expected, rtol=1e-9, atol=1e-9)


def smooth(size, channels=1):
    """Return a smooth picture ``(1, C, size, size)``, which interpolation hardly changes."""
    torch.manual_seed(0)
    noise = torch.randn(channels, size, size, dtype=torch.float64).numpy()
    return torch.as_tensor(np.stack([gaussian_filter(layer, 5) for layer in noise]))[None]


@pytest.mark.parametrize("size", [32, 33])
def test_a_moved_camera_sees_what_scipy_interpolates(size):
    picture = smooth(64)
    shift, angle = torch.tensor([[2.5, -1.25]], dtype=torch.float64), 0.2
    ours = move(picture, shift, torch.tensor([angle], dtype=torch.float64), size)[0, 0]
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    middle = np.full(2, (64 - size) // 2 + (size - 1) / 2)
    offset = middle + shift[0].numpy() - turn @ np.full(2, (size - 1) / 2)
    expected = affine_transform(picture[0, 0].numpy(), turn, offset, (size, size), order=3)
    torch.testing.assert_close(ours, torch.as_tensor(expected), atol=2e-3, rtol=0)


def test_gaussian_kernels_are_those_of_scipy_and_none_for_zero():
    point = np.zeros((2 * RADIUS + 1, 2 * RADIUS + 1))
    point[RADIUS, RADIUS] = 1
    ours = gaussian_kernels(torch.tensor([0.0, 0.7, 2.0], dtype=torch.float64))
    assert torch.equal(ours[0], torch.as_tensor(point))
    for kernel, sigma in zip(ours[1:], (0.7, 2.0), strict=True):
        expected = gaussian_filter(point, sigma, radius=RADIUS)
        torch.testing.assert_close(kernel, torch.as_tensor(expected), atol=1e-9, rtol=0)


def test_discs_have_the_area_and_the_width_of_their_radius():
    radius = torch.tensor([0.0, 1.5, 4.0, 6.5], dtype=torch.float64)
    discs = disc_kernels(radius)
    point = torch.zeros_like(discs[0])
    point[RADIUS, RADIUS] = 1
    assert torch.equal(discs[0], point)
    torch.testing.assert_close(discs.sum((-2, -1)), torch.ones_like(radius))
    area = 1 / discs[1:].amax((-2, -1))  # of a disc that is as high everywhere
    torch.testing.assert_close(area, math.pi * radius[1:].square(), rtol=0.08, atol=0)
    _, square = moments(discs[1:])  # that of a disc is half of its squared radius
    torch.testing.assert_close(square, radius[1:].square() / 2, rtol=0.1, atol=0)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_noise_grows_with_brightness_by_its_share(share):
    x = torch.tensor([0.0, 0.25, 1.0], dtype=torch.float64)[:, None].expand(-1, 40_000)
    noise = sensor_noise(x, torch.tensor(0.1), torch.tensor(share), lambda *s: torch.randn(s)) - x
    expected = 0.01 * (share * x[:, 0] + 1 - share)
    torch.testing.assert_close(noise.var(1), expected, rtol=0.05, atol=1e-9)
    assert noise.mean(1).abs().max() < 0.003


@pytest.mark.parametrize("alike", [0.0, 0.4, 1.0])
def test_noise_of_colours_is_as_alike_as_asked_for(alike):
    x = torch.full((3, 200, 200), 0.5, dtype=torch.float64)
    given = torch.tensor(0.1), torch.tensor(0.0), lambda *s: torch.randn(s, dtype=x.dtype)
    noise = sensor_noise(x, *given, torch.tensor(alike)) - x
    assert noise.std() == pytest.approx(0.1, rel=0.05)
    assert torch.corrcoef(noise.flatten(1))[0, 1].item() == pytest.approx(alike, abs=0.02)


def test_grey_pictures_have_the_brightness_of_pillow():
    levels = torch.randint(256, (3, 8, 8), dtype=torch.uint8)
    expected = np.array(Image.fromarray(levels.permute(1, 2, 0).numpy()).convert("L"))
    ours = grey(levels / 255)
    assert torch.equal(ours[0], ours[2])
    torch.testing.assert_close(255 * ours[0], torch.tensor(expected).float(), atol=0.51, rtol=0)


def test_blur_takes_a_scene_for_each_element():
    scenes, k = torch.randn(2, 3, 1, 24, 24, dtype=torch.float64), kernels(2, 3)
    one_by_one = torch.cat([blur(scenes[:, n : n + 1], k[:, n : n + 1]) for n in range(3)], 1)
    torch.testing.assert_close(blur(scenes, k), one_by_one)


@pytest.mark.parametrize("quality", [10, 40, 50, 75, 95])
def test_jpeg_loses_what_pillow_loses(quality):
    levels = (127 + 60 * smooth(64, 3)[0] / smooth(64, 3).std()).clamp(0, 255).byte()
    stream = io.BytesIO()
    picture = Image.fromarray(levels.permute(1, 2, 0).numpy())
    picture.save(stream, "JPEG", quality=quality, subsampling=0)
    expected = torch.tensor(np.array(Image.open(stream))).permute(2, 0, 1) / 255
    # Other pictures of the batch have other qualities.
    both = jpeg((levels / 255).expand(2, -1, -1, -1), torch.tensor([float(quality), 100.0]))
    lost = (expected - levels / 255).square().mean().sqrt()
    assert (both[0] - expected).square().mean().sqrt() < 0.3 * lost + 2 / 255
    assert (both[1] - levels / 255).abs().max() < 3 / 255


@pytest.mark.parametrize("quality", [60, 90])
def test_jpeg_halves_colours_as_pillow_does(quality):
    levels = (127 + 40 * torch.randn(3, 64, 64, dtype=torch.float64)).clamp(0, 255).byte()
    stream = io.BytesIO()
    picture = Image.fromarray(levels.permute(1, 2, 0).numpy())
    picture.save(stream, "JPEG", quality=quality, subsampling=2)
    expected = torch.tensor(np.array(Image.open(stream))).permute(2, 0, 1) / 255
    given = (levels / 255).expand(2, -1, -1, -1), torch.full((2,), float(quality))
    halved, whole = jpeg(*given, torch.tensor([True, False]))
    assert torch.equal(whole, jpeg(*given)[0])
    lost = (expected - levels / 255).square().mean().sqrt()
    assert (halved - expected).square().mean().sqrt() < 0.4 * lost
    assert (whole - expected).square().mean().sqrt() > 0.7 * lost  # all colours are noise here

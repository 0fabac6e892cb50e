"""Alignment finds where shots lie: to a small part of a pixel, in bad light to less than one."""

import math

import pytest
import torch
from scipy.ndimage import gaussian_filter

from symsets.data.degrading import move
from symsets.tools.aligning import ALIKE, align, other_scenes, sample


def scene(size=240, channels=3, seed=0):
    """Return a picture with detail of all sizes, as photographs have it."""
    noise = torch.randn(channels, size, size, generator=torch.Generator().manual_seed(seed))
    layers = [
        torch.as_tensor(gaussian_filter(noise.roll(k).numpy(), (0, width, width))) * width**1.5
        for k, width in enumerate((1, 2, 4, 8, 16))
    ]
    picture = sum(layers)
    return 0.5 + 0.2 * (picture - picture.mean()) / picture.std()


def burst(shift, turn, *, noise=0, gain=0.0, num=5, size=160, channels=3):
    """Return shots, and where each looked: shifts in pixels, angles in radians."""
    unit = 2 * torch.rand(num, 3) - 1
    unit[0] = 0
    shifts, angles = shift * unit[:, :2], math.radians(turn) * unit[:, 2]
    x = move(scene(channels=channels).expand(num, -1, -1, -1), shifts, angles, size)
    brightness = 1 + gain * torch.linspace(-1, 1, num)[:, None, None, None]
    x = brightness * x + noise / 255 * torch.randn(x.shape)
    return x.clamp(0, 1), shifts, angles


def errors(maps, shifts, angles, height, width):
    """Return by how many pixels maps are wrong on average, over a grid of places."""
    half = max(height, width) / 2
    y, x = torch.meshgrid(
        torch.linspace(-height / 2, height / 2, 9),
        torch.linspace(-width / 2, width / 2, 9),
        indexing="ij",
    )
    cos, sin = torch.cos(angles)[:, None, None], torch.sin(angles)[:, None, None]
    down, right = y - shifts[:, 0, None, None], x - shifts[:, 1, None, None]
    expected = torch.stack([sin * down + cos * right, cos * down - sin * right], 1)  # (N, 2, 9, 9)
    places = torch.stack([x / half, y / half, torch.ones_like(x)])
    found = half * torch.einsum("nij,jyx->niyx", maps, places)
    return (found - expected).norm(dim=1).mean((1, 2))


@pytest.mark.parametrize(("noise", "most"), [(0, 0.05), (25, 0.2), (50, 0.4)])
@pytest.mark.parametrize("shift", [2, 16])
def test_shifted_and_turned_shots_are_found(noise, most, shift):
    shots, shifts, angles = burst(shift, 1.0, noise=noise)
    maps, alike = align(shots)
    assert errors(maps, shifts, angles, 160, 160).max() < most
    assert alike.min() > 0.8


def test_brighter_and_darker_shots_are_found():
    shots, shifts, angles = burst(8, 1.0, noise=10, gain=0.4)  # some of it clipped
    maps, _ = align(shots)
    assert errors(maps, shifts, angles, 160, 160).max() < 0.25


def test_grey_shots_are_found():
    shots, shifts, angles = burst(8, 1.0, noise=10, channels=1)
    maps, _ = align(shots)
    assert errors(maps, shifts, angles, 160, 160).max() < 0.15


def test_sixteen_shots_are_found():
    shots, shifts, angles = burst(16, 1.0, noise=25, num=16)
    maps, _ = align(shots)
    assert errors(maps, shifts, angles, 160, 160).max() < 0.2


@pytest.mark.parametrize("size", [(160, 101), (97, 160)])
def test_pictures_need_not_be_square(size):
    height, width = size
    shots, shifts, angles = burst(6, 1.0, noise=5)
    top, left = (160 - height) // 2, (160 - width) // 2
    shots = shots[..., top : top + height, left : left + width]
    # The middle of an odd side is half a pixel further.
    off = torch.tensor([top + height / 2 - 80, left + width / 2 - 80])
    cos, sin = torch.cos(angles), torch.sin(angles)
    moved = torch.stack([cos * off[0] + sin * off[1], cos * off[1] - sin * off[0]], 1)
    maps, _ = align(shots)
    assert errors(maps, shifts + moved - off, angles, height, width).max() < 0.1


def test_any_shot_can_be_the_reference_and_stays_where_it_is():
    shots, _, _ = burst(5, 1.0, noise=5)
    there, _ = align(shots, 0)
    back, _ = align(shots, 3)
    assert torch.equal(back[3], torch.eye(2, 3))
    whole = torch.tensor([[0.0, 0, 1]]).expand(5, 1, 3)
    there, back = torch.cat([there, whole], 1), torch.cat([back, whole], 1)
    round_trip = there[3] @ back[0]  # 3 → 0 → 3
    torch.testing.assert_close(round_trip, torch.eye(3), atol=2e-3, rtol=0)


def test_large_pictures_are_aligned_at_less_than_their_size():
    picture = torch.nn.functional.interpolate(scene()[None], scale_factor=8, mode="bicubic")
    shots = torch.cat([picture[..., 40:1840, 40:1640], picture[..., 57:1857, 29:1629]])
    maps, _ = align(shots)
    assert (900 * maps[1, :, 2] - torch.tensor([11.0, -17.0])).abs().max() < 0.2


def test_shots_without_detail_stay_where_they_are():
    maps, alike = align(torch.full((3, 3, 64, 64), 0.5))
    torch.testing.assert_close(maps, torch.eye(2, 3).repeat(3, 1, 1))
    assert alike.isfinite().all()


def test_other_scenes_are_not_alike():
    shots = torch.stack([scene(seed=seed) for seed in range(6)])
    _, alike = align(shots)
    assert alike[0] > 0.99
    assert alike[1:].max() < ALIKE


def test_scenes_that_share_their_sky_are_others():
    sky = torch.linspace(0.15, -0.15, 160)[:, None]
    for noise in (0, 25):
        ours, _, _ = burst(6, 1.0, noise=noise, num=6)
        theirs = torch.stack([scene(size=160, seed=seed) for seed in range(1, 6)])
        shots = torch.cat([ours, theirs]) / 2 + 0.25 + sky
        maps, alike = align(shots)
        assert (alike[6:] > ALIKE).any()
        assert other_scenes(shots, maps, alike, 0).tolist() == [False] * 6 + [True] * 5


def test_a_window_is_cut_out_of_the_whole():
    shots, _, _ = burst(8, 1.0)
    maps, _ = align(shots)
    whole, inside = sample(shots, maps)
    part, within = sample(shots, maps, 30, 50, (40, 64))
    torch.testing.assert_close(part, whole[..., 30:70, 50:114], atol=1e-5, rtol=0)
    assert torch.equal(within, inside[..., 30:70, 50:114])


def test_aligned_shots_show_what_the_reference_shows():
    shots, _, _ = burst(8, 1.0)
    found, inside = sample(shots, align(shots)[0])
    torch.testing.assert_close(found[0], shots[0], atol=1e-4, rtol=0)
    assert inside[0].all()
    assert not inside[1:].all()
    wrong = ((found - shots[:1]) * inside).abs()
    assert wrong.mean() < 0.005
    assert (shots - shots[:1]).abs()[1:].mean() > 10 * wrong[1:].mean()

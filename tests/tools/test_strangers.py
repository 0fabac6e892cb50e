"""Shots of another scene are found; spoilt shots of one scene are not called so."""

import pytest
import torch
from shots import blurred, detailed
from skimage import data
from torch import nn

from symsets.data import degrading
from symsets.data.spoilt import SpoiltSets
from symsets.tools.strangers import strangers


def shots_of(*seeds):
    """Return shots of scenes, each shifted a little and with some noise."""
    found = []
    for k, seed in enumerate(seeds):
        draw = torch.Generator().manual_seed(100 + k)
        shifted = detailed(seed)[:, k : k + 130, 2 * k : 2 * k + 170]
        found.append(shifted + 0.03 * torch.randn(shifted.shape, generator=draw))
    return torch.stack(found).clamp(0, 1)


@pytest.mark.parametrize(
    ("seeds", "numbers"),
    [
        ((0, 0, 0, 0), set()),
        ((0, 1), {1}),
        ((0, 0, 0, 1, 1), {3, 4}),
        ((1, 0, 1, 0, 0, 3), {0, 2, 5}),
    ],
)
def test_shots_of_another_scene_than_most_are_found(seeds, numbers):
    found = strangers(shots_of(*seeds))
    assert set(found) == numbers == set(strangers(shots_of(*seeds) / 16))
    assert not numbers & set(found.values())


def photograph(name):
    pixels = torch.from_numpy(getattr(data, name)().copy()).movedim(-1, 0)[None] / 255
    return nn.functional.interpolate(pixels, size=(240, 320), mode="area")[0]


@pytest.mark.parametrize(
    ("scene", "other"),
    [("astronaut", "chelsea"), ("astronaut", "rocket"), ("coffee", "immunohistochemistry")],
)
def test_another_photograph_is_found(scene, other):
    draw = torch.Generator().manual_seed(0)
    shots = [photograph(scene).roll((3 * k, -2 * k), (1, 2)) for k in range(4)]
    noisy = [shot + 0.05 * torch.randn(shot.shape, generator=draw) for shot in shots]
    assert set(strangers(torch.stack([*noisy, photograph(other)]).clamp(0, 1))) == {4}


@pytest.mark.parametrize("seeds", [(0,), (0, 1)])
def test_what_shows_nothing_is_not_called_another_scene(seeds):
    shots = shots_of(*seeds)
    draw = torch.Generator().manual_seed(0)
    noise = (0.5 + 0.2 * torch.randn(shots[0].shape, generator=draw)).clamp(0, 1)
    white, black = torch.ones_like(noise), torch.zeros_like(noise)
    found = strangers(torch.stack([white, *shots, black, noise, blurred(shots[0], 30.0)]))
    assert set(found) <= {2}


def test_shots_that_are_far_shifted_turned_or_bright_belong_to_the_scene():
    whole = detailed(0, 240, 320)
    angle = torch.tensor(0.06)  # 3.4 degrees
    turn = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()]).view(2, 2)
    maps = torch.cat([0.95 * turn, torch.zeros(2, 1)], 1)[None]
    places = nn.functional.affine_grid(maps, [1, 3, 240, 320], align_corners=False)
    turned = nn.functional.grid_sample(whole[None], places, align_corners=False)[0]
    shots = [whole[:, 20:200, 20:260], whole[:, 45:225, 60:300], turned[:, 20:200, 20:260]]
    shots += [(1.6 * shots[0]).clamp(0, 1), 0.3 * shots[0]]
    assert strangers(torch.stack(shots)) == {}


def test_spoilt_shots_of_a_scene_are_never_left_out():
    scenes = [255 * detailed(seed, 160, 160) for seed in range(6)]
    sets = SpoiltSets(torch.stack(scenes).byte(), 30, size=128, seed=1)
    assert [strangers(shots) for shots in sets.part(0, 30)[0]] == [{}] * 30


def test_noise_that_jpeg_made_coarser_is_no_other_scene():
    """A smooth scene, of which one shot is lost in noise and compressed strongly."""
    smooth = torch.stack([blurred(shot[:, :128, :160], 6.0) for shot in shots_of(0, 0, 0, 0)])
    draw = torch.Generator().manual_seed(0)
    noise = 0.35 * torch.randn(smooth[3].shape, generator=draw)
    noisy = (0.5 + 0.1 * (smooth[3] - 0.5) + noise).clamp(0, 1)
    quality = torch.tensor([10.0])
    smooth[3] = degrading.jpeg(noisy[None], quality, torch.tensor([True]))[0]
    assert strangers(smooth) == {}

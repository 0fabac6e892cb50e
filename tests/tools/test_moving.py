"""What moves is found, and noise, shifts and blur are not taken for it."""

import pytest
import torch
from shots import blurred, detailed

from symsets.tools.moving import moved

ALIKE = torch.ones(4, 1, 1, 1)


def burst(noise):
    torch.manual_seed(0)
    shots = detailed(0).expand(4, -1, -1, -1)
    return (shots + noise * torch.randn_like(shots)).clamp(0, 1)


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1, 0.2])
def test_noise_is_not_taken_for_something_that_moves(noise):
    assert moved(burst(noise), ALIKE, 1).float().mean() < 1e-3


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
def test_a_square_is_found_where_it_is_and_where_it_was(noise):
    shots = burst(noise)
    for k, shot in enumerate(shots):
        shot[:, 40:60, 20 + 30 * k : 40 + 30 * k] = 1 - shot[:, 40:60, 20 + 30 * k : 40 + 30 * k]
        shot[0, 40:60, 20 + 30 * k : 40 + 30 * k] = 0.9
    found = moved(shots, ALIKE, 0)
    assert not found[0].any()
    for k in (1, 2, 3):
        inside = [found[k, 0, 40:60, left : left + 20] for left in (20, 20 + 30 * k)]
        assert torch.stack(inside).float().mean() > 0.95
        elsewhere = found[k, 0].clone()
        elsewhere[30:70, 10:50] = elsewhere[30:70, 10 + 30 * k : 50 + 30 * k] = False
        assert elsewhere.float().mean() < 1e-3


def test_a_shift_of_half_a_pixel_and_a_little_blur_are_not_something_that_moves():
    shot = detailed(0)
    shifted = (shot + shot.roll(1, 2)) / 2
    shots = torch.stack([shot, shifted, blurred(shot, 1.0)])[..., 2:-2, 2:-2]
    assert moved(shots, ALIKE[:3], 0).float().mean() < 1e-3


def test_a_single_shot_has_nothing_that_moves():
    assert not moved(burst(0.1)[:1], ALIKE[:1], 0).any()


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("reference", [0, 1, 2])
def test_exposures_are_evened_out_and_white_explains_what_is_missing(noise, reference):
    torch.manual_seed(0)
    times = torch.tensor([1.0, 1.3, 0.75, 1.0]).view(4, 1, 1, 1)
    scene = (2.5 * detailed(0) - 0.5).clamp(min=0)  # a part of it is brighter than white
    shots = times * scene + noise * torch.randn(4, *scene.shape)
    found = moved(shots.clamp(0, 1), times[reference] / times, reference)
    assert found.float().mean() < 0.01


def test_white_in_one_colour_excuses_no_other():
    """An orange thing before a bright wall, in a shot that was exposed a little longer."""
    torch.manual_seed(0)
    shots = 0.86 + 0.01 * torch.randn(2, 3, 60, 80)
    shots[1] *= 1.1
    shots[1, :, 20:40, 30:60] = torch.tensor([0.95, 0.5, 0.1]).view(3, 1, 1)
    gain = torch.tensor([1.0, 1 / 1.1]).view(2, 1, 1, 1)
    found = moved(shots.clamp(0, 1), gain, 0)
    assert found[1, 0, 20:40, 30:60].all()

"""Sets of spoilt shots."""

import math
from functools import cache

import pytest
import torch
from scipy.ndimage import gaussian_filter

from symsets.data.spoilt import BLURS, KINDS, SpoiltSets, quality
from symsets.models.sharpness import noise_level, slopes


@pytest.fixture(scope="module")
def photos():
    """Return smooth photographs with edges, ``(6, 3, 112, 112)`` bytes."""
    noise = torch.randn(6, 3, 112, 112, generator=torch.Generator().manual_seed(0)).numpy()
    soft = torch.as_tensor(gaussian_filter(noise, (0, 0, 3, 3)))
    soft = soft / soft.std() + (soft > 0)
    return (110 + 30 * soft).clamp(0, 255).byte()


def test_sets_are_new_in_training_and_fixed_in_tests(photos):
    sets = SpoiltSets(photos, 70, num_elements=3, size=32)
    x, y = sets.part(60, 70)
    again, _ = sets.part(0, 70)
    assert torch.equal(x, again[60:])
    assert x.shape == (10, 3, 3, 32, 32)
    assert y.shape == (10, 3)
    assert 0 <= x.min() <= x.max() <= 1
    torch.testing.assert_close(x * 255, (x * 255).round(), atol=30, rtol=0)
    which = torch.arange(2)
    assert not torch.equal(sets.batch(which)[0], sets.batch(which)[0])
    other, _ = SpoiltSets(photos, 70, num_elements=3, size=32, seed=1).part(60, 70)
    assert not torch.equal(other, x)


def test_quality_is_psnr_where_brightness_is_right_and_counts_a_tenth_where_it_is_not():
    y = torch.rand(3, 64, 64, dtype=torch.float64)
    noise = 0.05 * torch.randn_like(y)
    error = noise.square().mean().item()
    assert quality(y + noise, y).item() == pytest.approx(-10 * math.log10(error), abs=0.2)
    brighter = y + 0.1  # an error of 0.01, all of it brightness
    assert quality(brighter, y).item() == pytest.approx(-10 * math.log10(0.001 + 1e-5), abs=1e-6)
    flatter = 0.5 + 0.5 * (y - 0.5)
    wrong = (flatter - y).square().mean().item()
    assert quality(flatter, y).item() == pytest.approx(-10 * math.log10(0.1 * wrong + 1e-5))
    assert quality(y, y).item() == pytest.approx(50)
    assert quality(torch.full_like(y, 0.5), y).isfinite()


def test_quality_is_measured_where_a_shot_lies(photos):
    """Shots with faint noise alone are equally good, wherever the camera was."""
    sets = SpoiltSets(photos, 64, num_elements=4, size=48, kinds=("jpeg",))
    untouched = torch.zeros(64, 4, dtype=torch.bool)
    sets._what_goes_wrong = lambda shape, generator: dict.fromkeys(KINDS, untouched)
    x, y = sets.part(0, 64)
    away = quality(x[:, 1], x[:, 0])  # where they lie, shots differ
    assert (y.max(1).values - y.min(1).values).max() < 0.5
    assert y.mean() > 38
    assert away.median() < 30


@pytest.fixture(scope="module")
def spoilt(photos):
    """Return a function that gives sets of shots that are spoilt in one way."""

    @cache
    def sets(kind):
        return SpoiltSets(photos, 40, num_elements=6, size=48, kinds=(kind,)).part(0, 40)

    return sets


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_makes_shots_of_a_set_differ_in_quality(spoilt, kind):
    _, y = spoilt(kind)
    assert (y.max(1).values - y.min(1).values).median() > (1.5 if kind == "jpeg" else 3)


@pytest.mark.parametrize("kind", BLURS)
def test_worse_shots_are_less_sharp_where_they_are_blurred(spoilt, kind):
    x, y = spoilt(kind)
    sharp = torch.stack(list(map(slopes, x)))
    worst, best = y.argmin(1, keepdim=True), y.argmax(1, keepdim=True)
    assert (sharp.gather(1, worst) < sharp.gather(1, best)).double().mean() > 0.9


@pytest.mark.parametrize("kind", ["noise", "aperture"])
def test_worse_shots_are_noisier_where_there_is_noise_or_little_light(spoilt, kind):
    x, y = spoilt(kind)
    noise = torch.stack(list(map(noise_level, x)))
    worst, best = y.argmin(1, keepdim=True), y.argmax(1, keepdim=True)
    assert (noise.gather(1, worst) > 1.2 * noise.gather(1, best)).double().mean() > 0.9
    mean = x.mean((2, 3, 4))
    assert (mean - mean.mean(1, keepdim=True)).abs().max() < 0.12  # as bright as the others


def test_exposures_are_darker_and_brighter(photos, spoilt):
    x, y = spoilt("exposure")
    mean = x.mean((2, 3, 4))
    true = (photos / 255).mean()
    assert mean.min() < 0.6 * true
    assert mean.max() > 1.5 * true
    far = (mean.log() - true.log()).abs()
    assert (
        far.gather(1, y.argmin(1, keepdim=True)) > far.mean(1, keepdim=True)
    ).double().mean() > 0.8


def test_half_of_all_sets_are_spoilt_in_one_way_and_every_shot_in_one_at_least(photos):
    sets = SpoiltSets(photos, 400, num_elements=5, size=32)
    wrong = sets._what_goes_wrong(torch.Size((400, 5)), None)
    table = torch.stack([wrong[kind] for kind in KINDS], 2)  # (B, N, K)
    assert table.any(2).all()
    assert table[..., : len(BLURS)].sum(2).max() == 1
    common = table.all(1).any(1).double().mean()
    assert 0.4 < common < 0.65
    only = SpoiltSets(photos, 400, size=32, kinds=("noise", "shake"))
    wrong = only._what_goes_wrong(torch.Size((400, 5)), None)
    assert {kind for kind in KINDS if wrong[kind].any()} == {"noise", "shake"}


def test_bad_arguments_are_named(photos):
    with pytest.raises(ValueError, match="size must be a multiple of 8, at most 80, got 96"):
        SpoiltSets(photos, 4, size=96)
    with pytest.raises(ValueError, match="kinds must be one of"):
        SpoiltSets(photos, 4, size=32, kinds=("dust",))
    with pytest.raises(ValueError, match="num_elements must be at least 1"):
        SpoiltSets(photos, 4, size=32, num_elements=0)


def test_some_scenes_are_grey_and_some_noise_is_shared_by_colours(photos):
    x, _ = SpoiltSets(photos, 96, num_elements=2, size=32, kinds=("noise",)).part(0, 96)
    is_grey = (x == x[:, :, :1]).flatten(1).all(1)
    assert 0.05 < is_grey.double().mean() < 0.3
    noise = x[~is_grey] - torch.nn.functional.avg_pool3d(x[~is_grey], (1, 3, 3), 1, (0, 1, 1))
    red, green = (noise[:, 0, c, 4:-4, 4:-4].flatten(1) for c in (0, 1))
    alike = (red * green).mean(1) / (red.square().mean(1) * green.square().mean(1)).sqrt()
    assert alike.min() < 0.3
    assert alike.max() > 0.7

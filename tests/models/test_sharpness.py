"""Classical measures, against scipy and scikit-image."""

import numpy as np
import pytest
import torch
from scipy import ndimage
from skimage.filters import sobel_h, sobel_v

from symsets.models.sharpness import (
    MEASURES,
    appearance,
    brenner,
    cleanness,
    consensus,
    detail_over_noise,
    laplacian,
    local_contrast,
    modified_laplacian,
    noise_level,
    normalised_laplacian,
    normalised_variance,
    slopes,
    tenengrad,
    tenengrad_without_noise,
)

INNER = slice(1, -1)


def scene(size=64, width=2.0):
    """Return a smooth picture ``(1, 3, size, size)`` with values in [0, 1]."""
    noise = torch.randn(3, size, size, dtype=torch.float64).numpy()
    soft = torch.as_tensor(ndimage.gaussian_filter(noise, (0, width, width), mode="wrap"))
    return (0.5 + 0.12 * soft / soft.std()).clamp(0, 1)[None]


def blurred(picture, width):
    return torch.as_tensor(ndimage.gaussian_filter(picture.numpy(), (0, 0, width, width)))


def noisy(picture, level):
    return picture + level * torch.randn_like(picture)


def test_the_laplacian_is_that_of_scipy():
    x = scene()
    grey = x.mean(1)[0].numpy()
    expected = ndimage.laplace(grey)[INNER, INNER].var()
    assert laplacian(x).item() == pytest.approx(expected, rel=1e-9)
    assert normalised_laplacian(x).item() == pytest.approx(expected / grey.var(), rel=1e-9)


def test_tenengrad_is_made_of_the_slopes_of_scikit_image():
    x = scene()
    grey = x.mean(1)[0].numpy()
    squares = (4 * sobel_h(grey)) ** 2 + (4 * sobel_v(grey)) ** 2  # theirs are divided by 4
    assert tenengrad(x).item() == pytest.approx(squares[INNER, INNER].mean(), rel=1e-9)


def test_differences_are_those_of_numpy():
    x = scene()
    grey = x.mean(1)[0].numpy()
    apart = ((grey[2:] - grey[:-2]) ** 2).mean() + ((grey[:, 2:] - grey[:, :-2]) ** 2).mean()
    assert brenner(x).item() == pytest.approx(apart, rel=1e-9)
    second = sum(np.abs(np.diff(grey, 2, axis)).mean() for axis in (0, 1))
    assert modified_laplacian(x).item() == pytest.approx(second, rel=1e-9)
    assert normalised_variance(x).item() == pytest.approx(grey.var() / grey.mean(), rel=1e-9)


def test_local_contrast_is_that_of_windows_of_scipy():
    x = scene()
    grey = x.mean(1)[0].numpy()
    mean = ndimage.uniform_filter(grey, 7)
    spread = np.sqrt(ndimage.uniform_filter(grey**2, 7) - mean**2)
    expected = (spread / (mean + 0.01))[3:-3, 3:-3].mean()
    assert local_contrast(x).item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("level", [0.02, 0.1])
def test_the_level_of_noise_is_found(level):
    x = noisy(scene(256, width=6.0), level)
    assert noise_level(x).item() == pytest.approx(level / 3**0.5, rel=0.05)  # of mean colours


@pytest.mark.parametrize(
    "name", [n for n in MEASURES if n not in ("least noise", "closest to the mean")]
)
def test_a_sharp_shot_beats_a_blurred_one(name):
    x = scene()
    scores = MEASURES[name](torch.cat([blurred(x, 3.0), x, blurred(x, 1.0)]))
    assert scores.shape == (3,)
    assert scores.argsort(descending=True).tolist() == [1, 2, 0]


def test_only_measures_that_know_of_noise_do_not_take_it_for_detail():
    x = scene(128)
    both = torch.cat([noisy(x, 0.15), x])
    assert laplacian(both).argmax() == tenengrad(both).argmax() == 0
    assert detail_over_noise(both).argmax() == cleanness(both).argmax() == 1
    assert cleanness(both).max() < 0
    found, clean = tenengrad_without_noise(both).tolist()
    assert found == pytest.approx(clean, rel=0.1)
    assert tenengrad(both)[0] > 2 * tenengrad(both)[1]


def test_detail_over_noise_is_what_it_says():
    x = scene(256)
    level = 0.1 / 3**0.5  # of mean colours
    expected = tenengrad(x).item() / (level**2 + 1e-5)
    assert detail_over_noise(noisy(x, 0.1)).item() == pytest.approx(expected, rel=0.15)


def test_normalised_measures_do_not_change_with_brightness():
    x = scene()
    for measure in (normalised_laplacian, slopes):
        torch.testing.assert_close(measure(0.5 * x), measure(x))
    assert tenengrad(0.5 * x) < 0.3 * tenengrad(x)


def test_the_typical_shot_is_closest_to_the_mean_of_the_others():
    x = scene()
    shots = torch.cat([noisy(x, 0.2), x, noisy(x, 0.2), noisy(x, 0.2)])
    scores = consensus(shots)
    pixels = shots.flatten(1).numpy()
    expected = np.corrcoef(pixels[1], pixels[[0, 2, 3]].mean(0))[0, 1]
    assert scores.argmax() == 1
    assert scores[1].item() == pytest.approx(expected, rel=1e-9)


def test_the_appearance_of_a_shot_is_its_own():
    x = torch.cat([noisy(scene(32), 0.05), scene(32)])
    together = appearance(x)
    assert together.shape == (2, 12)
    torch.testing.assert_close(together, torch.cat([appearance(shot[None]) for shot in x]))
    assert together[0, 5] > together[1, 5]  # noise
    assert (together[0, 0] - laplacian(x[:1]).log()).abs() < 1e-3


def test_the_appearance_tells_how_much_is_black_or_white():
    x = 0.25 + 0.5 * scene(16)
    x[:, :, :4], x[:, :, 4:6] = 0, 1
    brightness, dark, light = appearance(x)[0, -3:].tolist()
    assert brightness == pytest.approx(x.mean().item())
    assert (dark, light) == (4 / 16, 2 / 16)


@pytest.mark.parametrize("level", [0.0, 0.5, 1.0])
def test_flat_shots_have_a_finite_appearance(level):
    assert appearance(torch.full((2, 3, 5, 5), level)).isfinite().all()


@pytest.mark.parametrize("name", MEASURES)
def test_black_shots_have_finite_scores(name):
    assert MEASURES[name](torch.zeros(2, 3, 16, 16)).isfinite().all()

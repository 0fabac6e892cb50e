import pytest
import torch
import torch.nn.functional as F

from symsets import RaggedSets
from symsets.experiments.satellite.registration import find_shifts, find_weights, masked_mean

FINER = 8  # pixels of a place for one of a picture


@pytest.fixture(scope="module")
def place():
    """A place with detail of every size, as photographs have: amplitudes fall as 1 / frequency."""
    generator, side = torch.Generator().manual_seed(0), FINER * 64
    spectrum = torch.fft.fft2(torch.randn(side, side, generator=generator, dtype=torch.float64))
    frequency = side * torch.fft.fftfreq(side, dtype=torch.float64)
    spectrum /= (frequency[:, None].square() + frequency.square()).sqrt().clamp(min=1)
    found = torch.fft.ifft2(spectrum).real
    return found / found.std()


@pytest.fixture(scope="module")
def steps():
    """By how many pixels of the place each picture is shifted: up to a pixel of a picture."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(-FINER, FINER + 1, (9, 2), generator=generator)


@pytest.fixture(scope="module")
def pictures(place, steps):
    moved = torch.stack([place.roll(tuple(step.tolist()), (0, 1)) for step in steps])
    return F.avg_pool2d(moved, FINER)[:, 8:-8, 8:-8]


@pytest.fixture(scope="module")
def shifts(steps):
    found = steps.double() / FINER
    return found - found.mean(0)


def test_known_shifts_of_fractions_of_a_pixel_are_found(pictures, shifts):
    found = find_shifts(pictures, torch.ones_like(pictures, dtype=torch.bool))
    assert (found - shifts).abs().max() < 0.06


def test_brightness_and_noise_matter_little(pictures, shifts):
    generator = torch.Generator().manual_seed(0)
    contrast, level = torch.rand(2, 9, 1, 1, generator=generator, dtype=torch.float64)
    noise = torch.randn(pictures.shape, generator=generator, dtype=torch.float64)
    pictures = (0.9 + 0.2 * contrast) * pictures + level + 0.05 * noise
    found = find_shifts(pictures, torch.ones_like(pictures, dtype=torch.bool))
    assert (found - shifts).abs().max() < 0.06


@pytest.mark.parametrize("side", [10, 20])
def test_clouds_hardly_change_the_shifts(pictures, shifts, side):
    found = find_shifts(*clouded(pictures, side))
    assert (found - shifts).abs().max() < 0.06


def clouded(pictures, side):
    """Return pictures with bright squares, each at another place, and where they are clear."""
    clear = torch.ones_like(pictures, dtype=torch.bool)
    for k in range(1, 9):
        clear[k, 4 * k : 4 * k + side, 10 : 12 + side] = False
    return torch.where(clear, pictures, 100), clear


def test_what_is_under_clouds_does_not_matter(pictures):
    seen, clear = clouded(pictures, 10)
    other = torch.where(clear, seen, -7)
    assert torch.equal(find_shifts(other, clear), find_shifts(seen, clear))
    shifts = find_shifts(seen, clear)
    torch.testing.assert_close(
        find_weights(other, clear, shifts), find_weights(seen, clear, shifts)
    )


def test_large_shifts_under_clouds_are_found(place):
    generator = torch.Generator().manual_seed(1)
    steps = torch.randint(-2 * FINER, 2 * FINER + 1, (9, 2), generator=generator)
    moved = torch.stack([place.roll(tuple(step.tolist()), (0, 1)) for step in steps])
    pictures = F.avg_pool2d(moved, FINER)[:, 8:-8, 8:-8]
    wanted = steps.double() / FINER
    found = find_shifts(*clouded(pictures, 20))
    assert (found - wanted + wanted.mean(0)).abs().max() < 0.1


def test_shifts_have_mean_zero_and_follow_their_pictures(pictures):
    clear = torch.ones_like(pictures, dtype=torch.bool)
    found = find_shifts(pictures, clear)
    assert found.mean(0).abs().max() < 1e-12
    order = torch.tensor([0, 5, 3, 1, 8, 2, 4, 7, 6])
    assert torch.allclose(find_shifts(pictures[order], clear), found[order], atol=1e-3)


def test_one_picture_lies_where_it_is():
    picture = torch.rand(1, 16, 16, dtype=torch.float64)
    found = find_shifts(picture, torch.ones_like(picture, dtype=torch.bool))
    assert torch.equal(found, torch.zeros_like(found))


def test_flat_places_lie_where_they_are():
    flat = torch.full((3, 16, 16), 0.2)
    assert find_shifts(flat, torch.ones_like(flat, dtype=torch.bool)).abs().max() < 0.01


def test_pictures_unlike_the_others_have_small_weights(pictures, shifts):
    pictures = pictures + 0.05 * torch.randn(
        pictures.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    clear = torch.ones_like(pictures, dtype=torch.bool)
    usual = find_weights(pictures, clear, shifts)
    assert usual.max() == 1
    assert usual.min() > 0.5
    pictures[3, :24] += 5  # a cloud that no mask tells of
    found = find_weights(pictures, clear, shifts)
    assert found[3] < 0.1
    assert found.argmin() == 3


def test_brightness_changes_no_weight(pictures, shifts):
    clear = torch.ones_like(pictures, dtype=torch.bool)
    level = torch.linspace(0, 1, 9, dtype=torch.float64)[:, None, None]
    found = find_weights(pictures + level, clear, shifts)
    # The mean knows brightness by a first estimate only.
    torch.testing.assert_close(found, find_weights(pictures, clear, shifts), rtol=0, atol=1e-3)


def test_where_nothing_is_clear_weights_are_numbers(pictures, shifts):
    clear = torch.ones_like(pictures, dtype=torch.bool)
    clear[2] = False
    found = find_weights(pictures, clear, shifts)
    assert found[2] == 0
    assert (found[[0, 1, 3]] > 0).all()
    nothing = find_weights(pictures, torch.zeros_like(clear), shifts)
    assert torch.equal(nothing, torch.ones_like(nothing))
    assert find_shifts(pictures, torch.zeros_like(clear)).isfinite().all()


def test_weights_count_in_the_mean():
    x = torch.tensor([1.0, 4.0]).reshape(1, 2, 1, 1, 1).expand(-1, -1, -1, 2, 2).clone()
    x[..., 0, 0] = torch.tensor([3.0, 8.0]).reshape(1, 2, 1)  # brightness is taken out
    weights = torch.tensor([0.3, 0.1]).reshape(1, 2, 1, 1, 1).expand(-1, -1, -1, 2, 2)
    found, own = masked_mean(x, weights)
    expected = ((x - own) * weights).sum(1) / 0.4
    torch.testing.assert_close(found, expected)


def test_the_mean_ignores_clouds_and_brightness():
    torch.manual_seed(0)
    place = torch.rand(6, 6, dtype=torch.float64)
    brightness = torch.randn(1, 5, 1, 1, 1, dtype=torch.float64)
    clear = torch.ones(1, 5, 1, 6, 6, dtype=torch.float64)
    x = (place + brightness).contiguous()
    clear[0, 1, 0, :3], x[0, 1, 0, :3] = 0, 50
    found, own = masked_mean(x, clear)
    rest = found[0, 0] - place
    assert rest.std() < 0.25 * brightness.std()  # a first estimate of brightness, not the last
    assert own.shape == brightness.shape
    clear[0, 1], x[0, 1] = 0, 50
    found, _ = masked_mean(x, clear)
    assert torch.allclose(found[0, 0] - place, (found[0, 0] - place).mean().expand(6, 6))


def test_where_nothing_is_clear_it_is_the_mean_of_all():
    x = torch.rand(1, 3, 2, 4, 4)
    found, _ = masked_mean(x, torch.zeros(1, 3, 1, 4, 4))
    assert torch.allclose(found, x.mean(1))


def test_ragged_sets_have_the_means_of_their_own():
    x, clear = torch.rand(5, 1, 4, 4), (torch.rand(5, 1, 4, 4) > 0.3).float()
    found, _ = masked_mean(RaggedSets(x, [2, 3]), RaggedSets(clear, [2, 3]))
    for k, some in enumerate((slice(0, 2), slice(2, 5))):
        alone, _ = masked_mean(x[None, some], clear[None, some])
        assert torch.allclose(found[k], alone[0], atol=1e-6)

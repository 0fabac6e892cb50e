import pytest
import torch
import torch.nn.functional as F

from symsets import RaggedSets
from symsets.experiments.satellite.registration import enlarge, find_shifts, masked_mean


def waves(rows, columns):
    """Return a smooth place at any coordinates, which need not be whole numbers."""
    generator = torch.Generator().manual_seed(0)
    total = torch.zeros(torch.broadcast_shapes(rows.shape, columns.shape), dtype=torch.float64)
    for _ in range(60):
        a, b, phase = torch.rand(3, generator=generator, dtype=torch.float64)
        total = total + torch.cos(1.2 * (a - 0.5) * rows + 1.2 * (b - 0.5) * columns + 6.3 * phase)
    return total


def seen_from(shifts, side=48):
    """Return pictures that show at ``p + shift`` what the place has at ``p``."""
    place = torch.arange(side, dtype=torch.float64)
    rows = place[:, None] - shifts[:, 0, None, None]
    columns = place[None, :] - shifts[:, 1, None, None]
    return waves(rows, columns)


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


def test_with_clouds_shifts_are_less_exact_but_found(pictures, shifts):
    clear = torch.ones_like(pictures, dtype=torch.bool)
    for k in range(1, 9):
        clear[k, 4 * k : 4 * k + 10, 10:22] = False
    found = find_shifts(torch.where(clear, pictures, 100), clear)
    assert (found - shifts).square().mean().sqrt() < 0.2 * shifts.square().mean().sqrt()


def test_shifts_have_mean_zero_and_follow_their_pictures(pictures):
    clear = torch.ones_like(pictures, dtype=torch.bool)
    found = find_shifts(pictures, clear)
    assert found.mean(0).abs().max() < 1e-12
    order = torch.tensor([0, 5, 3, 1, 8, 2, 4, 7, 6])
    assert torch.allclose(find_shifts(pictures[order], clear), found[order], atol=0.021)


def test_one_picture_lies_where_it_is():
    picture = seen_from(torch.zeros(1, 2, dtype=torch.float64))
    found = find_shifts(picture, torch.ones_like(picture, dtype=torch.bool))
    assert torch.equal(found, torch.zeros_like(found))


def test_registered_pictures_show_the_same(shifts):
    pictures = seen_from(shifts)
    middle = (slice(None), slice(4, -4), slice(4, -4))
    place = seen_from(torch.zeros_like(shifts))
    before = (pictures - place)[middle].abs().mean()
    after = (enlarge(pictures, shifts) - place)[middle].abs().mean()
    assert after < 0.02 * before


def test_the_fine_grid_has_nine_pixels_for_one():
    place = torch.arange(24, dtype=torch.float64)
    fine = (torch.arange(72, dtype=torch.float64) + 0.5) / 3 - 0.5
    picture = waves(place[:, None], place[None])[None]
    found = enlarge(picture, torch.zeros(1, 2, dtype=torch.float64), 3)
    wanted = waves(fine[:, None], fine[None])
    assert found.shape == (1, 72, 72)
    assert (found[0] - wanted)[9:-9, 9:-9].abs().max() < 0.02 * wanted.abs().max()


def test_without_shift_and_scale_nothing_changes():
    x = torch.rand(3, 7, 9, dtype=torch.float64)
    assert torch.allclose(enlarge(x, torch.zeros(3, 2, dtype=torch.float64)), x)
    one = enlarge(x, torch.tensor([[1.0, -2.0]], dtype=torch.float64).expand(3, 2))
    assert torch.allclose(one[:, :-1, 2:], x[:, 1:, :-2])


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

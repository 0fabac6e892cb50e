import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter

from symsets.experiments.quality import sets as quality
from symsets.experiments.quality.sets import DEGRADATIONS, MEAN, SPREAD, QualitySets, blur_matrix

CLEAN = "occlusion-0"  # no degradation but blur; not offered to users


def photographs(num=3, size=32):
    return torch.randint(256, (num, 3, size, size), dtype=torch.uint8)


def shown(x):
    """Undo the standardisation that networks get."""
    return x * SPREAD + MEAN


@pytest.fixture
def only_blur(monkeypatch):
    monkeypatch.setattr(quality, "DEGRADATIONS", (*DEGRADATIONS, CLEAN))


@pytest.fixture
def widths(monkeypatch):
    """Keep the widths that copies are blurred by."""
    seen = []

    def spy(sigma, size):
        seen.append(sigma)
        return blur_matrix(sigma, size)

    monkeypatch.setattr(quality, "blur_matrix", spy)
    return seen


@pytest.mark.parametrize("sigma", [0.3, 0.8, 1.7])
def test_a_blur_matrix_is_the_gaussian_filter_of_scipy(sigma):
    line = torch.randn(40, dtype=torch.float64)
    ours = blur_matrix(torch.tensor(sigma, dtype=torch.float64), 40) @ line
    expected = torch.as_tensor(gaussian_filter(line.numpy(), sigma, truncate=12))
    torch.testing.assert_close(ours[16:24], expected[16:24], rtol=1e-9, atol=1e-9)


def test_blur_keeps_grey_everywhere_and_none_is_none():
    matrices = blur_matrix(torch.rand(4, 2, dtype=torch.float64) * 2, 9)
    assert matrices.shape == (4, 2, 9, 9)
    ones = torch.ones(4, 2, 9, dtype=torch.float64)
    torch.testing.assert_close(matrices.sum(-1), ones)
    assert torch.equal(blur_matrix(torch.zeros(1), 6)[0], torch.eye(6))


def test_copies_are_blurred_by_the_sum_of_two_widths(only_blur, widths):
    images = photographs(size=48)
    x, _ = QualitySets(images, 3, CLEAN, num_elements=4, size=40).part(0, 3)
    (sigma,) = widths
    assert sigma.shape == (3, 4)
    for photo, copies, row in zip(images, shown(x), sigma, strict=True):
        for copy, width in zip(copies, row.tolist(), strict=True):
            blurred = gaussian_filter(photo.double().numpy() / 255, (0, width, width), truncate=8)
            expected = torch.as_tensor(blurred)[:, 4:44, 4:44]  # the middle crop
            inside = slice(8, 32)  # ends of lines weigh differently
            error = (copy - expected)[:, inside, inside].abs().max()
            assert error < 1e-5  # float32


def test_widths_are_those_of_the_paper(widths):
    images = photographs(size=4)
    QualitySets(images, 512, "gaussian-10", size=4).part(0, 512)
    sigma = torch.cat(widths)  # (512, 20): a base per photograph, a part per copy
    assert 0 <= sigma.min() < 0.1
    assert 1.9 < sigma.max() < 2
    assert abs(sigma.mean() - 1) < 0.06
    own = sigma - sigma.mean(1, keepdim=True)
    assert abs(own.var() - 1 / 12 * 19 / 20) < 0.004
    assert abs(sigma.mean(1).var() - (1 / 12 + 1 / 12 / 20)) < 0.015


@pytest.mark.parametrize("degradation", DEGRADATIONS)
def test_the_target_is_the_copy_closest_to_the_photograph(degradation):
    images = photographs(num=30, size=24)
    x, y = QualitySets(images, 30, degradation, size=16).part(0, 30)
    assert x.shape == (30, 20, 3, 16, 16)
    clean = images[:, None, :, 4:20, 4:20] / 255
    distance = (shown(x) - clean).abs().double().mean((2, 3, 4))
    best = distance.gather(1, y[:, None])[:, 0]
    assert (best <= distance.amin(1) + 1e-6).all()
    assert (distance.argmin(1) == y).float().mean() > 0.9  # but for rounding
    assert y.unique().numel() > 8
    assert shown(x).min() >= 0
    assert shown(x).max() <= 1 + 1e-6


def test_targets_belong_to_the_moved_photograph_in_training():
    """Large random squares show through any blur in which pose a photograph is."""
    image = photographs(num=1, size=5).repeat_interleave(4, 2).repeat_interleave(4, 3)
    clean = image[0] / 255
    poses = []
    for i in range(3):
        for j in range(3):
            for turned in range(4):
                for picture in (clean, clean.flip(-1)):
                    poses.append(picture.rot90(turned, (1, 2))[:, i : i + 18, j : j + 18])
    which = torch.zeros(40, dtype=torch.long)
    x, y = QualitySets(image, 1, "gaussian-10", size=18).batch(which)
    seen = set()
    for copies, target in zip(shown(x), y, strict=True):
        distance = torch.stack([(copies - pose).abs().mean((1, 2, 3)) for pose in poses])
        pose = distance.mean(1).argmin().item()
        seen.add(pose)
        assert distance[pose].argmin() == target
    assert len(seen) > 15  # of 72, in 40 sets: crops, quarter turns and mirrors do happen


@pytest.mark.parametrize("training", [False, True])
def test_photographs_move_in_training_only(only_blur, training):
    """Ramps along rows: a quarter turn makes them columns, a mirror turns their sign."""
    ramp = torch.arange(0, 240, 20, dtype=torch.uint8)[None, None, :, None].expand(1, 3, 12, 12)
    sets = QualitySets(ramp, 64, CLEAN, num_elements=2, size=6)
    x = shown(sets.batch(torch.arange(64))[0] if training else sets.part(0, 64)[0])
    down = (x[..., 4, 3] - x[..., 2, 3]).mean((1, 2))
    across = (x[..., 3, 4] - x[..., 3, 2]).mean((1, 2))
    kinds = {(round(a), round(b)) for a, b in zip((down * 9).tolist(), (across * 9).tolist())}  # noqa: B905
    assert kinds == ({(1, 0), (-1, 0), (0, 1), (0, -1)} if training else {(1, 0)})
    if not training:
        middle = x[:, :, :, 2:4, 2:4].mean((1, 2, 3, 4))
        torch.testing.assert_close(middle, torch.full((64,), 110 / 255), atol=1e-5, rtol=0)


@pytest.mark.parametrize("level", [10, 30, 50])
def test_noise_has_the_strength_that_its_name_says(level):
    grey = torch.full((1, 3, 40, 40), 128, dtype=torch.uint8)
    x = shown(QualitySets(grey, 4, f"gaussian-{level}", size=40).part(0, 4)[0])
    noise = (x - 128 / 255) * 255
    kept = noise.abs() < 127  # nothing is clipped there
    inside = noise.abs() < 1.5 * level  # the same for all levels: never clipped
    share = inside.double().mean().item()
    assert share == pytest.approx(0.8664, abs=0.003)  # of a normal distribution
    assert abs(noise[kept].double().mean()) < 0.02 * level
    if level < 50:
        assert noise.double().std().item() == pytest.approx(level, rel=0.01)
    flat = noise.flatten(1).double()
    assert abs(np.corrcoef(flat[0], flat[1])[0, 1]) < 0.01
    channels = noise.transpose(0, 2).flatten(1).double()
    assert np.abs(np.corrcoef(channels) - np.eye(3)).max() < 0.02


@pytest.mark.parametrize("level", [10, 30, 50])
def test_occlusion_blackens_that_share_of_pixels_in_all_channels(level):
    grey = torch.full((1, 3, 40, 40), 200, dtype=torch.uint8)
    x = shown(QualitySets(grey, 4, f"occlusion-{level}", size=40).part(0, 4)[0])
    black = x.abs() < 1e-6
    assert torch.equal(black.all(2), black.any(2))
    torch.testing.assert_close(x[~black], torch.full_like(x[~black], 200 / 255))
    assert black.double().mean().item() == pytest.approx(level / 100, abs=0.006)
    assert not torch.equal(black[0, 0], black[0, 1])


@pytest.mark.parametrize("degradation", DEGRADATIONS)
def test_evaluation_is_the_same_however_it_is_cut(degradation):
    sets = QualitySets(photographs(size=8), 70, degradation, num_elements=3, size=8)
    x, y = sets.part(0, 70)
    cuts = [sets.part(0, 5), sets.part(5, 66), sets.part(66, 99)]
    assert torch.equal(torch.cat([a for a, _ in cuts]), x)
    assert torch.equal(torch.cat([b for _, b in cuts]), y)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"degradation must be one of \['gaussian-10', .*'blur'"):
        QualitySets(photographs(), 5, "blur")
    with pytest.raises(ValueError, match="size must be at most 32"):
        QualitySets(photographs(), 5, "gaussian-10").part(0, 1)

"""Bursts: what happens to shots is what the camera says, and the first one is the reference."""

import pytest
import torch

from symsets.data.shots import SPARE, Camera, ShotSets

STILL = {"shift": 0.0, "turn": 0.0, "sharp": 1.0, "exposure": 0.0, "jpeg": 0.0, "grey": 0.0}
CLEAN = Camera(noise=(1e-3, 1e-3), aligned=0.0, **STILL)


def photos(num=4, side=96):
    grid = torch.nn.functional.interpolate(torch.rand(num, 3, 12, 12), size=side, mode="bicubic")
    return (255 * grid).clamp(0, 255).byte()


def sets(camera, num=16, num_elements=4, **options):
    return ShotSets(photos(), num, num_elements=num_elements, size=64, camera=camera, **options)


def test_clean_shots_of_a_still_camera_are_the_target():
    x, y = sets(CLEAN).part(0, 16)
    assert (x[:, :, :3] - y[:, None]).abs().max() < 1 / 255


def test_targets_are_the_middle_of_photographs_and_training_moves_them():
    made = sets(CLEAN)
    _, y = made.part(0, 4)
    inside = slice(16, 80)
    torch.testing.assert_close(y, made.material[..., inside, inside] / 255)
    _, moved = made.batch(torch.zeros(8).long())
    assert (moved - y[:1]).abs().flatten(1).max(1).values.max() > 0.1


def test_the_first_shot_is_flagged():
    x, _ = sets(CLEAN).part(0, 3)
    assert torch.equal(x[:, 0, 3], torch.ones(3, 64, 64))
    assert not x[:, 1:, 3].any()


def test_the_first_shot_is_neither_moved_nor_changed_in_brightness():
    still = {**STILL, "shift": 2.0, "turn": 1.0, "exposure": 0.3}
    x, y = sets(Camera(noise=(1e-3, 1e-3), aligned=0.0, **still)).part(0, 16)
    wrong = (x[:, :, :3] - y[:, None]).abs().mean((0, 2, 3, 4))
    assert wrong[0] < 1 / 255
    assert wrong[1:].min() > 4 / 255


@pytest.mark.parametrize("level", [5.0, 25.0])
def test_noise_is_as_strong_as_the_camera_says(level):
    camera = Camera(noise=(level, level), poisson=0.0, aligned=0.0, **STILL)
    x, y = sets(camera, 32).part(0, 32)
    middle = ((y > 0.4) & (y < 0.6))[:, None].expand(-1, 4, -1, -1, -1)  # not clipped
    wrong = 255 * (x[:, :, :3] - y[:, None])[middle]
    assert abs(wrong.std() / level - 1) < 0.05
    assert abs(wrong.mean()) < 0.05 * level


def test_poisson_noise_grows_with_brightness():
    def ratio(poisson):
        camera = Camera(noise=(10.0, 10.0), poisson=poisson, aligned=0.0, **STILL)
        x, y = sets(camera, 64).part(0, 64)
        wrong, y = x[:, :, :3] - y[:, None], y[:, None].expand(-1, 4, -1, -1, -1)
        return wrong[(y > 0.6) & (y < 0.8)].std() / wrong[(y > 0.2) & (y < 0.3)].std()

    assert abs(ratio(0.0) - 1) < 0.1
    assert ratio(1.0) > 1.15


def test_shots_are_stored_with_8_bits():
    x, _ = sets(Camera(jpeg=0.0, aligned=0.0)).part(0, 4)
    levels = 255 * x[:, :, :3]
    torch.testing.assert_close(levels, levels.round(), atol=1e-3, rtol=0)
    assert levels.min() >= 0
    assert levels.max() <= 255.001


def test_where_an_aligned_shot_shows_nothing_it_has_the_pixels_of_the_first_one():
    x, _ = sets(Camera(**{**STILL, "shift": 8.0}, noise=(9.0, 9.0), aligned=1.0)).part(0, 16)
    copied = (x[:, 1:, :3] == x[:, :1, :3]).all(2)
    border = torch.cat([copied[..., :4].flatten(), copied[..., -4:].flatten()])
    middle = copied[..., 20:-20, 20:-20]
    assert border.float().mean() > 0.1
    assert middle.float().mean() < 0.01


def test_alignment_interpolates_so_noise_of_other_shots_is_weaker():
    camera = Camera(**{**STILL, "shift": 2.0}, noise=(20.0, 20.0), poisson=0.0, aligned=1.0)
    x, y = sets(camera, 64).part(0, 64)
    wrong = (x[:, :, :3] - y[:, None])[..., 24:-24, 24:-24].std((0, 2, 3, 4))
    assert wrong[1:].max() < 0.95 * wrong[0]


def test_a_share_of_bursts_lies_within_what_alignment_leaves():
    def moved(aligned):
        camera = Camera(**{**STILL, "shift": 4.0}, noise=(1e-3, 1e-3), aligned=aligned)
        x, y = sets(camera).part(0, 16)
        return (x[:, 1:, :3] - y[:, None]).abs().mean()

    assert moved(0.0) > 4 * moved(1.0)


@pytest.mark.parametrize("change", [{"sharp": 0.0}, {"jpeg": 1.0}])
def test_blur_and_jpeg_take_detail_away(change):
    camera = Camera(**{**STILL, **change}, noise=(1e-3, 1e-3))
    x, y = sets(camera).part(0, 16)
    assert (x[:, :, :3] - y[:, None]).abs().mean() > 0.5 / 255


def test_sets_for_evaluation_are_fixed_and_others_are_fresh():
    made = sets(Camera())
    assert torch.equal(made.part(3, 7)[0], made.part(0, 16)[0][3:7])
    assert not torch.equal(sets(Camera(), seed=1).part(3, 7)[0], made.part(3, 7)[0])
    which = torch.arange(4)
    assert not torch.equal(made.batch(which)[0], made.batch(which)[0])


def test_single_shots_and_sixteen_are_bursts_too():
    for num in (1, 16):
        x, y = sets(Camera(), 2, num).part(0, 2)
        assert x.shape == (2, num, 4, 64, 64)
        assert y.shape == (2, 3, 64, 64)
        assert x.isfinite().all()


@pytest.mark.parametrize("size", [60, 72, 0])
def test_sizes_that_do_not_fit_are_named(size):
    assert SPARE == 16
    with pytest.raises(ValueError, match=r"size must be (a multiple of 8, at most 64|at least 1)"):
        ShotSets(photos(), 2, size=size)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": (0.0, 5.0)}, "noise must be two rising, positive numbers"),
        ({"noise": (5.0, 2.0)}, "noise must be two rising, positive numbers"),
        ({"shake": -1.0}, "shake must be 0 or positive, got -1"),
        ({"shift": float("nan")}, "shift must be 0 or positive, got nan"),
    ],
)
def test_cameras_that_cannot_be_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Camera(**options)


@pytest.mark.parametrize("grey", [0.0, 1.0])
def test_grey_bursts_have_one_colour_and_the_noise_of_one(grey):
    camera = Camera(**{**STILL, "grey": grey}, noise=(20.0, 20.0), poisson=0.0, aligned=0.0)
    x, y = sets(camera).part(0, 4)
    for pictures in (x[:, :, :3], y[:, None]):
        assert bool((pictures == pictures[:, :, :1]).all()) == bool(grey)
    if grey:
        assert (x[:, :, 0] - y[:, None, 0]).std() * 255 == pytest.approx(20, rel=0.1)


def test_noise_of_colours_may_be_alike_in_some_bursts():
    camera = Camera(**STILL, noise=(9.0, 9.0), poisson=0.0, aligned=0.0)
    flat = torch.full((24, 3, 96, 96), 128, dtype=torch.uint8)
    noise = ShotSets(flat, 24, size=64, camera=camera).part(0, 24)[0][:, 0, :3].flatten(2) - 0.5
    alike = torch.stack([torch.corrcoef(burst)[0, 1] for burst in noise])
    assert alike.min() < 0.1
    assert alike.max() > 0.5

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from symsets import RaggedSets
from symsets.experiments.satellite.generated import GeneratedScenes
from symsets.experiments.satellite.metric import cpsnr
from symsets.experiments.satellite.sets import (
    CHANNELS,
    CLEAR,
    FINE,
    RAW,
    SEEN,
    SHIFT,
    SceneSets,
    Turn,
    bicubic,
    mean,
    turned,
)

SIDE, CROP = 16, 10
TURNS = [(bool(k & 1), bool(k & 2), bool(k & 4)) for k in range(8)]


@pytest.fixture(scope="module")
def scenes():
    return GeneratedScenes(side=SIDE).scenes("RED", "train", 3)


@pytest.fixture(scope="module")
def sets(scenes):
    return SceneSets(scenes, num_elements=8, crop=CROP)


def scaled(values):
    return torch.from_numpy(values.astype(np.float32)) / 65_535


def fixed(turn, top=2, left=3, num=1):
    """Return one crop and turn for all sets."""
    flags = [torch.full((num,), flag) for flag in turn]
    return Turn(torch.full((num,), top), torch.full((num,), left), *flags, crop=CROP)


def flipped(picture, turn):
    picture = picture.mT if turn[0] else picture
    return picture.flip([axis for axis, flag in ((-2, turn[1]), (-1, turn[2])) if flag])


def test_training_sets_are_crops_of_equal_size(sets):
    x, y = sets.batch(torch.tensor([[0, 1], [2, 0]]))
    assert x.shape == (2, 2, 8, CHANNELS, CROP, CROP)
    assert y.shape == (2, 2, 3, 3 * CROP, 3 * CROP)


def test_evaluation_shows_the_clearest_pictures_in_full(scenes, sets):
    x, y = sets.part(0, 9)
    assert isinstance(x, RaggedSets)
    assert x.elements.shape == (24, CHANNELS, SIDE, SIDE)
    for k, scene in enumerate(scenes):
        own = x.elements[8 * k : 8 * k + 8]
        assert torch.equal(own[:, 0], scaled(scene.low[:8]))
        assert torch.equal(own[:, 1] > 0, torch.from_numpy(scene.clear[:8]))
        assert torch.equal(y[k, 0], scaled(scene.high))
        assert torch.equal(y[k, 1] > 0, torch.from_numpy(scene.known))


def test_the_third_channel_of_a_target_is_the_error_of_the_mean(sets):
    x, y = sets.part(0, 3)
    error = 10 ** (-cpsnr(mean(x), y) / 20)
    assert torch.allclose(y[:, 2, 0, 0], error, rtol=0.02)  # kept in half precision
    assert torch.equal(y[:, 2], y[:, 2, :1, :1].expand_as(y[:, 2]))


@pytest.mark.parametrize("turn", TURNS)
def test_a_crop_is_cut_out_and_turned(turn):
    pictures = torch.rand(4, SIDE, SIDE)
    found = fixed(turn)(pictures, torch.tensor([[3, 1]]))
    wanted = flipped(pictures[[3, 1], 2 : 2 + CROP, 3 : 3 + CROP], turn)
    assert torch.equal(found[0], wanted)


@pytest.mark.parametrize("turn", TURNS)
def test_the_fine_grid_is_cut_at_the_same_place(turn):
    coarse = torch.rand(1, SIDE, SIDE)
    fine = coarse.repeat_interleave(3, 1).repeat_interleave(3, 2)
    crop, which = fixed(turn), torch.tensor([[0]])
    found = crop(fine, which, scale=3)
    assert torch.equal(found[..., ::3, ::3], crop(coarse, which))
    blocks = found.unfold(-2, 3, 3).unfold(-2, 3, 3).flatten(-2)
    assert torch.equal(blocks, blocks[..., :1].expand_as(blocks))


@pytest.mark.parametrize("turn", TURNS)
def test_shifts_turn_with_their_pictures(turn):
    picture = torch.zeros(1, 1, SIDE, SIDE)
    picture[..., 6, 7] = 1
    moved = picture.roll((1, 2), (-2, -1))
    crop, which = fixed(turn), torch.tensor([[0]])
    before, after = (crop(p[:, 0], which)[0, 0].nonzero()[0] for p in (picture, moved))
    found = crop.vectors(torch.tensor([[[1.0, 2.0]]]))[0, 0]
    assert torch.equal((after - before).float(), found)


@pytest.mark.parametrize("turn", TURNS)
def test_whole_elements_turn_as_crops_do(sets, turn):
    x, _ = sets.part(0, 1)
    found = turned(x.elements, *turn)
    for channels in (RAW, CLEAR, SEEN):
        assert torch.equal(found[:, channels], flipped(x.elements[:, channels], turn))
    fine = F.pixel_shuffle(x.elements[:, FINE], 3)
    assert torch.equal(F.pixel_shuffle(found[:, FINE], 3), flipped(fine, turn))
    crop = replace(fixed(turn, top=0, left=0), crop=SIDE)
    shifts = crop.vectors(x.elements[None, :, SHIFT, 0, 0])[0]
    assert torch.equal(found[:, SHIFT, 0, 0], shifts)


def test_all_eight_turns_and_all_places_are_drawn():
    torch.manual_seed(0)
    drawn = Turn.draw(4000, torch.Size([SIDE, SIDE]), CROP, torch.device("cpu"))
    flags = torch.stack([drawn.transposed, drawn.upside_down, drawn.mirrored], 1)
    assert len(flags.unique(dim=0)) == 8
    for place in (drawn.top, drawn.left):
        assert place.unique().tolist() == list(range(SIDE - CROP + 1))


def test_pictures_are_drawn_without_repetition_from_their_own_scene(sets):
    torch.manual_seed(0)
    drawn = sets._draw(torch.tensor([0, 1, 2] * 50))
    starts = torch.tensor([0, *sets.sizes]).cumsum(0)
    for k, row in enumerate(drawn):
        assert len(row.unique()) == 8
        assert starts[k % 3] <= row.min() <= row.max() < starts[k % 3 + 1]
    assert set(drawn[::3].flatten().tolist()) == set(range(sets.sizes[0]))


def test_small_scenes_show_all_their_pictures_before_one_comes_again(scenes):
    many = SceneSets(scenes, num_elements=40, crop=CROP)
    for k, row in enumerate(many._draw(torch.arange(3))):
        counts = row.unique(return_counts=True)[1]
        assert len(counts) == len(scenes[k].low)
        assert counts.max() - counts.min() <= 1


def test_numbers_of_different_pictures_are_drawn_evenly_from_the_fewest(scenes):
    torch.manual_seed(0)
    few = SceneSets(scenes, num_elements=8, crop=CROP, fewest=3)
    drawn = torch.tensor([len(row.unique()) for row in few._draw(torch.arange(3).repeat(200))])
    values, counts = drawn.unique(return_counts=True)
    assert values.tolist() == list(range(3, 9))
    assert counts.min() > 60


def test_registered_pictures_have_weights(sets):
    x, _ = sets.part(0, 3)
    weights = x.elements[:, SEEN].flatten(1)
    assert len(weights.amax(1).unique()) > 4
    assert weights.max() == 1
    assert weights.min() == 0


def test_fewer_pictures_and_fewer_scenes(sets):
    x, y = sets.with_pictures(3).part(0, 3)
    assert len(x.elements) == 9
    few, wanted = sets.first(2).part(0, 5)
    assert torch.equal(few.elements, sets.part(0, 2)[0].elements)
    assert torch.equal(wanted, y[:2])
    with pytest.raises(ValueError, match=r"num must be in 1\.\.3, .* got 4"):
        sets.first(4)


def test_without_registration_all_shifts_are_zero(scenes):
    raw = SceneSets(scenes, crop=CROP, registered=False)
    assert not raw.shifts.any()
    x, _ = raw.part(0, 1)
    assert torch.equal(x.elements[:, SEEN], x.elements[:, CLEAR])


def test_crops_larger_than_pictures_are_refused(scenes):
    with pytest.raises(ValueError, match=r"crop must be in 1\.\.16, got 17"):
        SceneSets(scenes, crop=17)


def test_scenes_of_different_sizes_are_refused(scenes):
    other = GeneratedScenes(side=SIDE + 2).scenes("RED", "train", 1)
    with pytest.raises(ValueError, match=r"pictures of one size, got \[\(16, 16\), \(18, 18\)\]"):
        SceneSets([*scenes, *other], crop=CROP)


def test_sets_can_be_of_another_type(sets):
    x, y = sets.to("cpu", torch.float64).batch(torch.tensor([0]))
    assert x.dtype == y.dtype == torch.float64


def test_baselines_have_the_size_of_the_truth(scenes, sets):
    x, y = sets.part(0, 3)
    assert bicubic(x).shape == mean(x).shape == (3, 1, 3 * SIDE, 3 * SIDE)
    alone = F.interpolate(scaled(scenes[0].low)[None, :1], scale_factor=3, mode="bicubic")
    assert torch.allclose(bicubic(x)[:1], alone)
    assert (cpsnr(mean(x), y) > 30).all()

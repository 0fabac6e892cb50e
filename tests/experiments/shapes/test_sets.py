import pytest
import torch

from symsets.experiments.shapes.motions import Motions
from symsets.experiments.shapes.sets import CentralFrameSets, mean_shape, skip_study


def clock(*lengths, vertices=5):
    """Return sequences whose shapes tell which frame (x) of which sequence (y) they are."""
    sequences = []
    for number, length in enumerate(lengths):
        shapes = torch.zeros(length, 3, vertices)
        shapes[:, 0] = torch.arange(float(length))[:, None]
        shapes[:, 1] = number
        sequences.append(shapes)
    return Motions.join(sequences, [f"s{i}_a" for i in range(len(lengths))])


def checked(x, target, skip):
    """Return the first frame and the sequence of each set, which must be a shuffled crop."""
    frames, which = x[:, :, 0, 0], x[:, :, 1, 0]
    assert (which == which[:, :1]).all()
    ordered = frames.sort(1).values
    assert (ordered.diff(dim=1) == skip).all()
    assert torch.equal(frames.gather(1, target[:, None])[:, 0], ordered[:, 3])
    return ordered[:, 0], which[:, 0]


@pytest.mark.parametrize("skip", [1, 4])
def test_sets_are_shuffled_crops_and_the_target_is_central(skip):
    sets = CentralFrameSets(clock(40, 30), 500, skip=skip)
    for x, target in (sets.batch(torch.arange(500)), sets.part(0, 500)):
        start, which = checked(x, target, skip)
        assert start.min() == 0
        for number, length in enumerate((40, 30)):
            assert start[which == number].max() == length - 6 * skip - 1
        assert target.unique().tolist() == list(range(7))


def test_training_draws_anew_and_evaluation_repeats():
    sets = CentralFrameSets(clock(60, 40), 64, skip=2, seed=3)
    which = torch.arange(64)
    assert not torch.equal(sets.batch(which)[0], sets.batch(which)[0])
    assert torch.equal(sets.part(0, 64)[0], sets.part(0, 64)[0])
    assert torch.equal(sets.part(10, 20)[0], sets.part(0, 64)[0][10:20])
    other = CentralFrameSets(clock(60, 40), 64, skip=2, seed=4)
    assert not torch.equal(sets.part(0, 64)[0], other.part(0, 64)[0])
    assert sets.batch(which.reshape(2, 32))[0].shape == (2, 32, 7, 3, 5)


def test_evaluation_uses_every_crop_once_before_any_twice():
    sets = CentralFrameSets(clock(20, 17), 25, skip=2)  # 8 + 5 crops
    start, which = checked(*sets.part(0, 13), 2)
    assert len(set(zip(start.tolist(), which.tolist(), strict=True))) == 13
    assert len(sets.part(0, 25)[1]) == 25


def test_fewer_sets_come_from_the_same_crops():
    sets = CentralFrameSets(clock(100), 1000, skip=1)
    some = sets.first(100)
    start, _ = checked(*some.batch(torch.arange(1000)), 1)
    assert len(start.unique()) == 94  # and so whatever the largest number of sets is
    moved = some.to("cpu", torch.float64)
    assert moved.batch(torch.arange(4))[0].dtype == torch.float64
    assert moved.num_sets == 100


def test_short_sequences_are_left_out_and_named():
    sets = CentralFrameSets(clock(12, 13, 5), 50, skip=2)
    assert sets.left_out == ["s0_a", "s2_a"]
    assert sets.note == "left out 2 sequences of fewer than 13 frames: s0_a, s2_a"
    _, which = checked(*sets.part(0, 50), 2)
    assert which.unique().tolist() == [1]
    one = CentralFrameSets(clock(12, 13), 1, skip=2)
    assert one.note == "left out 1 sequence of fewer than 13 frames: s0_a"
    assert CentralFrameSets(clock(20), 1, skip=2).note == ""


def test_mean_shape_picks_what_is_closest_in_the_sum_of_distances():
    x = torch.randn(6, 7, 3, 11, dtype=torch.float64)
    for b, pick in enumerate(mean_shape(x).tolist()):
        distance = [(x[b, i] - x[b].mean(0)).abs().sum() for i in range(7)]
        assert distance[pick] == min(distance)
    order = torch.randperm(7)
    assert torch.equal(order[mean_shape(x[:, order])], mean_shape(x))


def test_the_study_is_exact_where_the_answer_is_known():
    there_and_back = clock(80)
    turned = there_and_back.shapes.clone()
    turned[:, 0] = (there_and_back.shapes[:, 0] - 40).abs()
    folded = there_and_back._replace(shapes=turned)
    study = skip_study(folded, (1, 3))
    assert 0.8 < study[1] < 1  # only crops with the turning point inside go wrong
    assert 0.6 < study[3] < study[1]
    assert skip_study(there_and_back, (1, 3)) == {1: 1.0, 3: 1.0}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: CentralFrameSets(clock(10, 24, 23), 5, skip=4),
            "sequence 's1_a' must have at least 25 frames for 7 at a skip of 4, got 24, and no ot",
        ),
        (lambda: CentralFrameSets(clock(30), 5, num_frames=6), "num_frames must be odd .* got 6"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

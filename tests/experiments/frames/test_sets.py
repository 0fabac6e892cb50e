import pytest
import torch

from symsets.data.clips import Clips
from symsets.experiments.frames.sets import MEAN, SPREAD, FrameSets

LENGTHS = (9, 3, 12, 7)


def clips(lengths=LENGTHS, size=8):
    """Clips whose frames tell their clip (red) and their number (green); blue tells places."""
    place = torch.arange(size * size, dtype=torch.uint8).view(size, size)
    made = []
    for m, length in enumerate(lengths):
        clip = torch.empty(length, 3, size, size, dtype=torch.uint8)
        clip[:, 0] = 10 * m
        clip[:, 1] = torch.arange(length, dtype=torch.uint8)[:, None, None]
        clip[:, 2] = place
        made.append(clip)
    return Clips.join(made, [f"source{m % 2}/{m}" for m in range(len(lengths))])


def seen(x):
    """Return the clip, the number and the places ``(B, N, …)`` of each frame."""
    levels = (255 * (x * SPREAD + MEAN)).round().long()
    return levels[:, :, 0, 0, 0] // 10, levels[:, :, 1, 0, 0], levels[:, :, 2]


@pytest.mark.parametrize("training", [False, True])
def test_frames_are_consecutive_and_the_target_is_the_earliest(training):
    sets = FrameSets(clips(), 90, num_elements=4, size=8)
    x, y = sets.batch(torch.arange(90)) if training else sets.part(0, 90)
    clip, number, _ = seen(x)
    assert torch.equal(clip, clip[:, :1].expand_as(clip))
    assert torch.equal(y, torch.stack([number.argmin(1), number.argmax(1)], 1))
    ordered = number.sort(1).values
    assert torch.equal(ordered - ordered[:, :1], torch.arange(4).expand_as(number))
    last = torch.tensor(LENGTHS)[clip[:, 0]] - 1
    assert (ordered[:, -1] <= last).all()


def test_every_start_that_fits_occurs():
    sets = FrameSets(clips(), 900, num_elements=7, size=8)
    clip, number, _ = seen(sets.part(0, 900)[0])
    for m, length in enumerate(LENGTHS):
        starts = number[clip[:, 0] == m].amin(1)
        assert starts.unique().tolist() == list(range(max(0, length - 6)))


def test_short_clips_are_left_out_and_the_others_take_turns():
    sets = FrameSets(clips(), 9, num_elements=5, size=8)
    clip, _, _ = seen(sets.part(0, 9)[0])
    assert clip[:, 0].tolist() == [0, 2, 3] * 3
    assert sets.names == ["source0/0", "source0/2", "source1/3"]
    assert [sets.source_of(i) for i in range(4)] == ["source0", "source0", "source1", "source0"]


def test_a_clip_that_just_fits_is_used():
    x, _ = FrameSets(clips((7, 6)), 4, num_elements=7, size=8).part(0, 4)
    clip, number, _ = seen(x)
    assert (clip == 0).all()
    assert (number.amin(1) == 0).all()


def test_orders_are_uniform():
    _, y = FrameSets(clips(), 800, num_elements=4, size=8).part(0, 800)
    first = y[:, 0].bincount(minlength=4)
    assert (first - 200).abs().max() < 55  # more than four standard deviations


def test_frames_of_a_set_move_alike_in_training_only():
    sets = FrameSets(clips(), 80, num_elements=4, size=6)
    _, _, places = seen(sets.batch(torch.arange(80))[0])
    assert torch.equal(places, places[:, :1].expand_as(places))
    corners = {(p[0, 0, 0].item(), p[0, 0, -1].item()) for p in places}
    assert len(corners) > 14  # of nine crops, each also mirrored
    _, _, still = seen(sets.part(0, 80)[0])
    middle = torch.arange(64).view(8, 8)[1:7, 1:7]
    assert torch.equal(still, middle.expand_as(still))


def test_few_sets_are_made_of_the_first_clips_alone():
    sets = FrameSets(clips(), 90, num_elements=4, size=8).first(2)
    clip, _, _ = seen(sets.batch(torch.arange(50))[0])
    assert clip[:, 0].unique().tolist() == [0, 2]


def test_moving_and_casting_change_no_set():
    sets = FrameSets(clips(), 5, size=8, num_elements=3)
    moved = sets.to("cpu", torch.float64)
    x, y = moved.part(0, 5)
    assert x.dtype == torch.float64
    assert torch.equal(x.float(), sets.part(0, 5)[0])
    assert torch.equal(y, sets.part(0, 5)[1])


def test_clips_that_are_all_too_short_are_named():
    with pytest.raises(ValueError, match="clips must have 13 frames, the longest has 12"):
        FrameSets(clips(), 5, num_elements=13)

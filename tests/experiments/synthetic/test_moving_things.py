import pytest
import torch

from symsets.experiments.synthetic.motion import KINDS, tracks
from symsets.experiments.synthetic.moving_things import MovingThings


def test_clips_are_fixed_by_their_seed():
    a, b = (MovingThings(16, seed=2).clips("train", 13) for _ in range(2))
    assert torch.equal(a.frames, b.frames)
    assert a.names == b.names
    other = MovingThings(16, seed=3).clips("train", 13)
    assert other.names != a.names


def test_more_clips_leave_the_first_ones_as_they_were():
    few, many = MovingThings(16).clips("test", 4), MovingThings(16).clips("test", 23)
    assert torch.equal(few.frames, many.frames[: len(few.frames)])
    assert few.names == many.names[:4]
    assert torch.equal(few.lengths, many.lengths[:4])


def test_clips_have_different_lengths_and_kinds():
    clips = MovingThings(16).clips("train", 60)
    assert set(clips.sources) == {"bounce", "slide", "burst", "spread", "fade"}
    assert clips.lengths.min() == 12
    assert clips.lengths.max() == 24
    assert clips.lengths.sum() == len(clips.frames)
    assert [len(clip) for clip in clips.each()] == clips.lengths.tolist()


def share_that_calms_down(clips, reverse):
    """Return for each kind how often frames change less in the second half of the clip."""
    calmer = {kind: [] for kind in clips.sources}
    for kind, clip in zip(clips.sources, clips.each(), strict=True):
        change = clip.float().diff(dim=0).abs().mean((1, 2, 3))
        change = change.flip(0) if reverse else change
        half = len(change) // 2
        calmer[kind].append(bool(change[:half].mean() > change[-half:].mean()))
    return {kind: sum(each) / len(each) for kind, each in calmer.items()}


def test_time_has_a_direction():
    clips = MovingThings(32).clips("train", 150)
    # things come to rest, thin out and vanish: a coin would give 0.5
    assert min(share_that_calms_down(clips, reverse=False).values()) > 0.7
    assert max(share_that_calms_down(clips, reverse=True).values()) < 0.3


def test_balls_fall_and_bounce_lower_each_time():
    kinds = torch.full((40,), KINDS.index("bounce"))
    moving = tracks(kinds, 40, 12.0, torch.Generator().manual_seed(0))
    visible = moving.opacity[:, 0] > 0
    early, late = moving.row[:, :20].mean(1), moving.row[:, 20:].mean(1)
    assert (late > early)[visible].float().mean() > 0.95
    highest_early, highest_late = moving.row[:, :15].amin(1), moving.row[:, 25:].amin(1)
    assert (highest_late > highest_early)[visible].float().mean() > 0.95


def test_things_stay_in_the_picture():
    moving = tracks(torch.arange(50) % len(KINDS), 24, 12.0, torch.Generator().manual_seed(0))
    assert moving.row.min() > 0
    assert moving.row.max() < 1
    assert moving.column.min() > 0
    assert moving.column.max() < 1


def test_bad_settings_are_named():
    with pytest.raises(ValueError, match=r"split must be one of"):
        MovingThings().clips("validation", 3)

import pytest
import torch

from symsets.data.splits import SPLITS
from symsets.experiments.synthetic import leaves as _leaves
from symsets.experiments.synthetic.dead_leaves import DeadLeaves
from symsets.experiments.synthetic.moving_things import MovingThings
from symsets.experiments.synthetic.photos import PHOTOGRAPHS, EmbeddedImages, PhotoCrops


@pytest.fixture(params=[DeadLeaves, PhotoCrops, EmbeddedImages])
def kind(request):
    if request.param is not DeadLeaves:
        pytest.importorskip("skimage", reason="needs the photographs in scikit-image")
        pytest.importorskip("sklearn", reason="needs the photographs in scikit-learn")
    return request.param


def test_pictures_are_fixed_by_their_seed(kind):
    first = kind(24, seed=3).images("train", 18)
    assert first.shape == (18, 3, 24, 24)
    assert first.dtype == torch.uint8
    assert torch.equal(first, kind(24, seed=3).images("train", 18))
    assert not torch.equal(first, kind(24, seed=4).images("train", 18))


def test_more_pictures_leave_the_first_ones_as_they_were(kind):
    assert torch.equal(kind(24).images("val", 20)[:5], kind(24).images("val", 5))


def test_splits_are_disjoint(kind):
    pictures = torch.cat([kind(24).images(split, 10) for split in SPLITS])
    assert len(pictures.flatten(1).unique(dim=0)) == 30


def test_no_photograph_is_in_two_splits():
    assert len(set().union(*PHOTOGRAPHS.values())) == sum(map(len, PHOTOGRAPHS.values()))


def test_pictures_have_contrast_and_colour(kind):
    x = kind(48).images("train", 32).float()
    assert x.std((1, 2, 3)).median() > 25
    assert (x[:, 0] - x[:, 2]).abs().mean() > 5
    assert 60 < x.mean() < 190


def spectral_slope(pictures):
    """Fit log power against log frequency, averaged over pictures and directions."""
    grey = pictures.double().mean(1)
    grey = grey - grey.mean((1, 2), keepdim=True)
    size = grey.shape[-1]
    window = torch.hann_window(size, dtype=torch.float64)
    power = torch.fft.fft2(grey * window * window[:, None]).abs().square().mean(0)
    f = torch.fft.fftfreq(size) * size
    ring = torch.hypot(f[:, None], f).round()
    rings = torch.arange(3, size * 3 // 8)
    profile = torch.stack([power[ring == k].mean() for k in rings]).log()
    log_f = rings.double().log()
    log_f = log_f - log_f.mean()
    return float((log_f * profile).sum() / log_f.square().sum())


def test_leaves_have_the_spectrum_of_photographs():
    # power 1 / f², steeper by smooth shading and anti-aliasing, as in photographs of this size
    assert -3.0 < spectral_slope(DeadLeaves(64).images("train", 48)) < -1.8
    noise = torch.randint(256, (20, 3, 64, 64), dtype=torch.uint8)
    assert abs(spectral_slope(noise)) < 0.3  # the fit itself can tell


def test_leaves_have_no_scale_of_their_own():
    radius = _leaves.fall(200, 900, torch.Generator().manual_seed(0)).radius[:, :-1]
    radius = radius[radius > 8 * _leaves.SMALLEST]  # there all pictures have leaves
    # a leaf hits the picture if its centre lies in a square of side 1 + 2 r
    weight = (1 + 2 * radius) ** -2
    low, high = (weight[(radius > a) & (radius <= 1.5 * a)].sum() for a in (0.13, 0.2))
    ratio = torch.log(high / low) / torch.log(torch.tensor(0.2 / 0.13))
    assert abs(ratio + 2) < 0.4  # density r⁻³, so their number in a factor of 1.5 falls as r⁻²


def test_front_leaves_hide_those_behind():
    leaves = _leaves.fall(3, 60, torch.Generator().manual_seed(0))
    front = _leaves.seen(leaves, 24)
    place = (torch.arange(24) + 0.5) / 24
    every = _leaves.Leaf(*(part[:, :, None, None] for part in leaves))  # (B, K, 1, 1)
    inside = every.level(*every.local(place[:, None], place)) < 1  # (B, K, 24, 24)
    inside[:, -1] = True  # the ground has no end
    assert torch.equal(front, inside.int().argmax(1))


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
    from symsets.experiments.synthetic.motion import KINDS, tracks

    kinds = torch.full((40,), KINDS.index("bounce"))
    moving = tracks(kinds, 40, 12.0, torch.Generator().manual_seed(0))
    visible = moving.opacity[:, 0] > 0
    early, late = moving.row[:, :20].mean(1), moving.row[:, 20:].mean(1)
    assert (late > early)[visible].float().mean() > 0.95
    highest_early, highest_late = moving.row[:, :15].amin(1), moving.row[:, 25:].amin(1)
    assert (highest_late > highest_early)[visible].float().mean() > 0.95


def test_things_stay_in_the_picture():
    from symsets.experiments.synthetic.motion import KINDS, tracks

    moving = tracks(torch.arange(50) % len(KINDS), 24, 12.0, torch.Generator().manual_seed(0))
    assert moving.row.min() > 0
    assert moving.row.max() < 1
    assert moving.column.min() > 0
    assert moving.column.max() < 1


def test_bad_settings_get_a_sentence():
    with pytest.raises(ValueError, match=r"size must be at least 8, got 4"):
        DeadLeaves(4)
    with pytest.raises(ValueError, match=r"num must be at least 1, got 0"):
        DeadLeaves().images("train", 0)
    with pytest.raises(ValueError, match=r"split must be one of"):
        MovingThings().clips("validation", 3)
    with pytest.raises(ValueError, match=r"min_frames must be in 1\.\.max_frames = 8, got 12"):
        MovingThings(max_frames=8)

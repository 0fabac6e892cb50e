import pytest
import torch

from symsets.data.splits import SPLITS
from symsets.experiments.synthetic.dead_leaves import DeadLeaves
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


def test_bad_settings_are_named():
    with pytest.raises(ValueError, match=r"num must be at least 1, got 0"):
        DeadLeaves().images("train", 0)
    with pytest.raises(ValueError, match=r"split must be one of"):
        DeadLeaves().images("validation", 3)

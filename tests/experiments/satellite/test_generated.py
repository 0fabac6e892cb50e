import pytest
import torch

from symsets.experiments.satellite.generated import GeneratedScenes
from symsets.experiments.satellite.scenes import STEP

FIELDS = ("low", "clear", "high", "known")


@pytest.fixture(scope="module")
def scenes():
    return GeneratedScenes(side=24).scenes("RED", "train", 6)


def test_scenes_are_as_those_of_the_challenge(scenes):
    assert all(9 <= size <= 24 for size in scenes.sizes)
    assert scenes.low.shape == scenes.clear.shape == (sum(scenes.sizes), 24, 24)
    assert scenes.high.shape == scenes.known.shape == (6, 72, 72)
    for pictures in (scenes.low, scenes.high):
        assert ((pictures * 65_535).round() % STEP == 0).all()
        assert 0 <= pictures.min() <= pictures.max() <= 1


def test_the_seed_fixes_them(scenes):
    again = GeneratedScenes(side=24).scenes("RED", "train", 6)
    other = GeneratedScenes(side=24, seed=1).scenes("RED", "train", 6)
    assert all(torch.equal(getattr(again, name), getattr(scenes, name)) for name in FIELDS)
    assert not torch.equal(other.high, scenes.high)


def test_the_first_scenes_stay_the_same_if_more_are_asked_for(scenes):
    few = GeneratedScenes(side=24).scenes("RED", "train", 2)
    assert torch.equal(few.low, scenes.low[: sum(few.sizes)])
    assert torch.equal(few.high, scenes.high[:2])


def test_splits_show_other_places(scenes):
    for split in ("val", "test"):
        other = GeneratedScenes(side=24).scenes("RED", split, 6)
        apart = (other.high[:, None] - scenes.high[None]).abs().flatten(2).amax(2)
        assert (apart > 0.01).all()


def test_masks_tell_where_clouds_are_and_the_clearest_come_first(scenes):
    for low, clear in zip(
        scenes.low.split(scenes.sizes), scenes.clear.split(scenes.sizes), strict=True
    ):
        shares = clear.double().mean((1, 2))
        assert (shares.diff() <= 0).all()
        assert shares[0] == 1
        cloudy = shares < 0.9
        for picture, mask in zip(low[cloudy], clear[cloudy], strict=True):
            assert picture[~mask].mean() > picture[mask].mean()


def test_nir_has_more_noise():
    red, nir = (GeneratedScenes(side=24).scenes(band, "test", 2) for band in ("RED", "NIR"))
    assert torch.equal(red.high, nir.high)
    assert not torch.equal(red.low, nir.low)

    def rough(scenes):
        curved = scenes.low.diff(n=2, dim=-1)[scenes.clear.flatten(1).all(1)]
        return curved.square().mean()

    assert rough(nir) > rough(red)

import numpy as np
import pytest

from symsets.experiments.satellite.generated import GeneratedScenes
from symsets.experiments.satellite.scenes import STEP

FIELDS = ("low", "clear", "high", "known")


@pytest.fixture(scope="module")
def scenes():
    return GeneratedScenes(side=24).scenes("RED", "train", 6)


def assert_equal(some, others):
    for one, other in zip(some, others, strict=True):
        assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in FIELDS)


def test_scenes_are_as_those_of_the_challenge(scenes):
    assert len(scenes) == 6
    for scene in scenes:
        assert 9 <= len(scene.low) <= 24
        assert scene.low.shape == scene.clear.shape == (len(scene.low), 24, 24)
        assert scene.high.shape == scene.known.shape == (72, 72)
        for pictures in (scene.low, scene.high):
            assert pictures.dtype == np.uint16
            assert (pictures % STEP == 0).all()


def test_the_seed_fixes_them(scenes):
    assert_equal(GeneratedScenes(side=24).scenes("RED", "train", 6), scenes)
    other = GeneratedScenes(side=24, seed=1).scenes("RED", "train", 6)
    assert not np.array_equal(other[0].high, scenes[0].high)


def test_the_first_scenes_stay_the_same_if_more_are_asked_for(scenes):
    assert_equal(GeneratedScenes(side=24).scenes("RED", "train", 2), scenes[:2])


def test_splits_show_other_places(scenes):
    for split in ("val", "test"):
        for other in GeneratedScenes(side=24).scenes("RED", split, 6):
            for scene in scenes:
                apart = np.abs(other.high.astype(float) - scene.high.astype(float)).max()
                assert apart > 0.01 * 65_535


def test_masks_tell_where_clouds_are_and_the_clearest_come_first(scenes):
    for scene in scenes:
        shares = scene.clear.mean((1, 2))
        assert (np.diff(shares) <= 0).all()
        assert shares[0] == 1
        cloudy = shares < 0.9
        for picture, mask in zip(scene.low[cloudy], scene.clear[cloudy], strict=True):
            assert picture[~mask].mean() > picture[mask].mean()


def test_nir_has_more_noise():
    red, nir = (GeneratedScenes(side=24).scenes(band, "test", 2)[0] for band in ("RED", "NIR"))
    assert np.array_equal(red.high, nir.high)
    assert not np.array_equal(red.low, nir.low)

    def rough(scene):
        curved = np.diff(scene.low.astype(float), n=2)[scene.clear.all((1, 2))]
        return np.square(curved).mean()

    assert rough(nir) > rough(red)

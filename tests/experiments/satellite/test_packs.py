import lzma
import os
import shutil
import warnings

import numpy as np
import pytest

from symsets.experiments.satellite.experiment import EXPERIMENT
from symsets.experiments.satellite.packs import (
    ScenePack,
    compress,
    decompress,
    is_scene_pack,
    pack_scenes,
    read_pack,
)
from symsets.experiments.satellite.scenes import SceneFolder, read_norms
from symsets.experiments.study.catalogue import available, scene_source


@pytest.fixture
def packs(layout, tmp_path):
    out = tmp_path / "packs"
    pack_scenes(layout, out, "RED", "train", files=2)
    pack_scenes(layout, out, "RED", "val")
    return out


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 8, 9), (2, 31, 5)])
def test_nothing_is_lost(shape):
    rng = np.random.default_rng(0)
    for pictures in (
        rng.integers(0, 4096, shape),
        np.zeros(shape, int),
        np.full(shape, 4095),
        rng.integers(0, 2, shape) * 4095,  # the largest steps there are
    ):
        assert np.array_equal(decompress(compress(pictures), shape), pictures)


def test_smooth_pictures_become_small():
    wave = np.linspace(0, 6, 64)
    picture = (2000 + 1000 * np.sin(wave)[:, None] * np.cos(wave)).astype(int)[None]
    assert len(compress(picture)) < picture.size


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_packs_give_what_the_folder_gives(layout, packs, split):
    one, other = (
        source.scenes("RED", split, 9) for source in (SceneFolder(layout), ScenePack(packs))
    )
    for a, b in zip(one, other, strict=True):
        assert a.name == b.name
        for name in ("low", "clear", "high", "known"):
            assert np.array_equal(getattr(a, name), getattr(b, name))


def test_packs_keep_the_clearest_pictures(layout, tmp_path):
    [path] = pack_scenes(layout, tmp_path / "few", "RED", "val", most=4)
    whole = SceneFolder(layout).read("RED", "test")
    for scene, full in zip(read_pack(path), whole, strict=True):
        assert np.array_equal(scene.low, full.low[:4])
        assert np.array_equal(scene.high, full.high)


def test_a_folder_of_packs_or_a_single_one_is_opened(packs):
    assert isinstance(EXPERIMENT.open_source(str(packs), 0), ScenePack)
    source = EXPERIMENT.open_source(str(packs / "RED-train-0.npz"), 0)
    assert source.bands == ("RED",)
    splits = ("train", "val", "test")
    names = [scene.name for split in splits for scene in source.scenes("RED", split, 9)]
    assert len(names) == len(set(names)) == 3  # without a pack of val, the test is carved out too


def test_reading_many_packs_at_once_leaves_warnings_as_they_are(layout, tmp_path):
    out = tmp_path / "many"
    pack_scenes(layout, out, "RED", "train", files=6)
    before = list(warnings.filters)
    for _ in range(10):
        ScenePack(out).scenes("RED", "train", 3)
        assert warnings.filters == before


def test_values_between_the_steps_are_refused(layout, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    path = layout / "val" / "RED" / "imgset0001" / "LR000.png"
    image.fromarray(np.asarray(image.open(path)) + np.uint16(1)).save(path)
    with pytest.raises(ValueError, match="imgset0001 must have values that 16 divides"):
        pack_scenes(layout, tmp_path / "packs", "RED", "val")


def test_files_that_are_no_packs_are_told_apart(packs, tmp_path):
    other = tmp_path / "other.npz"
    np.savez(other, x=np.zeros(3))
    assert is_scene_pack(packs / "RED-val-0.npz")
    assert not is_scene_pack(other)
    with pytest.raises(ValueError, match=r"other\.npz must be a pack of scenes"):
        ScenePack(other)


@pytest.mark.parametrize(
    "change",
    [
        {"sizes": np.array([3, 3])},
        {"sizes": np.array([-3, 9])},
        {"sizes": np.array([10**9, 10**9])},
        {"sizes": np.array([5])},
        {"side": np.array(-1)},
        {"side": np.array(10**7)},
        {"low": np.zeros(9, np.uint8)},
        {"clear": np.zeros(9, np.uint8)},
        {"name": np.zeros(2)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_damaged_pack_is_refused_by_name(packs, change):
    path = packs / "RED-val-0.npz"
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **arrays | change)
    with pytest.raises(ValueError, match=r"RED-val-0\.npz"):
        read_pack(path)


def test_a_pack_that_unpacks_to_more_than_it_says_is_refused(packs):
    path = packs / "RED-val-0.npz"
    with np.load(path) as file:
        arrays = dict(file)
    bomb = np.frombuffer(lzma.compress(bytes(10**7)), np.uint8)
    for name in ("low", "high", "clear", "known"):
        np.savez(path, **arrays | {name: bomb})
        with pytest.raises(ValueError, match=r"RED-val-0\.npz is inconsistent"):
            read_pack(path)


def test_scenes_and_packs_are_listed_and_opened_by_name(layout, packs, monkeypatch):
    layout.joinpath("train").rename(layout / "moved")
    (layout / "probav").mkdir()
    layout.joinpath("moved").rename(layout / "probav" / "train")
    monkeypatch.setenv("SYMSETS_DATA", os.pathsep.join([str(layout), str(packs)]))
    entries = {e.name: e.where for e in available() if e.kind == "scenes" and e.found and e.where}
    names = ("RED-train-0", "RED-train-1", "RED-val-0")
    assert entries == {"probav": layout / "probav"} | {n: packs / f"{n}.npz" for n in names}
    assert isinstance(scene_source("probav"), SceneFolder)
    assert isinstance(scene_source("RED-train-1"), ScenePack)


def test_packs_keep_what_the_baseline_reaches(layout, tmp_path):
    (layout / "norm.csv").write_text("imgset0000 50.5\n")
    pack_scenes(layout, tmp_path / "packs", "RED", "train")
    source = SceneFolder(layout)
    assert ScenePack(tmp_path / "packs").norms == source.norms == read_norms(layout)
    assert ScenePack(tmp_path / "packs" / "RED-train-0.npz").norms == source.norms
    shutil.rmtree(tmp_path / "packs")
    (layout / "norm.csv").unlink()
    pack_scenes(layout, tmp_path / "packs", "RED", "train")
    assert ScenePack(tmp_path / "packs").norms == {}

from dataclasses import replace

import numpy as np
import pytest

from symsets.cli.options import RunOptions
from symsets.data.decoding import UnusableError
from symsets.data.folders import MissingDataError
from symsets.experiments.satellite.experiment import EXPERIMENT
from symsets.experiments.satellite.generated import GeneratedScenes
from symsets.experiments.satellite.scenes import SceneFolder, carve, read_norms, read_scene
from symsets.experiments.study.describe import make_study
from symsets.experiments.study.experiment import find_experiment

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")
NORMS = "imgset0000 50.5\nimgset0001 40.25\n"


def again(path, change):
    """Write a picture again after a change of its values."""
    values = np.asarray(Image.open(path))
    Image.fromarray(change(values)).save(path)


def no_truth(folder):
    (folder / "HR.png").unlink()


def no_mask_of_the_truth(folder):
    (folder / "SM.png").unlink()


def all_clouds(folder):
    for path in folder.glob("QM*.png"):
        again(path, np.zeros_like)


def truth_unknown(folder):
    again(folder / "SM.png", np.zeros_like)


def one_mask_less(folder):
    (folder / "QM003.png").unlink()


def masks_of_others(folder):
    (folder / "QM003.png").rename(folder / "QM300.png")


def no_pictures(folder):
    for path in (*folder.glob("LR*.png"), *folder.glob("QM*.png")):
        path.unlink()


def eight_bits(folder):
    again(folder / "LR002.png", lambda values: (values >> 8).astype(np.uint8))


def truth_of_eight_bits(folder):
    again(folder / "HR.png", lambda values: (values >> 8).astype(np.uint8))


def coloured(folder):
    again(folder / "LR002.png", lambda v: np.stack([v >> 8] * 3, -1).astype(np.uint8))


def one_smaller(folder):
    again(folder / "LR001.png", lambda values: values[:-1])


def mask_smaller(folder):
    for path in folder.glob("QM*.png"):
        again(path, lambda values: values[:-1])


def truth_not_three_times(folder):
    again(folder / "HR.png", lambda values: values[:-3])


def broken(folder):
    (folder / "LR001.png").write_bytes((folder / "LR001.png").read_bytes()[:60])


DEFECTS = {
    no_truth: "no truth",
    no_mask_of_the_truth: "no truth",
    all_clouds: "no clear pixel",
    truth_unknown: "no clear pixel",
    one_mask_less: "do not pair",
    masks_of_others: "do not pair",
    no_pictures: "do not pair",
    eight_bits: "LR002.png must be grey with 16 bits",
    truth_of_eight_bits: "HR.png must be grey with 16 bits",
    coloured: "LR002.png must be grey with 16 bits",
    one_smaller: "different sizes",
    mask_smaller: "need masks of that size",
    truth_not_three_times: "a truth of",
    broken: "LR001.png cannot be read",
}


@pytest.fixture
def one(layout):
    return layout / "train" / "RED" / "imgset0003"


def test_a_scene_is_read_as_it_was_written_the_clearest_first(layout):
    made = GeneratedScenes(side=16).scenes("RED", "train", 6)
    for k in range(6):
        scene = read_scene(layout / "train" / "RED" / f"imgset{k:04d}")
        for name in ("low", "clear", "high", "known"):
            assert np.array_equal(getattr(scene, name), getattr(made[k], name))
        assert (np.diff(scene.clear.mean((1, 2))) <= 0).all()


def test_the_clearest_pictures_are_kept(one):
    whole, some = read_scene(one), read_scene(one, most=5)
    assert np.array_equal(some.low, whole.low[:5])
    assert np.array_equal(some.clear, whole.clear[:5])


@pytest.mark.parametrize(
    ("spoil", "says"), DEFECTS.items(), ids=lambda v: getattr(v, "__name__", "")
)
def test_a_bad_scene_is_named_in_one_line(one, spoil, says):
    spoil(one)
    with pytest.raises(UnusableError) as caught:
        read_scene(one)
    line = str(caught.value)
    assert line.startswith("imgset0003: ")
    assert DEFECTS[spoil] in line
    assert "\n" not in line


@pytest.mark.parametrize("spoil", DEFECTS, ids=lambda v: v.__name__)
def test_the_others_are_used_and_it_is_counted(layout, one, spoil):
    spoil(one)
    source = SceneFolder(layout)
    names = [scene.name for split in ("train", "val") for scene in source.scenes("RED", split, 9)]
    assert sorted(names) == [f"imgset{k:04d}" for k in (0, 1, 2, 4, 5)]
    assert source.skipped.total() == 1
    [reason] = source.skipped
    assert reason.startswith("imgset0003: ")


def test_scenes_of_another_size_than_the_others_are_left_out(layout, one):
    for path in one.iterdir():
        scale = 3 if path.name in ("HR.png", "SM.png") else 1
        again(path, lambda values, s=scale: np.ascontiguousarray(values[: 12 * s, : 12 * s]))
    source = SceneFolder(layout)
    names = [scene.name for split in ("train", "val") for scene in source.scenes("RED", split, 9)]
    assert sorted(names) == [f"imgset{k:04d}" for k in (0, 1, 2, 4, 5)]
    assert source.skipped == {"imgset0003: pictures of (12, 12), others have (16, 16)": 1}


def test_no_usable_scene_is_an_error(layout):
    for folder in (layout / "val" / "RED").iterdir():
        no_truth(folder)
    with pytest.raises(ValueError, match="no usable scene of RED test: 2 skipped"):
        SceneFolder(layout).scenes("RED", "test", 9)


def test_a_folder_without_scenes_says_what_is_needed(tmp_path):
    with pytest.raises(MissingDataError, match="imgset0000"):
        SceneFolder(tmp_path)


def test_test_scenes_are_those_of_val_and_of_no_other_split(layout):
    source = SceneFolder(layout)
    assert source.names("RED", "test") == ("val", ["imgset0000", "imgset0001"])
    train, val = (source.names("RED", split) for split in ("train", "val"))
    assert train[0] == val[0] == "train"
    assert not set(train[1]) & set(val[1])
    assert len(train[1]) + len(val[1]) == 6


def test_without_val_a_part_of_the_training_scenes_is_for_the_test(layout):
    for path in sorted((layout / "val").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    source = SceneFolder(layout)
    found = [source.names("RED", split)[1] for split in ("train", "val", "test")]
    assert sorted(name for names in found for name in names) == [f"imgset{k:04d}" for k in range(6)]


def test_validation_is_carved_out_of_the_training_scenes():
    names = [f"imgset{k:04d}" for k in range(415)]
    train, val = carve(names, "train"), carve(names, "val")
    assert (len(train), len(val)) == (399, 16)
    assert sorted(train + val) == names
    assert carve(reversed(names), "train") == train


def test_the_experiment_opens_folders_and_what_is_generated(layout):
    assert find_experiment("satellite") is EXPERIMENT
    assert EXPERIMENT.settings_of(EXPERIMENT.open_source(str(layout), 0)) == ("RED", "RED-raw")
    generated = EXPERIMENT.open_source("embedded", 0)
    assert EXPERIMENT.settings_of(generated) == ("RED", "NIR", "RED-raw", "NIR-raw")
    with pytest.raises(ValueError, match=r"data must be .* or one of \['embedded', 'probav'\]"):
        EXPERIMENT.open_source(str(layout / "nowhere"), 0)


def test_training_goes_on_without_a_bad_scene_and_counts_it(layout, one, tmp_path):
    no_truth(one)
    options = RunOptions(preset="smoke", data=str(layout), models="dss-mean", out=tmp_path / "out")
    study = make_study(EXPERIMENT, options)
    records = [r for group in study.groups for r in study.run_group(group)]
    assert records[0].train_size == 4
    assert records[0].value > 30
    line = "of the files of PROBA-V: 1 skipped (1 imgset0003: no truth (HR.png and SM.png))"
    assert study.left_out() == [line]


def test_more_scenes_than_there_are_is_said_before_training(layout):
    source, preset = SceneFolder(layout), replace(EXPERIMENT.presets["smoke"], train_sizes=(9,))
    with pytest.raises(ValueError, match="5 scenes of RED for training, but 9 are asked for"):
        EXPERIMENT.check_source(source, preset)


def test_a_folder_tells_what_the_baseline_reaches(tmp_path):
    assert read_norms(tmp_path) == {}
    (tmp_path / "norm.csv").write_text(NORMS)
    assert read_norms(tmp_path) == {"imgset0000": 50.5, "imgset0001": 40.25}


@pytest.mark.parametrize("row", ["imgset0002 x", "imgset0002 nan", "a -1"])
def test_rows_of_another_kind_are_shown(tmp_path, row):
    (tmp_path / "norm.csv").write_text(f"{NORMS}{row}\n")
    with pytest.raises(ValueError, match=rf"norm.csv must have rows of .* cPSNR, got '{row}'"):
        read_norms(tmp_path)


def test_a_row_without_a_number_is_shown(tmp_path):
    (tmp_path / "norm.csv").write_text(f"{NORMS}imgset0002\n")
    with pytest.raises(ValueError, match=r"norm.csv, line 3: must have 2 words, got 'imgset0002'"):
        read_norms(tmp_path)

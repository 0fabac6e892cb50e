"""`symsets train` and `symsets predict`: a folder in, a table out; one line for what is wrong."""

import csv
import errno
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from symsets import load
from symsets.cli import app
from symsets.cli.common import user_errors
from symsets.models.card import TASKS
from symsets.nn.registry import schemes
from symsets.tools import examples

QUICK = ["--epochs", "1", "--workers", "0", "--device", "cpu", "--scheme", "dss-mean"]


def invoke(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def refused(*args):
    """Return the one line that a command ends with."""
    result = invoke(*args)
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2
    assert result.stderr.startswith("symsets: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def work(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def bags(work):
    """Sets of vectors of two classes, with names that need care."""
    random = np.random.default_rng(0)
    names = ["a b", "ümläut", 'q"uote', "[red]x", "<b>&", "comma,x", "n" * 120, "日本語"]
    for k in range(16):
        path = work / "bags" / ("low", "high")[k % 2] / f"{names[k % 8]}{k}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, random.normal(4 * (k % 2) - 2, 1, (2 + k % 3, 3)).astype(np.float32))
    return work / "bags"


@pytest.fixture
def photos(work):
    """Sets of two pictures of two classes."""
    for k in range(12):
        folder = work / "photos" / ("dark", "light")[k % 2] / f"日本語 {k}"
        folder.mkdir(parents=True)
        for j in range(2):
            Image.new("L", (8, 8), 50 + 100 * (k % 2) + k + j).save(folder / f"{j}.png")
    return work / "photos"


def test_a_folder_is_learnt_and_new_sets_are_answered(bags, work):
    result = invoke("train", bags, *QUICK)
    assert result.exit_code == 0, result.output
    assert "16 sets of 2–4 vectors (3,)" in result.stdout
    assert "most frequent class" in result.stdout
    assert (work / "runs" / "bags" / "report.html").is_file()

    new = work / "new"
    new.mkdir()
    for path in bags.glob("*/*.npy"):
        path.rename(new / path.name)
    result = invoke("predict", "runs/bags", new, "--workers", 0, "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert "what the network says" in result.stdout  # however long names are
    rows = read_csv(work / "predictions.csv")
    assert {row["set"] for row in rows} == {path.stem for path in new.glob("*.npy")}
    for row in rows:
        shares = {name: float(row[f"probability of {name}"]) for name in ("high", "low")}
        assert sum(shares.values()) == pytest.approx(1, abs=1e-5)
        assert row["label"] == max(shares, key=shares.get)


def test_what_cannot_be_read_is_named(photos):
    (broken := photos / "dark" / "日本語 0" / "2.png").write_bytes(b"no picture")
    line = f"\nleft out: {broken}: not readable\n"
    assert line in invoke("train", photos, *QUICK).stdout
    assert line in invoke("predict", "runs/photos", photos, "--workers", 0).stdout


def test_pictures_that_lose_their_edges_are_told(work):
    for k in range(12):  # the class is seen at the left edge
        folder = work / "wide" / "ab"[k % 2] / f"s{k}"
        folder.mkdir(parents=True)
        picture = Image.new("L", (32, 16), 100)
        picture.paste(200 * (k % 2), (0, 0, 8, 16))
        picture.save(folder / "0.png")
    line = "12 of 12 pictures are cropped to their middle and lose up to 50 %"
    assert line not in invoke("train", "wide", *QUICK).stdout
    assert line in invoke("train", "wide", "--size", 8, "--out", "small", *QUICK).stdout
    options = ["--size", 8, "--resize", "scale", "--out", "whole", *QUICK]
    assert line not in invoke("train", "wide", *options).stdout
    assert load("whole").card.element["resize"] == "scale"


def test_signs_that_no_font_has_are_no_reason_to_warn(photos):
    result = invoke("train", photos, *QUICK)  # warnings are errors here
    assert result.exit_code == 0, result.output
    assert result.stderr == ""


def test_the_example_needs_no_data(work, monkeypatch):
    pytest.importorskip("sklearn")
    for split, num in {"train": 120, "val": 20, "test": 20}.items():
        monkeypatch.setitem(examples.NUMBERS, split, num)
    result = invoke("train", "--example", "digits", *QUICK)
    assert result.exit_code == 0, result.output
    assert len(list((work / "runs" / "digits-sets").glob("*/*/*"))) == 160
    assert "120 sets to train, 20 to validate, 20 to test" in result.stdout
    test = "runs/digits-sets/test"
    result = invoke("predict", "runs/digits", test, "--workers", 0, "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert "The folder has labels: accuracy" in result.stdout
    assert len(read_csv(work / "predictions.csv")) == 20


def test_the_example_is_not_written_into_other_folders(photos):
    before = sorted(photos.rglob("*"))
    line = refused("train", photos, "--example", "digits", *QUICK)
    assert f"folder must be a new one, got {photos} with" in line
    assert sorted(photos.rglob("*")) == before


def test_the_help_names_every_choice():
    text = invoke("train", "--help").output
    for word in ("FOLDER", "timm:NAME", "digits", *TASKS, *schemes()):
        assert word in text


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--scheme", "dss-men"], "scheme must be one of"),
        (["--scheme", "siamese,"], "got ''"),
        (["--task", "clasify"], "task must be one of"),
        (["--task", "merge"], "must hold a picture called target"),
        (["--device", "gpu"], "device must be one of"),
        (["--backbone", "big"], "backbone must be 'small'"),
        (["--precision", "half"], "precision must be one of"),
        (["--resize", "stretch"], "resize must be one of"),
        (["--lr", "0"], "learning_rate must be positive"),
        (["--out", "photos"], "out must be elsewhere than the sets"),
        (["--out", "photos/dark"], "out must be elsewhere than the sets"),
        (["--out", "afile"], "out must be a folder, got the file"),
    ],
)
def test_wrong_options_of_train_are_one_line(photos, work, options, expected):
    (work / "afile").write_text("")
    assert expected in refused("train", photos, *QUICK, *options)
    assert not list(work.rglob("last.ckpt"))


def test_a_missing_extra_is_named(photos):
    try:
        import timm  # noqa: F401
    except ImportError:
        line = refused("train", photos, *QUICK, "--backbone", "timm:resnet18")
        assert "pip install 'symsets[vision]'" in line
    else:
        pytest.skip("timm is installed")


def test_wrong_folders_are_one_line(photos, work):
    assert "FOLDER must be given" in refused("train")
    assert "example must be one of" in refused("train", "--example", "digts")
    assert "nowhere must be a folder" in refused("train", "nowhere")
    (work / "empty").mkdir()
    assert "empty must hold a folder or a file for each set" in refused("train", "empty")
    # pictures in folders of classes, as for single pictures: these are taken for sets
    assert "class/set/*.jpg" in refused("train", photos / "dark")


def test_other_settings_in_the_same_folder_are_one_line(bags):
    assert invoke("train", bags, *QUICK).exit_code == 0
    line = refused("train", bags, *QUICK, "--epochs", 2)
    assert "last.ckpt" in line
    assert "epochs 1 → 2" in line
    assert "delete it to start this run anew, or choose another --out\n" in line


def test_no_network_is_trained_if_another_one_will_be_refused(bags, work):
    assert invoke("train", bags, *QUICK).exit_code == 0
    line = refused("train", bags, *QUICK, "--epochs", 2, "--scheme", "siamese,dss-mean")
    assert "dss-mean/last.ckpt" in line
    assert not (work / "runs" / "bags" / "siamese").exists()


def test_a_file_that_cannot_be_written_is_named_and_not_its_part(capsys):
    part = Path("runs") / ".last.ckpt.0123456789ab.part"
    with pytest.raises(typer.Exit), user_errors():
        raise OSError(errno.ENOSPC, "No space left on device", str(part))
    assert f"symsets: {Path('runs') / 'last.ckpt'}: No space left" in capsys.readouterr().err


def test_a_training_that_fails_is_one_line(work):
    random = np.random.default_rng(0)
    for k in range(12):
        path = work / "large" / f"class{k % 2}" / f"{k}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, random.choice([-3e38, 3e38], (3, 4)).astype(np.float32))
    assert "training failed: a loss, or the metric, was no finite number" in refused(
        "train", "large", *QUICK
    )


def test_wrong_uses_of_predict_are_one_line(bags, photos, work):
    for folder in ("nowhere", photos):
        said = refused("predict", folder, bags)
        assert f"model must be a folder that `symsets train` wrote, got {folder}" in said
    assert invoke("train", bags, *QUICK).exit_code == 0
    assert "nowhere must be a folder" in refused("predict", "runs/bags", "nowhere")
    assert "got 'vectors'" in refused("predict", "runs/bags", photos)
    assert "out must end in .csv" in refused("predict", "runs/bags", bags, "--out", "a.txt")
    (work / "afile").write_text("")
    line = refused("predict", "runs/bags", bags, "--out", "afile/a.csv")
    assert "out must be a folder, got the file" in line
    (bags / "high").rename(bags / "higher")
    assert "got 'higher'" in refused("predict", "runs/bags", bags, "--workers", 0)
    np.save(bags / "low" / "wide.npy", np.zeros((2, 7), np.float32))
    assert "wide.npy must hold vectors of shape (3,)" in refused("predict", "runs/bags", bags)
    assert not (work / "predictions.csv").exists()

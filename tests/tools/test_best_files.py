import csv
import os
import sys

import pytest
import torch
from PIL import Image
from shots import Slopes, blurred, detailed, scene, write_shot
from torch import nn

from symsets.tools import best_files as best_files_module
from symsets.tools.best_files import best_files
from symsets.tools.ranking import MOST

WIDTHS = {"a.png": 2.0, "b.png": 0.0, "c.png": 5.0}
ORDER = ("b.png", "a.png", "c.png")


def write_shots(folder, size=(60, 80), widths=WIDTHS):
    folder.mkdir(parents=True, exist_ok=True)
    picture = scene(*size)
    for name, width in widths.items():
        write_shot(folder / name, blurred(picture, width) if width else picture)
    return folder


def ranked(tmp_path, folder, **options):
    out = {"out": tmp_path / "out.csv", "sheet": tmp_path / "sheet.png"}
    return best_files(folder, **{**out, "network": Slopes(), "device": "cpu", **options})


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_folder_is_ranked_into_a_table_and_a_sheet(tmp_path):
    best = ranked(tmp_path, write_shots(tmp_path / "shots"))
    (found,) = best.sets
    assert found.files == ORDER
    assert list(found.scores) == sorted(found.scores, reverse=True)
    table = rows(best.rows)
    assert [row["file"] for row in table] == list(ORDER)
    assert [row["rank"] for row in table] == ["1", "2", "3"]
    assert float(table[0]["score"]) == pytest.approx(found.scores[0], abs=1e-3)
    assert {row["folder"] for row in table} == {"."}
    assert best.left_out == ()
    with Image.open(best.sheet) as image:
        assert image.width > 3 * image.height / 2  # three pictures in a row


def test_every_folder_with_pictures_is_a_scene_of_its_own(tmp_path):
    root = tmp_path / "photos"
    write_shots(root / "cat" / "morning", size=(70, 50))
    write_shots(root / "dog", widths={"x.png": 3.0, "y.png": 0.0})
    write_shots(root / "one", widths={"alone.png": 0.0})
    (root / "dog" / "notes.txt").write_text("nothing")
    best = ranked(tmp_path, root)
    assert [(one.name, one.files) for one in best.sets] == [
        ("cat/morning", ORDER),
        ("dog", ("y.png", "x.png")),
    ]
    assert len(rows(best.rows)) == 5
    assert len(best.left_out) == 1
    alone = str(root / "one" / "alone.png")
    assert best.left_out == ((alone, "nothing beside it to be compared with"),)


def test_what_cannot_be_read_is_left_out_and_said(tmp_path):
    folder = write_shots(tmp_path / "shots")
    (folder / "broken.png").write_bytes((folder / "a.png").read_bytes()[:200])
    (folder / "empty.jpg").write_bytes(b"")
    write_shot(folder / "tiny.png", torch.rand(3, 8, 40))
    best = ranked(tmp_path, folder)
    assert best.sets[0].files == ORDER
    assert best.left_out == (
        (str(folder / "broken.png"), "not readable"),
        (str(folder / "empty.jpg"), "not readable"),
        (str(folder / "tiny.png"), "smaller than 16 pixels"),
    )


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all names are text")
def test_names_may_be_any_bytes(tmp_path):
    folder = write_shots(tmp_path / "shots")
    (folder / "a.png").rename(folder / os.fsdecode(b"\xfc.png"))
    assert os.fsdecode(b"\xfc.png") in ranked(tmp_path, folder).sets[0].files
    assert b"\xfc.png" in (tmp_path / "out.csv").read_bytes()


def test_sizes_and_directions_may_differ(tmp_path):
    folder = write_shots(tmp_path / "shots", size=(60, 80))
    large = nn.functional.interpolate(scene(60, 80)[None], scale_factor=2, mode="bicubic")[0]
    write_shot(folder / "large.png", large.clamp(0, 1))
    write_shot(folder / "tall.png", scene(90, 50))
    best = ranked(tmp_path, folder)
    assert len(best.sets[0].files) == 5


def test_names_may_have_any_letters(tmp_path):
    folder = write_shots(tmp_path / "fotos", widths={"写真.png": 0.0, "[ü].png": 2.0})
    best = ranked(tmp_path, folder)
    assert best.sets[0].files == ("写真.png", "[ü].png")


def test_more_folders_and_shots_than_a_sheet_shows_are_all_in_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr(best_files_module, "SHOWN", 1)
    widths = {f"{k:02}.png": float(k) for k in range(14)}
    write_shots(tmp_path / "shots" / "a", size=(20, 20), widths=widths)
    write_shots(tmp_path / "shots" / "b", size=(20, 20))
    best = ranked(tmp_path, tmp_path / "shots")
    assert [row["folder"] for row in rows(best.rows)] == ["a"] * 14 + ["b"] * 3
    with Image.open(best.sheet) as image:
        assert image.width > 5 * image.height  # one row


def test_progress_counts_every_picture_twice(tmp_path):
    seen = []
    folder = write_shots(tmp_path / "shots", size=(300, 280))
    ranked(tmp_path, folder, watch=lambda done, of: seen.append((done, of)))
    assert seen == [(k, 6) for k in range(1, 7)]


def test_a_sheet_never_takes_the_place_of_a_picture(tmp_path):
    folder = write_shots(tmp_path / "shots")
    before = (folder / "a.png").read_bytes()
    with pytest.raises(ValueError, match="sheet must be another file than the pictures, got"):
        ranked(tmp_path, folder, sheet=folder / "a.png")
    assert (folder / "a.png").read_bytes() == before
    assert not (tmp_path / "out.csv").exists()
    best = ranked(
        tmp_path, folder, sheet=folder / "new" / "sheet.PNG", out=folder / "new" / "t.csv"
    )
    assert sorted(path.name for path in (folder / "new").iterdir()) == ["sheet.PNG", "t.csv"]
    assert best.sheet.name == "sheet.PNG"


def test_sheets_of_earlier_calls_are_no_shots(tmp_path):
    folder = write_shots(tmp_path / "shots")
    for name in ("one.png", "two.png", "one.png"):
        assert ranked(tmp_path, folder, sheet=folder / name).sets[0].files == ORDER


def make_nothing(folder):
    folder.mkdir()


def make_one(folder):
    write_shots(folder, widths={"a.png": 0.0})


def make_broken(folder):
    folder.mkdir()
    for name in ("a.jpg", "b.jpg"):
        (folder / name).write_bytes(b"no picture")


def make_many(folder):
    folder.mkdir()
    for k in range(MOST + 1):
        (folder / f"{k}.jpg").write_bytes(b"")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: None, "must be a folder, but it does not exist"),
        (lambda folder: folder.write_text(""), "must be a folder, but it is a file"),
        (make_nothing, r"must hold files that end in one of .*\.png.*, found none"),
        (make_one, "must hold two or more pictures of a scene; .*a.png: nothing beside it"),
        (make_broken, "must hold two or more pictures of a scene; .*a.jpg: not readable"),
        (make_many, "must hold at most 200 pictures, got 201"),
    ],
)
def test_folders_that_cannot_be_ranked_are_named(tmp_path, make, message):
    make(tmp_path / "shots")
    with pytest.raises(ValueError, match=message):
        ranked(tmp_path, tmp_path / "shots")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"out": "best.txt"}, "out must end in .csv, got best.txt"),
        ({"sheet": "best.jpg"}, "sheet must end in .png, got best.jpg"),
        ({"device": "gpu"}, "device must be one of"),
    ],
)
def test_other_arguments_are_named(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        ranked(tmp_path, write_shots(tmp_path / "shots"), **options)


def test_shots_of_another_scene_are_left_out_and_named(tmp_path):
    scenes = {"few/a.png": 0, "few/b.png": 1, "more/a.png": 1, "more/b.png": 0, "more/c.png": 0}
    for name, seed in scenes.items():
        path = tmp_path / "shots" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_shot(path, detailed(seed))
    best = ranked(tmp_path, tmp_path / "shots")
    assert [one.files for one in best.sets] == [("b.png", "c.png")]
    few, more = tmp_path / "shots" / "few", tmp_path / "shots" / "more"
    assert best.left_out == (
        (str(few / "b.png"), f"nothing in common with {few / 'a.png'}"),
        (str(few / "a.png"), "nothing beside it to be compared with"),
        (str(more / "a.png"), f"nothing in common with {more / 'b.png'}"),
    )
    assert [row["file"] for row in rows(best.rows)] == ["b.png", "c.png"]

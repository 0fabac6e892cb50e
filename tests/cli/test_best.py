import pytest
from shots import Slopes, blurred, scene, write_shot
from typer.testing import CliRunner

from symsets.cli import app
from symsets.tools import best_files


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder ``shots`` of the working directory with a blurred and a sharp picture."""
    monkeypatch.setattr(best_files, "load_pretrained", lambda name: Slopes())
    monkeypatch.chdir(tmp_path)
    shots = tmp_path / "shots"
    shots.mkdir()
    picture = scene(40, 50)
    write_shot(shots / "one.jpg", blurred(picture, 3.0))
    write_shot(shots / "two.jpg", picture)
    return shots


def run(*words):
    return CliRunner().invoke(app, ["best", *map(str, words)])


def test_the_best_shot_is_named_and_files_are_written(folder):
    found = run("shots", "--device", "cpu")
    assert found.exit_code == 0, found.output
    assert found.output.splitlines() == [  # no line of a bar, where there is no terminal
        "shots/two.jpg is the best of 2",
        "written to best.csv",
        "written to best.png",
    ]
    assert (folder.parent / "best.csv").read_text().startswith("folder,rank,file,score\n.,1,two")
    assert (folder.parent / "best.png").is_file()


def test_pictures_that_cannot_be_read_are_named(folder):
    (folder / "three.jpg").write_bytes(b"")
    (folder / "four.jpg").write_bytes(b"")
    found = run("shots", "--out", "a/t.csv", "--sheet", "b/s.png", "--device", "cpu")
    assert (
        "left out: shots/four.jpg: not readable\nleft out: shots/three.jpg: not readable\n"
        in found.output
    )
    assert (folder.parent / "a" / "t.csv").is_file()
    assert (folder.parent / "b" / "s.png").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "nowhere must be a folder, but it does not exist"),
        (["shots", "--out", "t.txt"], "out must end in .csv, got t.txt"),
        (["shots", "--sheet", "shots/one.jpg"], "sheet must end in .png"),
        (["shots", "--device", "gpu"], "device must be one of"),
    ],
)
def test_misuse_is_one_line(folder, words, message):
    found = run(*words)
    assert found.exit_code == 2
    (line,) = found.stderr.strip().splitlines()
    assert line.startswith("symsets: ")
    assert message in line

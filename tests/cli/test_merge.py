"""`symsets merge`: shots in, picture out; one line for what is wrong."""

import pytest
import torch
from PIL import Image
from torch import nn
from typer.testing import CliRunner

from symsets import save
from symsets.cli import app
from symsets.data.deep_png import write_png
from symsets.models import MergeNetwork
from symsets.tools.shot_files import read_shot, write_picture


def invoke(*args):
    return CliRunner().invoke(app, ["merge", *map(str, args)])


def refused(*args):
    """Return the one line that a command ends with."""
    result = invoke(*args)
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2
    assert result.stderr.startswith("symsets: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def small():
    return MergeNetwork(channels=4, num_blocks=1, merged_channels=(4,), merged_blocks=(1,))


def photograph(path, picture):
    """Write a picture as a camera does, without our mark."""
    levels = (255 * picture).round().byte().permute(1, 2, 0).squeeze(2)
    Image.fromarray(levels.numpy()).save(path)


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with three shots, and a small network in the package."""
    save(small(), tmp_path / "pretrained" / "merge")
    monkeypatch.setattr("symsets.saving.PRETRAINED", tmp_path / "pretrained")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    coarse = torch.rand(1, 3, 12, 16)
    scene = nn.functional.interpolate(coarse, (72, 96), mode="bicubic").clamp(0, 1)[0]
    for k in range(3):
        photograph(work / f"[{k}].png", scene[:, k : k + 64, 2 * k : 2 * k + 90])
    return work


def test_shots_become_a_picture(work):
    shots = sorted(work.iterdir())
    result = invoke(*shots, "-o", "out.png", "--reference", "first", "--compare", "sheet.png")
    assert result.exit_code == 0, result.output
    assert f"3 shots, aligned to {shots[0]}" in result.stdout
    assert "written to out.png\nwritten to sheet.png\n" in result.stdout
    torch.testing.assert_close(read_shot(work / "out.png").picture, read_shot(shots[0]).picture)


def test_a_folder_stands_for_its_pictures_without_what_was_written(work):
    (work / "notes.txt").write_text("no picture")
    for out in ("out.png", "out.png", "out.tif", "out.jpg", "other.png"):
        result = invoke(".", "-o", out, "--compare", "sheet.png")
        assert result.exit_code == 0, result.output
        assert "3 shots, aligned to" in result.stdout


def test_folders_are_made_for_what_is_written(work):
    result = invoke("[1].png", "-o", "a/b/out.png", "--compare", "c/d/sheet.png")
    assert result.exit_code == 0, result.output
    assert (work / "a" / "b" / "out.png").is_file()
    assert (work / "c" / "d" / "sheet.png").is_file()


def test_what_cannot_be_read_in_a_folder_is_named(work):
    (work / "text.png").write_text("no picture")
    (work / "._[1].png").write_text("no picture")
    result = invoke(".", "-o", "out.png")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "left out: text.png: not readable"
    assert "3 shots, aligned to" in result.stdout
    assert result.stdout.count("left out") == 1


@pytest.mark.parametrize("option", ["--out", "--compare"])
def test_no_photograph_of_a_folder_is_written_over(work, option):
    before = (work / "[1].png").read_bytes()
    line = refused(".", "--out", "out.png", option, "[1].png")
    assert f"{option[2:]} must not be one of the shots, got [1].png; name another file" in line
    assert (work / "[1].png").read_bytes() == before
    assert not (work / "out.png").exists()


def test_one_shot_is_enough_and_its_name_is_not_repeated(work):
    result = invoke("[1].png", "-o", "out.jpg")
    assert result.exit_code == 0, result.output
    assert result.stdout == "written to out.jpg\n"


def test_16_bits_that_a_file_cannot_hold_are_said_to_be_cut(work):
    write_picture(work / "deep.png", torch.rand(3, 64, 90), bits=16)
    line = "out.webp has 8 bits, the shots have 16; a PNG or a TIFF keeps them\n"
    assert invoke("deep.png", "-o", "out.webp").stdout == f"{line}written to out.webp\n"
    assert invoke("deep.png", "-o", "out.png").stdout == "written to out.png\n"


def test_other_scenes_are_merged_if_they_are_not_to_be_aligned(work):
    write_picture(work / "other.png", nn.functional.avg_pool2d(torch.rand(3, 68, 94), 5, 1))
    result = invoke("[0].png", "other.png", "-o", "out.png", "--no-align")
    assert result.exit_code == 0, result.output
    assert "2 shots, not aligned" in result.stdout


def test_what_is_wrong_is_said_in_one_line(work):
    out = ["-o", "out.png"]
    (work / "text.png").write_text("no picture")
    (work / "empty").mkdir()
    write_picture(work / "small.png", torch.rand(3, 30, 30))
    write_picture(work / "other.png", nn.functional.avg_pool2d(torch.rand(3, 68, 94), 5, 1))
    for words, said in (
        (["none.png", *out], "there is no file none.png"),
        (["text.png", *out], "text.png is not readable"),
        (["empty", *out], "the folder empty holds none"),
        (["[0].png", "small.png", *out], "shots must be alike, got 30×30 pixels"),
        (["[0].png", "other.png", *out], "has nothing in common with"),
        (["[0].png", *out, "--reference", "[1].png"], "reference must be auto, first or one of"),
        (["[0].png", "-o", "[0].png"], "out must not be one of the shots"),
        (["[0].png", "-o", "out"], "out must end in .png or .jpg"),
        (["[0].png", "-o", "text.png/out.png"], "out must be a folder, got the file"),
        (["[0].png", *out, "--compare", "a.jpg"], "compare must end in .png"),
        (["[0].png", *out, "--device", "abacus"], "device must be one of"),
    ):
        assert said in refused(*words)
        assert not (work / "out.png").exists()


def test_a_package_without_the_network_says_so(work, monkeypatch):
    monkeypatch.setattr("symsets.saving.PRETRAINED", work)
    said = "this copy of symsets has no trained network 'merge'; python training/merge_network.py"
    assert said in refused("[0].png", "-o", "out.png")


class Interrupted(nn.Module):
    """A network during which somebody presses Ctrl-C."""

    def forward(self, x):
        raise KeyboardInterrupt


def test_an_interrupt_is_one_line_and_leaves_no_file(work, monkeypatch):
    before = sorted(work.iterdir())
    monkeypatch.setattr("symsets.tools.merge_files.load_pretrained", lambda name: Interrupted())
    result = invoke("[0].png", "[1].png", "-o", "out.png")
    assert (result.exit_code, result.stderr) == (130, "symsets: interrupted\n")
    assert sorted(work.iterdir()) == before


def test_turns_change_the_picture(work):
    shots = sorted(work.iterdir())
    network = small()
    nn.init.normal_(network.last.weight, std=0.01)  # else it gives back the reference
    save(network, work.parent / "pretrained" / "merge")
    for name, more in (("plain.png", []), ("turns.png", ["--turns"])):
        assert invoke(*shots, "-o", name, *more).exit_code == 0
    plain, turns = (read_shot(work / name).picture for name in ("plain.png", "turns.png"))
    assert plain.shape == turns.shape
    assert 0 < (plain - turns).abs().mean() < 0.1


def test_a_scene_becomes_a_finer_picture(work):
    from symsets.experiments.satellite.network import SatelliteNetwork

    torch.manual_seed(0)
    scene = work / "imgset0000"
    scene.mkdir()
    for k in range(3):
        deep = (65535 * torch.rand(16, 16, 1)).round().numpy().astype("uint16")
        (scene / f"LR{k:03d}.png").write_bytes(write_png(deep))
        photograph(scene / f"QM{k:03d}.png", torch.ones(1, 16, 16))
    save(SatelliteNetwork("siamese", channels=4, num_blocks=1, merged_channels=4), work / "run")
    result = invoke("--scale", 3, scene, "-o", "fine.png", "--network", "run", "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert f"3 pictures of {scene}, three times as fine\nwritten to fine.png\n" in result.stdout
    assert read_shot(work / "fine.png").picture.shape == (1, 48, 48)
    assert "--scale must be 3" in refused("--scale", 2, scene, "-o", "fine.png")
    assert "--network" in refused("--scale", 3, scene, "-o", "fine.png")
    scaled = ("--scale", 3, scene, "-o", "fine.png", "--network", "run")
    assert "--scale 3 goes without" in refused(*scaled, "--compare", "sheet.png")
    with_jpeg = refused("--scale", 3, scene, "-o", "fine.jpg", "--network", "run")
    assert "out must end in .png" in with_jpeg
    line = refused("--scale", 3, scene, "-o", scene / "LR001.png", "--network", "run")
    assert "out must not be one of the shots" in line


def test_a_shot_that_is_named_twice_counts_once(work):
    result = invoke("[0].png", "[1].png", "./[0].png", "[0].png", "-o", "out.png")
    assert result.exit_code == 0, result.output
    assert "2 shots, aligned to [" in result.stdout

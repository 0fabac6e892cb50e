"""Shots in files become a file, with a sheet to compare; one line for what is wrong."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageCms
from torch import nn

from symsets import save
from symsets.data.deep_png import read_png
from symsets.models import MergeNetwork
from symsets.tools import merge_files as module
from symsets.tools.merge_files import merge_files
from symsets.tools.shot_files import read_shot, write_picture


@pytest.fixture(autouse=True)
def _network(monkeypatch, tmp_path_factory):
    """Let the package have a small network called merge, which returns the reference."""
    folder = tmp_path_factory.mktemp("pretrained")
    options = {"merged_channels": (4,), "merged_blocks": (1,)}
    save(MergeNetwork(channels=4, num_blocks=1, **options), folder / "merge")
    monkeypatch.setattr("symsets.saving.PRETRAINED", folder)


def scene(height=80, width=110, seed=0):
    draw = torch.Generator().manual_seed(seed)
    coarse = torch.rand(1, 3, height // 6, width // 6, generator=draw)
    return nn.functional.interpolate(coarse, (height, width), mode="bicubic").clamp(0, 1)[0]


def photograph(path, picture):
    """Write a picture as a camera does, without our mark."""
    levels = (255 * picture).round().byte().permute(1, 2, 0)
    Image.fromarray(levels.numpy()).save(path)


@pytest.fixture
def shots(tmp_path):
    """Four shots of 70×100 pixels, shifted by whole pixels."""
    whole, paths = scene(), []
    for k, (top, left) in enumerate([(0, 0), (4, 3), (10, 0), (2, 9)]):
        paths.append(tmp_path / f"shot {k}.png")
        photograph(paths[-1], whole[:, top : top + 70, left : left + 100])
    return paths


def test_shots_become_a_picture(shots, tmp_path):
    out = tmp_path / "out.png"
    assert merge_files(shots, out, reference="first") == module.Merged(
        tuple(shots), shots[0], (), False
    )
    found = read_shot(out)
    assert found.bits == 8
    torch.testing.assert_close(found.picture, read_shot(shots[0]).picture)  # an untrained network


@pytest.mark.parametrize("name", ["shot 2.png", "path"])
def test_a_shot_can_be_named_as_the_reference(shots, tmp_path, name):
    name = str(shots[2]) if name == "path" else name
    assert merge_files(shots, tmp_path / "out.png", reference=name).reference == shots[2]
    found = read_shot(tmp_path / "out.png").picture
    torch.testing.assert_close(found, read_shot(shots[2]).picture)


def test_the_sharpest_shot_is_taken_if_none_is_named(shots, tmp_path):
    for path in [shots[0], *shots[2:]]:
        picture = nn.functional.avg_pool2d(
            read_shot(path).picture, 7, 1, 3, count_include_pad=False
        )
        write_picture(path, picture)
    assert merge_files(shots, tmp_path / "out.png").reference == shots[1]


@pytest.mark.parametrize(
    ("suffix", "bits"), [(".png", 16), (".tif", 16), (".jpg", 8), (".webp", 8)]
)
def test_deep_shots_make_a_deep_picture(shots, tmp_path, suffix, bits):
    for path in shots[:2]:
        write_picture(path, read_shot(path).picture, 16)
    out = tmp_path / f"out{suffix}"
    assert merge_files(shots, out, reference="first").cut == (bits == 8)
    assert read_shot(out).bits == bits
    if suffix == ".png":
        assert read_png(out.read_bytes()).shape == (70, 100, 3)


def test_grey_shots_make_a_grey_picture_and_are_not_mixed_with_colours(shots, tmp_path):
    for path in shots[:2]:
        Image.open(path).convert("L").save(path)
    said = f"got 100×70 pixels in colour in {shots[2]} and 100×70 pixels of grey in {shots[0]}"
    assert said in wrong(shots, tmp_path)
    merge_files(shots[:2], tmp_path / "grey.png")
    assert len(read_shot(tmp_path / "grey.png").picture) == 1


def test_a_folder_may_hold_pictures_of_any_kind(shots, tmp_path):
    for path, suffix in zip(shots, (".bmp", ".gif", ".ppm", ".webp"), strict=True):
        Image.open(path).save(path.with_suffix(suffix))
        path.unlink()
    assert len(merge_files([tmp_path], tmp_path / "out.png").shots) == 4


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_the_meaning_of_colours_is_kept(shots, tmp_path, suffix, bits):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for path in shots:
        write_picture(path, read_shot(path).picture, bits, profile)
    out = tmp_path / f"out{suffix}"
    merge_files(shots, out)
    assert read_shot(out).colours == profile
    with Image.open(out) as image:
        assert image.info["icc_profile"] == profile


def test_a_name_that_several_shots_have_is_no_reference(shots, tmp_path):
    twin = tmp_path / "other" / shots[0].name
    twin.parent.mkdir()
    twin.write_bytes(shots[1].read_bytes())
    said = wrong([*shots, twin], tmp_path, reference=twin.name)
    assert said == f"reference must be auto, first or one of the shots, got {shots[0]} and {twin}"
    assert merge_files([*shots, twin], tmp_path / "out.png", reference=str(twin)).reference == twin


def test_one_shot_is_enough(shots, tmp_path):
    merge_files(shots[:1], tmp_path / "out.png")
    assert (tmp_path / "out.png").is_file()


def test_a_sheet_compares_one_shot_the_mean_and_the_result(shots, tmp_path):
    merge_files(shots, tmp_path / "out.png", compare=tmp_path / "my sheet.png")
    with Image.open(tmp_path / "my sheet.png") as image:
        sheet = np.asarray(image.convert("RGB"))
    assert min(sheet.shape[:2]) > 500
    assert (sheet != 255).any(2).mean() > 0.3


def test_a_sheet_of_one_shot_has_no_mean(shots, tmp_path):
    widths = []
    for num in (1, 2):
        merge_files(shots[:num], tmp_path / "out.png", compare=tmp_path / "sheet.png")
        with Image.open(tmp_path / "sheet.png") as image:
            widths.append(image.width)
    assert widths[0] == pytest.approx(2 / 3 * widths[1], rel=0.02)


def test_tiles_are_counted(shots, tmp_path):
    seen = []
    merge_files(shots, tmp_path / "out.png", watch=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 1)]


def test_shots_that_are_not_aligned_are_merged_as_they_lie(shots, tmp_path, monkeypatch):
    given = []

    def watched(*args, maps, **options):
        given.append(maps)
        return merge(*args, maps=maps, **options)

    merge = module.merge
    monkeypatch.setattr(module, "merge", watched)
    merge_files(shots, tmp_path / "out.png", reference="first", align=False)
    merge_files(shots, tmp_path / "out.png", reference="first")
    assert torch.equal(given[0], torch.eye(2, 3).repeat(4, 1, 1))
    pixels = 50 * given[1][1, :, 2]  # columns, rows
    torch.testing.assert_close(pixels, torch.tensor([-3.0, -4.0]), atol=0.1, rtol=0)


def test_nothing_is_left_of_a_picture_that_could_not_be_written(shots, tmp_path, small_files):
    out = tmp_path / "out.png"
    with small_files(1000), pytest.raises(OSError, match="File too large"):
        merge_files(shots, out)
    assert sorted(tmp_path.iterdir()) == shots


def test_what_cannot_be_read_in_a_folder_is_left_out_and_said(shots, tmp_path, monkeypatch):
    (tmp_path / "bad.png").write_bytes(shots[0].read_bytes()[:200])
    (tmp_path / "shut.jpg").write_bytes(b"")
    (tmp_path / "._shot 0.png").write_bytes(b"what a Mac leaves beside a file")
    read = Path.read_bytes

    def refusing(path):
        if path.name == "shut.jpg":
            raise PermissionError(13, "Permission denied", str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refusing)
    done = merge_files([tmp_path], tmp_path / "out.png", reference="first")
    assert done.shots == tuple(shots)
    assert done.left_out == (
        (str(tmp_path / "bad.png"), "not readable"),
        (str(tmp_path / "shut.jpg"), "Permission denied"),
    )


def test_a_file_that_was_named_is_never_left_out(shots, tmp_path):
    shots[2].write_bytes(b"no picture")
    assert f"but {shots[2]} is not readable" in wrong(shots, tmp_path)
    assert f"but {shots[2]} is not readable" in wrong([tmp_path, shots[2]], tmp_path)


def test_a_folder_without_a_usable_picture_is_named(tmp_path):
    folder = tmp_path / "shots"
    folder.mkdir()
    (folder / "notes.txt").write_text("no picture")
    said = f"shots must be pictures, but the folder {folder} holds none"
    assert wrong([folder], tmp_path) == said
    (folder / "bad.png").write_bytes(b"no picture")
    expected = f"{said} that can be read; {folder / 'bad.png'}: not readable"
    assert wrong([folder], tmp_path) == expected


def wrong(shots, tmp_path, **options):
    """Return what is said of a wrong call."""
    with pytest.raises(ValueError) as caught:
        merge_files(shots, **{"out": tmp_path / "out.png", **options})
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out.png").exists()
    return str(caught.value)


def test_different_sizes_are_named(shots, tmp_path):
    write_picture(shots[2], scene(64, 96))
    expected = f"got 96×64 pixels in colour in {shots[2]} and 100×70 pixels in colour in {shots[0]}"
    assert expected in wrong(shots, tmp_path)


def test_different_scenes_are_named_and_can_be_merged_as_they_lie(shots, tmp_path):
    write_picture(shots[2], scene(70, 100, seed=1))
    said = wrong(shots, tmp_path, reference="first")
    assert f"but {shots[2]} has nothing in common with {shots[0]}: leave it out" in said
    merge_files(shots, tmp_path / "out.png", reference="first", align=False)


@pytest.mark.parametrize("sharp", [False, True])
def test_another_scene_in_a_folder_is_left_out_and_named(shots, tmp_path, sharp):
    """Also if it is the sharpest one, which would be the reference."""
    other = scene(70, 100, seed=1)
    photograph(shots[2], other if sharp else nn.functional.avg_pool2d(other, 5, 1, 2))
    for path in [] if sharp else [shots[0]]:
        photograph(path, nn.functional.avg_pool2d(read_shot(path).picture, 5, 1, 2))
    if sharp:
        for path in [*shots[:2], shots[3]]:
            photograph(path, nn.functional.avg_pool2d(read_shot(path).picture, 5, 1, 2))
    done = merge_files([tmp_path], tmp_path / "out.png")
    assert done.shots == (shots[0], shots[1], shots[3])
    [(name, why)] = done.left_out
    assert name == str(shots[2])
    assert why.startswith("nothing in common with shot ")


def test_of_two_scenes_in_a_folder_none_is_left_out(shots, tmp_path):
    photograph(shots[1], scene(70, 100, seed=1))
    for path in shots[2:]:
        path.unlink()
    assert "has nothing in common with" in wrong([tmp_path], tmp_path)


def test_small_pictures_are_named(tmp_path):
    paths = [tmp_path / "a.png", tmp_path / "b.png"]
    for k, path in enumerate(paths):
        write_picture(path, scene(12, 40, seed=k))
    said = f"shots must have 16 pixels on each side, got 40×12 pixels in colour in {paths[0]}"
    assert wrong(paths[:1], tmp_path) == wrong(paths, tmp_path) == said


def test_unknown_references_are_named(shots, tmp_path):
    said = wrong(shots, tmp_path, reference="last.png")
    assert "reference must be auto, first or one of the shots, got last.png" in said


@pytest.mark.parametrize("option", ["out", "compare"])
def test_pictures_that_cannot_be_written_are_named(shots, tmp_path, option):
    def said(name):
        return wrong(shots, tmp_path, **{option: tmp_path / name})

    assert f"{option} must end in .png" in said("picture")
    assert f"{option} must end in .png" in said("picture.gif")
    assert f"{option} must be a folder, got the file {shots[0]}" in said(f"{shots[0].name}/a.png")
    assert f"{option} must not be one of the shots, got {shots[1]}; name" in said(shots[1].name)
    (tmp_path / "folder.png").mkdir()
    folder = tmp_path / "folder.png"
    assert f"{option} must be a file, got the folder {folder}; name a file" in said("folder.png")


def test_the_sheet_is_another_file_than_the_picture(shots, tmp_path):
    said = wrong(shots, tmp_path, compare=tmp_path / "out.png")
    assert "compare must be another file than out, got" in said


def test_a_package_without_the_network_says_so(shots, tmp_path, monkeypatch):
    monkeypatch.setattr("symsets.saving.PRETRAINED", tmp_path)
    with pytest.raises(FileNotFoundError, match="has no trained network 'merge'"):
        merge_files(shots, tmp_path / "out.png")


def test_a_shot_that_is_named_twice_counts_once(shots, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    again = (shots[0], Path("shot 1.png"), Path("shot 1.png"))
    done = merge_files([*shots[:2], *again], tmp_path / "out.png")
    assert done.shots == tuple(shots[:2])
    assert merge_files([tmp_path, tmp_path], tmp_path / "out.png").shots == tuple(shots)

import errno
import os

import numpy as np
import pytest
import torch

from symsets.data.decoding import Skipped, UnusableError, decode_image
from symsets.data.folders import STUDY, files_below, split_folder
from symsets.data.images import ImageFolder
from symsets.data.splits import SPLITS, fraction, split_by_hash

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")


def save(path, size=(40, 40), *, colour=(200, 40, 90), mode="RGB", **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).convert(mode).save(path, **options)
    return path


def paint(path, grey):
    """Write a picture that can be told from all others by its brightness."""
    save(path, colour=(grey, grey, grey))


@pytest.fixture
def folder(tmp_path):
    for i in range(60):
        paint(tmp_path / f"album {i % 3}" / "deep" / f"{i}.png", 4 * i)
    return tmp_path


def shades(images):
    assert images.dtype == torch.uint8
    return set(images[:, 0, 0, 0].tolist())


def test_splits_of_a_folder_are_disjoint_and_complete(folder):
    source = ImageFolder(folder, size=32)
    stores = [source.images(split) for split in SPLITS]
    assert all(store.shape[1:] == (3, 32, 32) for store in stores)
    parts = [shades(store) for store in stores]
    assert all(parts)
    assert set.union(*parts) == {4 * i for i in range(60)}
    assert sum(map(len, parts)) == 60
    assert source.name == folder.name
    assert str(source.skipped) == "none skipped"


def test_a_picture_keeps_its_split_when_others_come(folder):
    before = ImageFolder(folder, size=32).files
    for i in range(40):
        paint(folder / "new" / f"{i}.png", i)
    after = ImageFolder(folder, size=32).files
    assert all(set(before[split]) <= set(after[split]) for split in SPLITS)


def test_subfolders_named_as_splits_are_the_splits(tmp_path):
    for i, split in enumerate(SPLITS):
        paint(tmp_path / split / "class" / "a.jpg", 100 + 50 * i)
    source = ImageFolder(tmp_path, size=32)
    assert [shades(source.images(split)) for split in SPLITS] == [{100}, {150}, {200}]


def test_num_takes_the_first_of_a_fixed_order(folder):
    everything = ImageFolder(folder, size=32).images("train")
    assert torch.equal(ImageFolder(folder, size=32).images("train", 7), everything[:7])
    # not the order of the names
    assert sorted(everything[:, 0, 0, 0].tolist()) != everything[:, 0, 0, 0].tolist()


@pytest.mark.parametrize("num", [3, 4, 5, 6, 7, 11, 20, 25, 40])
@pytest.mark.parametrize("prefix", ["", "a", "b", "c", "d"])
def test_a_handful_of_names_leaves_no_split_empty_and_two_in_each_where_there_are_six(num, prefix):
    names = [f"{prefix}{i}.jpg" for i in range(num)]
    parts = split_by_hash(names)
    assert min(map(len, parts.values())) >= (2 if num >= 6 else 1)
    assert sorted(name for part in parts.values() for name in part) == sorted(names)
    two = split_by_hash(names, test=0)
    assert min(len(two["train"]), len(two["val"])) >= (2 if num >= 4 else 1)
    assert not two["test"]


def test_names_that_give_two_to_every_split_keep_their_places():
    names = [f"{i}.jpg" for i in range(60)]
    ends = {name for name in names if fraction(name) >= 0.9}
    middle = {name for name in names if 0.8 <= fraction(name) < 0.9}
    assert min(len(ends), len(middle)) >= 2
    parts = split_by_hash(names)
    assert set(parts["test"]) == ends
    assert set(parts["val"]) == middle


def test_groups_stay_together():
    parts = split_by_hash(
        [f"g{i}_{j}" for i in range(40) for j in range(5)], group=lambda name: name.split("_")[0]
    )
    groups = [{name.split("_")[0] for name in part} for part in parts.values()]
    assert sum(map(len, groups)) == 40
    assert all(len(part) % 5 == 0 for part in parts.values())


@pytest.mark.parametrize("mode", ["RGB", "L", "1", "P", "CMYK", "YCbCr", "RGBA", "LA", "I;16"])
def test_every_kind_of_picture_becomes_three_bytes_a_pixel(tmp_path, mode):
    if mode == "I;16":
        path = tmp_path / "deep.png"
        Image.fromarray(np.full((40, 40), 128 << 8, dtype=np.uint16)).save(path)
    else:
        suffix = ".jpg" if mode in ("CMYK", "YCbCr") else ".png"
        path = save(tmp_path / f"picture{suffix}", colour=(128, 128, 128), mode=mode)
    pixels = decode_image(path, 32)
    assert pixels.shape == (32, 32, 3)
    assert pixels.dtype == np.uint8
    if mode in ("1", "P"):  # dithered
        assert abs(pixels.mean() - 128) < 8
    else:
        assert np.abs(pixels.astype(int) - 128).max() <= 3


def test_transparent_pixels_lie_over_white(tmp_path):
    clear = Image.new("RGBA", (40, 40), (0, 0, 0, 0))
    clear.save(tmp_path / "clear.png")
    assert (decode_image(tmp_path / "clear.png", 32) == 255).all()
    palette = Image.new("P", (40, 40), 0)
    palette.putpalette([0, 0, 0, 255, 0, 0])
    palette.save(tmp_path / "clear.gif", transparency=0)
    assert (decode_image(tmp_path / "clear.gif", 32) == 255).all()


def test_the_middle_square_is_kept_upright(tmp_path):
    wide = Image.new("RGB", (100, 40), "black")
    wide.paste("white", (30, 0, 70, 20))  # upper half of the middle
    exif = Image.Exif()
    exif[0x0112] = 3  # the camera was upside down
    wide.save(tmp_path / "turned.png", exif=exif)
    pixels = decode_image(tmp_path / "turned.png", 40)
    assert (pixels[:19] == 0).all()
    assert (pixels[21:] == 255).all()


def test_broken_and_tiny_files_are_counted(tmp_path):
    for i in range(30):
        paint(tmp_path / f"{i}.png", 8 * i)
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "text.png").write_text("no picture")
    whole = save(tmp_path / "whole.jpg", size=(200, 200)).read_bytes()
    (tmp_path / "whole.jpg").unlink()
    (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    save(tmp_path / "dot.png", size=(1, 1))
    Image.fromarray(np.zeros((40, 40), dtype=np.float32)).save(tmp_path / "real.tif")
    save(tmp_path / ".hidden.png")
    source = ImageFolder(tmp_path, size=32)
    assert sum(len(source.images(split)) for split in SPLITS) == 30
    assert source.skipped == Skipped(
        {"not readable": 3, "smaller than 16 pixels": 1, "of real numbers, not of bytes": 1}
    )
    assert str(source.skipped).startswith("5 skipped (3 not readable, ")
    source.images("train")
    assert source.skipped.total() == 5  # reading again does not count again


def test_a_missing_file_is_a_reason(tmp_path):
    with pytest.raises(UnusableError, match="missing"):
        decode_image(tmp_path / "gone.png", 32)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    paint(tmp_path / "test" / "a.png", 7)
    for split in ("train", "val"):
        (tmp_path / split).mkdir()
    os.mkfifo(tmp_path / "test" / "pipe.png")
    source = ImageFolder(tmp_path, size=32)
    assert shades(source.images("test")) == {7}
    assert source.skipped == {"not regular files": 1}


def test_links_to_folders_are_followed_once(tmp_path):
    for split in SPLITS:
        paint(tmp_path / "elsewhere" / split / "a.png", 100)
        (tmp_path / "photos").mkdir(exist_ok=True)
        (tmp_path / "photos" / split).symlink_to(tmp_path / "elsewhere" / split)
    (tmp_path / "elsewhere" / "test" / "back").symlink_to(tmp_path / "photos")
    (tmp_path / "elsewhere" / "val" / "again").symlink_to(tmp_path / "elsewhere" / "val")
    files = ImageFolder(tmp_path / "photos", size=32).files
    assert {split: len(paths) for split, paths in files.items()} == dict.fromkeys(SPLITS, 1)
    assert list(files_below(tmp_path / "elsewhere", [".png"])) == [
        "test/a.png",
        "train/a.png",
        "val/a.png",
    ]


def test_studies_below_a_folder_are_passed_by(tmp_path):
    for name in ("a.png", "runs/b.png", "runs/mine/figures/c.png", "runs/mine/d.png"):
        paint(tmp_path / name, 100)
    (tmp_path / "runs" / "mine" / STUDY).touch()
    assert list(files_below(tmp_path, [".png"])) == ["a.png", "runs/b.png"]
    named = list(files_below(tmp_path / "runs" / "mine", [".png"]))
    assert named == ["d.png", "figures/c.png"]  # a user may ask for it


@pytest.mark.parametrize("closed", ["photos", "photos/closed"])
def test_folders_that_may_not_be_read_get_a_sentence(tmp_path, monkeypatch, closed):
    paint(tmp_path / "photos" / "a.png", 100)
    paint(tmp_path / "photos" / "closed" / "b.png", 100)

    def scandir(path, then=os.scandir):
        if path == str(tmp_path / closed):  # as the system does, but for root as well
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return then(path)

    monkeypatch.setattr(os, "scandir", scandir)
    expected = rf"{closed} must be a folder that can be read: Permission denied"
    with pytest.raises(ValueError, match=expected):
        ImageFolder(tmp_path / "photos")


def test_bad_folders_get_a_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"nowhere must be a folder, but it does not exist"):
        ImageFolder(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"must hold files that end in one of .*, found none"):
        ImageFolder(tmp_path)
    paint(tmp_path / "a.png", 3)
    with pytest.raises(ValueError, match=r"must be a folder, but it is a file"):
        ImageFolder(tmp_path / "a.png")
    expected = (
        r"no usable images for split 'test', 1 needed; files per split: \{'train': 1, 'val': 0, "
        r"'test': 0\}; none skipped\. A folder needs 3 usable images at least; subfolders called "
        r"train, val and test choose the splits by hand"
    )
    with pytest.raises(ValueError, match=expected):
        ImageFolder(tmp_path, size=32).images("test")
    with pytest.raises(ValueError, match=r"1 smaller than 64 pixels"):
        ImageFolder(tmp_path, size=128).images("train")
    with pytest.raises(ValueError, match=r"split must be one of \['train', 'val', 'test'\]"):
        ImageFolder(tmp_path).images("valid")
    with pytest.raises(ValueError, match=r"size must be positive, got 0"):
        ImageFolder(tmp_path, size=0)


@pytest.mark.parametrize("held", ["test", "val"])
def test_a_folder_for_training_and_one_more_share_no_picture(tmp_path, held):
    for split, num in (("train", 40), (held, 5)):
        (tmp_path / split).mkdir()
        for i in range(num):
            (tmp_path / split / f"{i}.png").touch()
    found = split_folder(tmp_path, [".png"])
    assert sorted(found["test"]) == [f"{held}/{i}.png" for i in range(5)]
    assert all(name.startswith("train/") for name in found["train"] + found["val"])
    assert len(found["train"]) + len(found["val"]) == 40
    assert 2 <= len(found["val"]) <= 10

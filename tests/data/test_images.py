import os

import numpy as np
import pytest
import torch

from symsets.data import ImageFolder
from symsets.data.decoding import Skipped
from symsets.data.splits import SPLITS

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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    paint(tmp_path / "test" / "a.png", 7)
    for split in ("train", "val"):
        (tmp_path / split).mkdir()
    os.mkfifo(tmp_path / "test" / "pipe.png")
    source = ImageFolder(tmp_path, size=32)
    assert shades(source.images("test")) == {7}
    assert source.skipped == {"not readable": 1}


def test_bad_folders_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"nowhere must be a folder, but it does not exist"):
        ImageFolder(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"must hold files that end in one of .*, found none"):
        ImageFolder(tmp_path)
    paint(tmp_path / "a.png", 3)
    with pytest.raises(ValueError, match=r"must be a folder, but it is a file"):
        ImageFolder(tmp_path / "a.png")
    expected = (
        r"no usable images for split 'test', 1 needed; files per split: \{'train': 1, 'val': 0, "
        r"'test': 0\}; none skipped\. Subfolders called train, val and test choose"
    )
    with pytest.raises(ValueError, match=expected):
        ImageFolder(tmp_path, size=32).images("test")
    with pytest.raises(ValueError, match=r"1 smaller than 64 pixels"):
        ImageFolder(tmp_path, size=128).images("train")
    with pytest.raises(ValueError, match=r"split must be one of \['train', 'val', 'test'\]"):
        ImageFolder(tmp_path).images("valid")
    with pytest.raises(ValueError, match=r"size must be at least 1, got 0"):
        ImageFolder(tmp_path, size=0)

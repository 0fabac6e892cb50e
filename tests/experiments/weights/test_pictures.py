"""Pictures with classes: digits, MNIST and folders."""

import gzip

import numpy as np
import pytest
import torch
from PIL import Image

from symsets.data.splits import SPLITS
from symsets.experiments.weights.pictures import MNIST_FILES, picture_source, read_idx


def idx(array):
    sizes = np.array(array.shape, dtype=">u4").tobytes()
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


@pytest.fixture
def mnist(tmp_path):
    """Forty and ten pictures whose every pixel tells which one it is, two files packed."""
    for name, num in ((MNIST_FILES[0], 40), (MNIST_FILES[2], 10)):
        pictures = np.broadcast_to(np.arange(num)[:, None, None], (num, 28, 28))
        (tmp_path / name).write_bytes(idx(pictures))
    for name, num in ((MNIST_FILES[1], 40), (MNIST_FILES[3], 10)):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(idx(np.arange(num) % 10)))
    return tmp_path


def which(pictures):
    return ((pictures[:, 0, 0] + 1) * 127.5).round().int()


def test_digits_are_divided_by_the_seed_and_no_picture_is_in_two_splits():
    source, other = picture_source("embedded", 0), picture_source("embedded", 1)
    splits = [source.split(split)[0] for split in SPLITS]
    assert [len(x) for x in splits] == [1258, 270, 269]
    assert len(torch.cat(splits).flatten(1).unique(dim=0)) == 1797
    assert not torch.equal(other.split("test")[0], splits[2])
    for split in SPLITS:
        pictures, labels = source.split(split)
        assert pictures.shape[1:] == (8, 8)
        assert pictures.min() == -1
        assert pictures.max() == 1
        assert torch.bincount(labels).min() > 0.09 * len(labels)


def test_validation_is_carved_out_of_the_training_pictures_of_mnist(mnist):
    source = picture_source(str(mnist))
    assert (source.name, source.num_classes) == ("MNIST", 10)
    train, val, test = (source.split(split) for split in SPLITS)
    assert [len(y) for _, y in (train, val, test)] == [36, 4, 10]
    assert torch.equal(torch.cat([which(train[0]), which(val[0])]).sort().values, torch.arange(40))
    for pictures, labels in (train, val, test):
        assert pictures.shape[1:] == (28, 28)
        assert torch.equal(which(pictures) % 10, labels)


def test_damaged_files_of_mnist_are_named(mnist):
    with pytest.raises(ValueError, match=r"'embedded'.*MNIST.*got 'nowhere'"):
        picture_source("nowhere")
    path = mnist / MNIST_FILES[0]
    path.write_bytes(b"\x00\x00\x0d\x03" + path.read_bytes()[4:])
    with pytest.raises(ValueError, match=r"train-images.*must begin with \[0, 0, 8\]"):
        picture_source(str(mnist))
    path.write_bytes(idx(np.zeros((40, 28, 28)))[:-1])
    with pytest.raises(ValueError, match=r"train-images.*must be a file of MNIST"):
        read_idx(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"train-images.*must be a file of MNIST"):
        read_idx(path)
    path.write_bytes(idx(np.zeros((39, 28, 28))))
    with pytest.raises(ValueError, match=r"train-labels.*must hold 39 labels"):
        picture_source(str(mnist))


def test_folders_name_the_classes_of_pictures(tmp_path):
    for label, level in (("bright", 255), ("dark", 0)):
        (tmp_path / label).mkdir()
        for k in range(12):
            Image.new("RGB", (30, 40), (level,) * 3).save(tmp_path / label / f"{k}.png")
    source = picture_source(str(tmp_path))
    assert source.num_classes == 2
    assert sum(len(source.split(split)[1]) for split in SPLITS) == 24
    for split in SPLITS:
        pictures, labels = source.split(split)
        assert pictures.shape[1:] == (28, 28)
        assert torch.equal(pictures[:, 5, 5], 1 - 2.0 * labels)


def test_a_folder_without_classes_is_refused(tmp_path):
    for k in range(9):
        Image.new("L", (28, 28), k).save(tmp_path / f"{k}.png")
    with pytest.raises(ValueError, match="must have a subfolder of pictures for each"):
        picture_source(str(tmp_path))


def test_no_more_is_unpacked_than_a_file_of_mnist_has(tmp_path, monkeypatch):
    path = tmp_path / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(gzip.compress(idx(np.zeros(10_000, int))))
    monkeypatch.setattr("symsets.experiments.weights.pictures.MOST_BYTES", 1000)
    with pytest.raises(ValueError, match=r"t10k-labels.* must be a file of MNIST"):
        read_idx(path)

"""Grey pictures with a class each: digits, MNIST, or a folder for each class."""

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from symsets._extras import require
from symsets._files import named_errors, read_bytes
from symsets.data.decoding import decode_image
from symsets.data.folders import all_existing, split_folder
from symsets.data.images import IMAGE_SUFFIXES
from symsets.data.splits import SPLITS, checked_split, split_stratified

SHARES = (0.7, 0.15, 0.15)  # of the digits, for training, validation and test
VAL_SHARE = 0.1  # of MNIST's training pictures
SIZE = 28  # height and width of pictures from a folder
MOST_BYTES = 200_000_000  # of a file of MNIST, unpacked
IDX_BYTES = b"\0\0\x08"  # the first bytes of all files of MNIST: the type of their entries
MNIST_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


@dataclass(frozen=True, eq=False)
class PictureSource:
    """Pictures in three splits.

    Attributes:
        name: What tables call the data.
        splits: Pictures ``(M, H, W)`` from -1 to 1 and their classes ``(M,)``, of each split.
        num_classes: How many there are.
        seed: What divided the pictures.
        steps: It takes to fit a network to one of them.
    """

    name: str
    splits: Mapping[str, tuple[Tensor, Tensor]]
    num_classes: int
    seed: int
    steps: int

    def split(self, split: str) -> tuple[Tensor, Tensor]:
        """Return the pictures of a split and their classes."""
        return self.splits[checked_split(split)]


def picture_source(data: str, seed: int = 0) -> PictureSource:
    """Open ``"embedded"`` (scikit-learn's digits), MNIST, or a folder with a subfolder per class.

    Args:
        data: ``"embedded"``, a folder with the four files of MNIST, packed or not, or a folder of
            pictures.
        seed: Divides digits into three splits, and MNIST's training pictures into two.

    Example:
        >>> source = picture_source("embedded")
        >>> [len(source.split(split)[1]) for split in SPLITS]
        [1258, 270, 269]
    """
    if data == "embedded":
        return _digits(seed)
    path = Path(data)
    if not (data and path.is_dir()):
        raise ValueError(
            "data must be 'embedded' (digits), a folder with the files of MNIST, or a folder with "
            f"a subfolder of pictures for each class, got {data!r}"
        )
    paths = all_existing(path, *([name, f"{name}.gz"] for name in MNIST_FILES))
    return _mnist(paths, seed) if paths else _folder(path, seed)


def read_idx(path: Path) -> Tensor:
    """Read bytes in the format idx, packed by gzip or not, with the shape that the file names.

    A file is two zeros, the type, the number of axes, the length of each axis in four bytes with
    the highest first, and the entries.
    """
    with named_errors(path, "must be a file of MNIST in the format idx"):
        content = read_bytes(path, MOST_BYTES)
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                content = file.read(MOST_BYTES)
        if content[:3] != IDX_BYTES:
            raise ValueError(f"it must begin with {list(IDX_BYTES)}, got {list(content[:3])}")
        axes = content[3]
        shape = np.frombuffer(content, ">u4", count=axes, offset=4)
        entries = np.frombuffer(content, np.uint8, offset=4 + 4 * axes)
        return torch.tensor(entries.reshape(shape.astype(np.int64)))


def _mnist(paths: Sequence[Path], seed: int) -> PictureSource:
    pictures, labels, test_pictures, test_labels = map(read_idx, paths)
    for path, x, y in ((paths[1], pictures, labels), (paths[3], test_pictures, test_labels)):
        if len(x) != len(y):
            raise ValueError(f"{path} must hold {len(x)} labels, one per picture, got {len(y)}")
    train, val = _divided(labels, (1 - VAL_SHARE, VAL_SHARE), seed)
    splits = {
        split: (pictures[own], labels[own]) for split, own in (("train", train), ("val", val))
    }
    splits["test"] = test_pictures, test_labels
    scaled = {s: (x.float() / 127.5 - 1, y.long()) for s, (x, y) in splits.items()}
    return PictureSource("MNIST", scaled, int(labels.max()) + 1, seed, steps=500)


def _digits(seed: int) -> PictureSource:
    loaded = require("sklearn.datasets", "images").load_digits()
    x = torch.tensor(loaded.images, dtype=torch.float32) / 8 - 1
    y = torch.tensor(loaded.target)
    parts = zip(SPLITS, _divided(y, SHARES, seed), strict=True)
    splits = {split: (x[own], y[own]) for split, own in parts}
    return PictureSource("digits", splits, 10, seed, steps=100)


def _divided(labels: Tensor, shares: Sequence[float], seed: int) -> list[Tensor]:
    """Return which pictures each part has, in random order, all classes in the same shares."""
    names = [str(k) for k in range(len(labels))]
    parts = split_stratified(names, labels.tolist(), shares, seed)
    generator = torch.Generator().manual_seed(seed)
    return [torch.tensor(p)[torch.randperm(len(p), generator=generator)] for p in parts]


def _folder(root: Path, seed: int) -> PictureSource:
    """Open pictures whose folder is their class; folders train, val and test may be above."""
    files = split_folder(root, IMAGE_SUFFIXES)
    named = {split: [(name, Path(name).parent.name) for name in files[split]] for split in SPLITS}
    classes = sorted({label for pairs in named.values() for _, label in pairs})
    if len(classes) < 2 or not all(named.values()):
        counts = {split: len(pairs) for split, pairs in named.items()}
        raise ValueError(
            f"{root} must have a subfolder of pictures for each of at least two classes, and "
            f"pictures for every split, got classes {classes} and pictures {counts}"
        )
    splits = {}
    for split, pairs in named.items():
        colours = []
        for name, _ in pairs:
            with named_errors(root / name):
                colours.append(decode_image(root / name, SIZE))  # (H, W, 3)
        x = torch.tensor(np.stack(colours), dtype=torch.float32).mean(-1) / 127.5 - 1
        splits[split] = x, torch.tensor([classes.index(label) for _, label in pairs])
    return PictureSource(root.resolve().name, splits, len(classes), seed, steps=500)

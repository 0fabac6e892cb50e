"""Where pictures come from: what every source offers, and pictures in files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from symsets._checks import as_path, positive
from symsets.data.decoding import Skipped, decode_image, images_to_tensor, in_threads
from symsets.data.folders import split_folder
from symsets.data.splits import SPLITS, checked_split

T = TypeVar("T")
BY_HAND = ". Subfolders called train, val and test choose the splits by hand"
IMAGE_SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"}
)


class ImageSource(Protocol):
    """Colour pictures in three splits that share no original.

    Attributes:
        name: What tables call the data.
        size: Height and width of the pictures.
    """

    name: str
    size: int

    def __hash__(self) -> int: ...

    def images(
        self, split: str, num: int | None = None, device: torch.device | str = "cpu"
    ) -> Tensor:
        """Return the first ``num`` pictures of a split, or all, ``(M, 3, size, size)`` bytes.

        The order is random but fixed. There may be fewer than ``num`` but never none.
        """
        ...


class FileSource:
    """The files of each split, or what they contain, in the order of their use.

    Tables call the data ``name``; messages say that it lies at ``root``.
    """

    KIND = "files"  # in messages
    ADVICE = ""  # what to do if there are too few

    def __init__(
        self, name: str, files: Mapping[str, Sequence[Any]], *, size: int, root: Path
    ) -> None:
        self.name, self.files, self.size, self.root = name, files, positive("size", size), root
        self._skipped: dict[str, Skipped] = {}

    @property
    def skipped(self) -> Skipped:
        """How many files were left out so far, for each reason."""
        return Skipped(sum(self._skipped.values(), Skipped()))

    def _decode(
        self,
        split: str,
        read: Callable[[Any], Iterable[T]],
        num: int | None,
        *,
        block: int,
        least: int = 1,
    ) -> list[T]:
        """Return the first ``num`` results of reading the files of a split, ``least`` in any case.

        ``read`` returns what one file gives; those for which it raises UnusableError are counted.
        ``block`` files are read at once.
        """
        files = self.files[checked_split(split)]
        skipped = self._skipped[split] = Skipped()
        results = in_threads(read, files, skipped, block=block)
        found = list(islice(chain.from_iterable(results), num))
        if len(found) < least:
            counts = {split: len(self.files[split]) for split in SPLITS}
            raise ValueError(
                f"{self.root} has {len(found) or 'no'} usable {self.KIND} for split {split!r}, "
                f"{least} needed; files per split: {counts}; {skipped}{self.ADVICE}"
            )
        return found

    def __repr__(self) -> str:
        counts = ", ".join(f"{split}: {len(self.files[split])}" for split in SPLITS)
        return f"{type(self).__name__}({self.name!r}, size={self.size}, {counts})"


class ImageFiles(FileSource):
    """Encoded pictures, each cut to its middle square and scaled."""

    KIND = "images"

    def images(
        self,
        split: str,
        num: int | None = None,
        device: torch.device | str = "cpu",
        *,
        least: int = 1,
    ) -> Tensor:
        """Return the first ``num`` readable pictures of a split, or all: ``least`` in any case."""
        block = 256 if num is None else min(256, num)
        pictures = self._decode(
            split, lambda file: [decode_image(file, self.size)], num, block=block, least=least
        )
        return images_to_tensor(pictures).to(device)


class ImageFolder(ImageFiles):
    """All pictures below a folder.

    If the folder has subfolders ``train``, ``val`` and ``test``, these are the splits; without
    ``test``, ``val`` is used for the test, and where only one of the two exists, a tenth of
    ``train`` is used for validation. Otherwise a picture's path below the folder decides: 80 % are
    for training, 10 % for validation and 10 % for the test; at least two are for each, if there
    are six. Hidden files and the folders of studies are ignored.

    Args:
        root: The folder.
        size: Height and width of the pictures.
    """

    ADVICE = BY_HAND

    def __init__(self, root: str | os.PathLike[str], *, size: int = 80) -> None:
        root = as_path("root", root)
        splits = split_folder(root, IMAGE_SUFFIXES)
        files = {split: [root / name for name in splits[split]] for split in SPLITS}
        super().__init__(root.resolve().name, files, size=size, root=root)

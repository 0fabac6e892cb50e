"""Where pictures come from: what every source offers, and pictures in files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from symsets.data.decoding import Skipped, decode_images
from symsets.data.folders import split_folder
from symsets.data.splits import SPLITS, checked_split

__all__ = ["ImageSource", "ImageFiles", "ImageFolder", "IMAGE_SUFFIXES"]

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

    @property
    def skipped(self) -> Skipped:
        """How many files were left out so far, for each reason."""
        ...

    def images(
        self, split: str, num: int | None = None, device: torch.device | str = "cpu"
    ) -> Tensor:
        """Return the first ``num`` pictures of a split, or all, ``(M, 3, size, size)`` bytes.

        The order is random but fixed. There may be fewer than ``num`` but never none.
        """
        ...


class ImageFiles:
    """Encoded pictures, each cut to its middle square and scaled.

    Args:
        name: What tables call the data.
        files: The files of each split, or what they contain, in the order of their use.
        size: Height and width of the pictures.
        root: Where the files lie, for messages.
    """

    def __init__(
        self,
        name: str,
        files: Mapping[str, Sequence[Path] | Sequence[bytes]],
        *,
        size: int,
        root: Path,
    ) -> None:
        if size < 1:
            raise ValueError(f"size must be positive, got {size}")
        self.name, self.files, self.size, self.root = name, files, size, root
        self._skipped: dict[str, Skipped] = {}

    @property
    def skipped(self) -> Skipped:
        """How many files were left out so far, for each reason."""
        return Skipped(sum(self._skipped.values(), Skipped()))

    def images(
        self,
        split: str,
        num: int | None = None,
        device: torch.device | str = "cpu",
        *,
        least: int = 1,
    ) -> Tensor:
        """Return the first ``num`` readable pictures of a split, or all: ``least`` in any case."""
        files = self.files[checked_split(split)]
        skipped = self._skipped[split] = Skipped()
        images = decode_images(files, self.size, num, skipped)
        if len(images) < least:
            raise self._too_few(split, len(images), least)
        return images.to(device)

    def _too_few(self, split: str, num: int, least: int) -> ValueError:
        """Return what to raise where a split has only ``num`` usable pictures."""
        counts = {split: len(self.files[split]) for split in SPLITS}
        return ValueError(
            f"{self.root} has {num or 'no'} usable image{'' if num == 1 else 's'} for split "
            f"{split!r}, {least} needed; files per split: {counts}; {self.skipped}"
            + self._advice(least)
        )

    def _advice(self, least: int) -> str:
        """Say what helps a user whose splits are too small."""
        return ""

    def __repr__(self) -> str:
        counts = ", ".join(f"{split}: {len(self.files[split])}" for split in SPLITS)
        return f"{type(self).__name__}({self.name!r}, size={self.size}, {counts})"


class ImageFolder(ImageFiles):
    """All pictures below a folder.

    If the folder has subfolders ``train``, ``val`` and ``test``, these are the splits; without
    ``test``, ``val`` is for the test, and where only one of them is there, a tenth of ``train`` is
    for validation. Otherwise a picture's path below the folder decides: 80 % are for training, 10 %
    for validation and 10 % for the test; at least two are for each, if there are six. Hidden files
    and the folders of studies are ignored.

    Args:
        root: The folder.
        size: Height and width of the pictures.
    """

    def __init__(self, root: str | os.PathLike[str], *, size: int = 80) -> None:
        root = Path(root)
        splits = split_folder(root, IMAGE_SUFFIXES)
        files = {split: [root / name for name in splits[split]] for split in SPLITS}
        super().__init__(root.resolve().name, files, size=size, root=root)

    def _advice(self, least: int) -> str:
        return (
            f". A folder needs {len(SPLITS) * least} usable images at least; subfolders called "
            "train, val and test choose the splits by hand"
        )

"""Where pictures come from: what every source offers, and pictures in files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from symsets._checks import as_path
from symsets.data._file_source import FileSource
from symsets.data.decoding import decode_image, images_to_tensor
from symsets.data.folders import split_folder
from symsets.data.splits import SPLITS

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

        def read(file: Path | bytes) -> list[np.ndarray]:
            return [decode_image(file, self.size)]

        block = 256 if num is None else min(256, num)
        pictures = self._decode(split, read, num, block=block, least=least)
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

    IS_FOLDER = True

    def __init__(self, root: str | os.PathLike[str], *, size: int = 80) -> None:
        root = as_path("root", root)
        splits = split_folder(root, IMAGE_SUFFIXES)
        files = {split: [root / name for name in splits[split]] for split in SPLITS}
        super().__init__(root.resolve().name, files, size=size, root=root)

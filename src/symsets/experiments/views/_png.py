"""Read the colours of PNG files with all their bits."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from symsets._extras import require
from symsets._files import named_errors
from symsets.data.decoding import MOST_PIXELS, TOO_LARGE, regular_file

__all__ = ["read_png"]

DEEP = (b"\x10\x02", b"\x10\x06")  # 16 bits in colour, and with alpha: bytes 24 and 25 of a PNG


def read_png(path: Path) -> np.ndarray:
    """Return colours and alpha in 0 to 1, ``(H, W, 4)`` in float32; alpha is 1 if there is none.

    Pillow reads the file. Of 16 bits in each colour it keeps the upper 8 (as of version 13), which
    is too coarse for coordinates, so such files are then decoded by PyAV (the extra ``video``).

    Raises:
        ValueError: The file is missing or broken.
    """
    Image = require("PIL.Image", "images")
    if not path.exists():
        raise ValueError(f"{path} must be an image, found no such file")
    with named_errors(path, "cannot be read as an image"):
        with Image.open(regular_file(path), formats=("PNG",)) as image:
            if image.width * image.height > MOST_PIXELS:
                raise ValueError(TOO_LARGE)
            pixels = np.asarray(image.convert("RGBA"), dtype=np.float32) / 255
        with path.open("rb") as file:
            deep = file.read(26)[24:] in DEEP
        return _sixteen_bits(path) if deep else pixels


def _sixteen_bits(path: Path) -> np.ndarray:
    with require("av", "video").open(os.fspath(path), format="png_pipe") as container:
        frame = next(container.decode(video=0))
        return frame.to_ndarray(format="rgba64le").astype(np.float32) / 65535

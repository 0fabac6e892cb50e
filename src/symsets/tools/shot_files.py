"""Read shots from files with 8 or 16 bits, and write a picture as they are."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from symsets._extras import require
from symsets._files import atomic_write
from symsets.data.decoding import (
    UnusableError,
    is_deep,
    opened_image,
    over_white,
    regular_file,
    sixteen_bits,
    turned,
)
from symsets.data.deep_png import is_deep_png, read_png, write_png

FULL_SIZE = 2**16  # px: nothing is read at less than its size
SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
TIFF = (b"II*\x00", b"MM\x00*")


class Shot(NamedTuple):
    """A picture ``(1 or 3, H, W)`` with values in [0, 1], and how many bits its file has."""

    picture: Tensor
    bits: int


def read_shot(path: Path) -> Shot:
    """Read a picture as a camera meant it: upright, with 8 or 16 bits.

    Raises:
        ValueError: It cannot be read; the message names the file.
    """
    try:
        content = regular_file(path).read_bytes()
        values, bits = _values(content)
    except FileNotFoundError:
        raise ValueError(f"{path} must be a picture, but there is no such file") from None
    except (UnusableError, OSError) as error:
        raise ValueError(f"{path} must be a picture that can be read, but it is {error}") from None
    except ValueError as error:
        raise ValueError(f"{path} must be a picture that can be read: {error}") from None
    if values.ndim == 2:
        values = values[..., None]
    values = values[..., :3] if values.shape[-1] > 2 else values[..., :1]
    scaled = torch.from_numpy(values.astype(np.float32) / (2**bits - 1))
    return Shot(scaled.permute(2, 0, 1).contiguous(), bits)


def _values(content: bytes) -> tuple[np.ndarray, int]:
    """Return values ``(H, W)`` or ``(H, W, C)``, and how many bits they have."""
    if is_deep_png(content):
        return read_png(content), 16
    if content[:4] in TIFF:
        found = _deep_tiff(content)
        if found is not None:
            return found, 16
    with opened_image(content) as image:
        upright = turned(image, FULL_SIZE)
        if is_deep(upright):
            return sixteen_bits(upright), 16
        if upright.mode in ("1", "L"):
            return np.asarray(upright.convert("L")), 8
        transparent = upright.has_transparency_data
        return np.asarray(over_white(upright.convert("RGBA" if transparent else "RGB"))), 8


def _deep_tiff(content: bytes) -> np.ndarray | None:
    """Return the values of a TIFF file with 16 bits, which Pillow does not read in colour."""
    import io

    values = np.asarray(require("tifffile", "images").imread(io.BytesIO(content)))
    if values.dtype != np.uint16:
        return None
    if values.ndim not in (2, 3) or (values.ndim == 3 and values.shape[-1] not in (3, 4)):
        raise ValueError(f"it has the shape {values.shape}, not that of one picture")
    return values


def write_picture(path: Path, picture: Tensor, bits: int = 8) -> None:
    """Write a picture ``(1 or 3, H, W)`` with values in [0, 1]; 16 bits as PNG or TIFF only."""
    levels = (picture.double() * (2**bits - 1)).round().clamp(0, 2**bits - 1)
    values = levels.permute(1, 2, 0).numpy().astype(np.uint16 if bits == 16 else np.uint8)
    suffix = path.suffix.lower()
    with atomic_write(path) as part:
        if bits == 16 and suffix == ".png":
            part.write_bytes(write_png(values))
        elif bits == 16 and suffix in (".tif", ".tiff"):
            require("tifffile", "images").imwrite(part, values.squeeze(), photometric=None)
        else:
            if bits == 16:
                values = (values >> 8).astype(np.uint8)
            image = require("PIL.Image", "images").fromarray(values.squeeze())
            kind = require("PIL.Image", "images").registered_extensions()[suffix]
            image.save(part, format=kind, quality=95)

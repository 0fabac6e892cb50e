"""Read shots from files with 8 or 16 bits, and write a picture as they are."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from symsets._extras import require
from symsets._files import atomic_write
from symsets.data import decoding
from symsets.data.decoding import ORIENTATION, SIDEWAYS
from symsets.data.deep_png import is_deep_png, read_png, write_png
from symsets.pages.drawing import NAME, SOFTWARE, mark

FULL_SIZE = 2**16  # px: nothing is read at less than its size
SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")  # of what is written
DEEP = (".png", ".tif", ".tiff")  # that may have 16 bits
WHITE_IS_ZERO, PLAIN = 0, (0, 1, 2)  # what numbers in a TIFF file mean: grey, or RGB
TIFF = (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")


class Shot(NamedTuple):
    """A picture ``(1 or 3, H, W)`` with values in [0, 1], how many bits its file has, and what its
    colours mean (an ICC profile), if the file says so.
    """

    picture: Tensor
    bits: int
    colours: bytes | None = None


class UnusableShotError(ValueError):
    """A file is no shot; ``why`` says so without its name."""

    def __init__(self, said: str, why: str) -> None:
        super().__init__(f"shots must be pictures, but {said}")
        self.why = why


def read_shot(path: Path) -> Shot:
    """Read a picture as a camera meant it: upright, with 8 or 16 bits.

    Raise UnusableShotError naming the file if it is none.
    """
    if not path.is_file():
        wrong = f"{path} is no file" if path.exists() else f"there is no file {path}"
        raise UnusableShotError(wrong, "no file")
    try:
        values, bits, colours = _values(path.read_bytes())
    except decoding.UnusableError as error:
        raise UnusableShotError(f"{path} is {error}", str(error)) from None
    except (ValueError, OSError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UnusableShotError(f"{path} cannot be read: {why}", why) from None
    scaled = values.reshape(*values.shape[:2], -1).astype(np.float32) / (2**bits - 1)
    return Shot(torch.from_numpy(scaled).permute(2, 0, 1).contiguous(), bits, colours)


def _values(content: bytes) -> tuple[np.ndarray, int, bytes | None]:
    """Return values ``(H, W)`` or ``(H, W, 1 or 3)``, how many bits they have, and a profile."""
    deep = _deep_tiff(content) if content[:4] in TIFF else None
    with decoding.quiet(), decoding.opened_image(content) as image:
        if is_deep_png(content):
            deep = read_png(content)
        # Other kinds of colours are converted to red, green and blue, and lose their profile.
        colours = image.info.get("icc_profile") if image.mode != "CMYK" else None
        if deep is not None:
            return _turned(_opaque(deep), image.getexif().get(ORIENTATION, 1)), 16, colours
        upright = decoding.turned(image, FULL_SIZE)
        if decoding.is_deep(upright):
            return decoding.sixteen_bits(upright), 16, colours
        if upright.mode in ("1", "L") and not upright.has_transparency_data:
            return np.asarray(upright.convert("L")), 8, colours
        return np.asarray(decoding.over_white(decoding.eight_bits(upright))), 8, colours


def _deep_tiff(content: bytes) -> np.ndarray | None:
    """Return the values of a TIFF file with 16 bits, of which Pillow would keep 8, or None."""
    tifffile = require("tifffile", "images")
    try:
        with tifffile.TiffFile(io.BytesIO(content)) as file:
            first = file.pages[0]
            kind, meaning = first.dtype, first.photometric
            same = sum(page.shape == first.shape for page in file.pages)
            deep = np.asarray(first.asarray()) if kind == np.uint16 and same == 1 else None
    except Exception as error:  # it raises nearly anything on bad input
        raise ValueError(str(error) or "it is broken") from None
    if kind is not None and not (kind.kind in "bu" and kind.itemsize <= 2):
        numbers = "floating-point" if kind.kind == "f" else str(kind)
        raise decoding.UnusableError(f"of {numbers} numbers, not of 8 or 16 bits")
    if same > 1:
        raise ValueError(f"it holds {same} pictures, which must be files of their own")
    if deep is None:
        return None
    if meaning not in PLAIN:
        raise decoding.UnusableError("of other colours than grey, or red, green and blue")
    if meaning == WHITE_IS_ZERO:
        deep = 2**16 - 1 - deep
    if deep.ndim == 3 and deep.shape[0] in (3, 4) and deep.shape[2] > 4:
        deep = np.moveaxis(deep, 0, -1)  # colour after colour
    if deep.ndim != 2 and not (deep.ndim == 3 and deep.shape[2] <= 4):
        raise ValueError(f"it has the shape {deep.shape}, not that of a picture")
    return deep


def _opaque(values: np.ndarray) -> np.ndarray:
    """Lay values ``(H, W, 2 or 4)`` with an opacity over white; return others as they are."""
    if values.ndim == 2 or values.shape[2] in (1, 3):
        return values
    colour, opacity = values[..., :-1].astype(np.float64), values[..., -1:] / (2**16 - 1)
    return np.round(colour * opacity + (2**16 - 1) * (1 - opacity)).astype(np.uint16)


def _turned(values: np.ndarray, orientation: int) -> np.ndarray:
    """Return a picture ``(H, W, …)`` upright."""
    if orientation in SIDEWAYS:
        values = values.swapaxes(0, 1)
    up, left = orientation in (3, 4, 7, 8), orientation in (2, 3, 6, 7)
    return values[:: -1 if up else 1, :: -1 if left else 1]


def is_ours(path: Path) -> bool:
    """Whether a file is a picture that we wrote, such as an earlier result."""
    try:
        with decoding.quiet(), decoding.opened_image(path) as image:
            return image.getexif().get(SOFTWARE) == NAME
    except decoding.UnusableError:
        return False


def write_picture(path: Path, picture: Tensor, bits: int = 8, colours: bytes | None = None) -> None:
    """Write a picture ``(1 or 3, H, W)`` with values in [0, 1]; 16 bits as PNG or TIFF only.

    Its folder is made, its EXIF data say that we wrote it, and its ICC profile is ``colours``.
    """
    suffix = path.suffix.lower()
    bits = bits if suffix in DEEP else 8
    levels = (picture.double() * (2**bits - 1)).round().clamp(0, 2**bits - 1)
    values = levels.permute(1, 2, 0).numpy().astype(np.uint16 if bits == 16 else np.uint8)
    in_colour = values.shape[2] == 3
    flat = values if in_colour else values[..., 0]
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        if bits == 16 and suffix == ".png":
            part.write_bytes(write_png(values, mark(), colours))
        elif bits == 16:
            kind = "rgb" if in_colour else "minisblack"
            tifffile = require("tifffile", "images")
            tifffile.imwrite(part, flat, photometric=kind, software=NAME, iccprofile=colours)
        else:
            image = require("PIL.Image", "images")
            kind = image.registered_extensions()[suffix]
            about = {"exif": mark(), "icc_profile": colours}
            image.fromarray(flat).save(part, format=kind, quality=95, **about)

"""Decode pictures to bytes; whatever cannot be read is counted."""

from __future__ import annotations

import io
import os
import stat
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
from torch import Tensor

from symsets._extras import require

if TYPE_CHECKING:
    from PIL import Image

MOST_PIXELS = 2**26  # that are decoded
TOO_LARGE = f"larger than {MOST_PIXELS:,} pixels"
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")  # others may start programs
T = TypeVar("T")
U = TypeVar("U")


class UnusableError(ValueError):
    """A file cannot be used; equal messages are counted together."""


class Skipped(Counter[str]):
    """How many files were left out, for each reason.

    Example:
        >>> print(Skipped({"not readable": 2, "smaller than 40 pixels": 1}))
        3 skipped (2 not readable, 1 smaller than 40 pixels)
    """

    def __str__(self) -> str:
        reasons = ", ".join(f"{num} {reason}" for reason, num in self.most_common())
        return f"{self.total()} skipped ({reasons})" if reasons else "none skipped"


def regular_file(path: Path) -> Path:
    """Return ``path`` if it is a regular file; opening a pipe would block."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise UnusableError("not regular files")
    return path


def check_large_enough(shape: tuple[int, int], size: int) -> None:
    """Refuse a picture whose shorter side would have to grow to more than twice its length."""
    if 2 * min(shape) < size:
        raise UnusableError(f"smaller than {(size + 1) // 2} pixels")


def decode_image(encoded: bytes | Path, size: int) -> np.ndarray:
    """Decode a picture of any kind to its middle square, ``(size, size, 3)`` bytes.

    The camera's orientation is applied, palettes and CMYK are converted, grey is copied to three
    channels, 16 bits become 8, and what is transparent is laid over white.

    Raises:
        UnusableError: The picture is broken, of an unknown kind, larger than is decoded (JPEG
            files may be larger), or its shorter side is less than half of ``size``.
    """
    Image, ImageOps = require("PIL.Image", "images"), require("PIL.ImageOps", "images")
    try:
        file = io.BytesIO(encoded) if isinstance(encoded, bytes) else regular_file(encoded)
        with Image.open(file, formats=FORMATS) as image:
            check_large_enough(image.size, size)
            # JPEG decodes straight to a half, a quarter or an eighth where that is enough
            image.draft(None, (2 * size, 2 * size))
            if image.width * image.height > MOST_PIXELS:
                raise UnusableError(TOO_LARGE)
            square = _eight_bits(_middle(ImageOps.exif_transpose(image)))
            if square.size != (size, size):
                square = square.resize((size, size), Image.Resampling.LANCZOS, reducing_gap=3.0)
            return np.asarray(_over_white(square))
    except UnusableError:
        raise
    except FileNotFoundError as error:
        raise UnusableError("missing") from error
    except Image.DecompressionBombError as error:
        raise UnusableError(TOO_LARGE) from error
    except Exception as error:  # the many decoders in Pillow raise nearly anything on bad input
        raise UnusableError("not readable") from error


def _middle(image: Image.Image) -> Image.Image:
    width, height = image.size
    side = min(width, height)
    left, top = (width - side) // 2, (height - side) // 2
    return image.crop((left, top, left + side, top + side))


def _eight_bits(image: Image.Image) -> Image.Image:
    """Convert to RGB, or to RGBA with colours that can be averaged, whatever the kind."""
    if image.mode == "F":
        raise UnusableError("of real numbers, not of bytes")
    if image.mode == "I" or image.mode.startswith("I;16"):
        # 16-bit grey: Pillow itself would cut values off at 255
        grey = np.asarray(image).astype(np.int64).clip(0, 2**16 - 1) >> 8
        image = require("PIL.Image", "images").fromarray(grey.astype(np.uint8))
    transparent = image.has_transparency_data
    return image.convert("RGBA" if transparent else "RGB")


def _over_white(image: Image.Image) -> Image.Image:
    if image.mode == "RGB":
        return image
    page = require("PIL.Image", "images").new("RGBA", image.size, "white")
    page.alpha_composite(image)
    return page.convert("RGB")


def images_to_tensor(images: Sequence[np.ndarray]) -> Tensor:
    """Stack pictures ``(H, W, 3)`` to ``(M, 3, H, W)``."""
    channels_first = [image.transpose(2, 0, 1) for image in images]
    out = np.empty((len(images), *channels_first[0].shape), dtype=np.uint8)  # the only copy
    return torch.from_numpy(np.stack(channels_first, out=out))


def in_threads(
    read: Callable[[T], U], items: Iterable[T], skipped: Skipped, *, block: int
) -> Iterator[U]:
    """Read items in several threads; give the usable ones in order and count the others."""

    def read_or_error(item: T) -> U | UnusableError:
        try:
            return read(item)
        except UnusableError as error:
            return error

    items = iter(items)
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as threads:
        while some := list(islice(items, block)):
            with warnings.catch_warnings():
                # Pillow warns of large pictures before one can ask it to reduce them.
                warnings.filterwarnings("ignore", message="Image size .* exceeds limit")
                outcomes = list(threads.map(read_or_error, some))
            for outcome in outcomes:
                if isinstance(outcome, UnusableError):
                    skipped[str(outcome)] += 1
                else:
                    yield outcome

"""Decode pictures to bytes; whatever cannot be read is counted."""

from __future__ import annotations

import io
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
from torch import Tensor

from symsets._extras import require
from symsets._files import check_regular

if TYPE_CHECKING:
    from PIL import Image

MOST_PIXELS = 2**26  # that are decoded
TOO_LARGE = f"larger than {MOST_PIXELS:,} pixels"
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")  # others may start programs
ORIENTATION, SIDEWAYS = 274, (5, 6, 7, 8)  # the EXIF tag, and what swaps rows and columns
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


def check_large_enough(shape: tuple[int, int], size: int) -> None:
    """Refuse a picture whose shorter side would have to grow to more than twice its length."""
    if 2 * min(shape) < size:
        raise UnusableError(f"smaller than {(size + 1) // 2} pixels")


@contextmanager
def opened_image(encoded: bytes | Path) -> Iterator[Image.Image]:
    """Open a picture; whatever goes wrong while it is used becomes an UnusableError."""
    Image = require("PIL.Image", "images")
    try:
        if isinstance(encoded, Path):
            check_regular(encoded)  # opening a pipe would block
        file = io.BytesIO(encoded) if isinstance(encoded, bytes) else encoded
        with Image.open(file, formats=FORMATS) as image:
            yield image
    except UnusableError:
        raise
    except FileNotFoundError as error:
        raise UnusableError("missing") from error
    except Image.DecompressionBombError as error:
        raise UnusableError(TOO_LARGE) from error
    except Exception as error:  # the many decoders in Pillow raise nearly anything on bad input
        raise UnusableError("not readable") from error


def decode_image(encoded: bytes | Path, size: int) -> np.ndarray:
    """Decode a picture of any kind to its middle square, ``(size, size, 3)`` bytes.

    The camera's orientation is applied, palettes and CMYK are converted, grey is copied to three
    channels, 16 bits become 8, and what is transparent is laid over white. Raise UnusableError if
    the picture is broken, of an unknown kind, larger than is decoded (JPEG files may be larger),
    or its shorter side is less than half of ``size``.
    """
    with opened_image(encoded) as image:
        check_large_enough(image.size, size)
        upright = turned(image, 2 * size)
        square = eight_bits(upright.crop(middle_box(upright.size, (1, 1))))
        if square.size != (size, size):
            lanczos = require("PIL.Image", "images").Resampling.LANCZOS
            square = square.resize((size, size), lanczos, reducing_gap=3.0)
        return np.asarray(over_white(square))


def turned(image: Image.Image, side: int) -> Image.Image:
    """Decode a picture, no smaller than ``side`` if it is as large, and apply its orientation."""
    shrink(image, side)
    require("PIL.ImageOps", "images").exif_transpose(image, in_place=True)
    return image


def shrink(image: Image.Image, side: int) -> None:
    """Let JPEG decode to a half, a quarter or an eighth where that leaves sides of ``side``."""
    image.draft(None, (side, side))
    if image.width * image.height > MOST_PIXELS:
        raise UnusableError(TOO_LARGE)


def middle_box(size: tuple[int, int], shape: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return left, top, right, bottom of the largest middle of ``size (W, H)`` like ``shape``."""
    width, height = size
    w = min(width, max(1, height * shape[1] // shape[0]))
    h = min(height, max(1, width * shape[0] // shape[1]))
    left, top = (width - w) // 2, (height - h) // 2
    return left, top, left + w, top + h


def is_deep(image: Image.Image) -> bool:
    """Whether a picture is grey with 16 bits."""
    return image.mode == "I" or image.mode.startswith("I;16")


def sixteen_bits(image: Image.Image) -> np.ndarray:
    """Return the values of a grey picture with 16 bits, ``(H, W)``."""
    return np.asarray(image).astype(np.int64).clip(0, 2**16 - 1)


def eight_bits(image: Image.Image) -> Image.Image:
    """Convert to RGB, or to RGBA with colours that can be averaged, whatever the kind."""
    if image.mode == "F":
        raise UnusableError("of real numbers, not of bytes")
    if is_deep(image):
        # Pillow itself would cut values off at 255
        grey = (sixteen_bits(image) >> 8).astype(np.uint8)
        image = require("PIL.Image", "images").fromarray(grey)
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def over_white(image: Image.Image) -> Image.Image:
    """Lay what is transparent over white."""
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


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Pillow from warning of large pictures, before one can ask it to reduce them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Image size .* exceeds limit")
        yield


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
            with quiet():
                outcomes = list(threads.map(read_or_error, some))
            for outcome in outcomes:
                if isinstance(outcome, UnusableError):
                    skipped[str(outcome)] += 1
                else:
                    yield outcome

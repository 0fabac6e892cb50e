"""Pictures of sets: what their headers say, and decoding them to one size."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from symsets._extras import require
from symsets.data import decoding

if TYPE_CHECKING:
    from PIL import Image

LARGEST = 128  # pixels of the longer side, unless another size is asked for
GREY = ("1", "L", "LA")
ENDS = {"JPEG": b"\xff\xd9", "PNG": b"IEND"}  # of a file that is complete


@dataclass(frozen=True)
class Header:
    """What the header of a picture says."""

    shape: tuple[int, int]  # height and width, after the camera's orientation is applied
    grey: bool  # it has one channel
    deep: bool  # and that has 16 bits


def read_header(path: str) -> Header:
    """Read the header of a picture; decode it only if its file seems to be cut off."""
    with decoding.opened_image(Path(path)) as image:
        # asking a PNG for EXIF would decode it, unless the entry comes first
        asks = image.format != "PNG" or "exif" in image.info
        sideways = asks and image.getexif().get(decoding.ORIENTATION) in decoding.SIDEWAYS
        width, height = image.size[::-1] if sideways else image.size
        deep = decoding.is_deep(image)
        header = Header((height, width), image.mode in GREY or deep, deep)
        if image.mode == "F":
            raise decoding.UnusableError("of real numbers, not of bytes")
        decoding.shrink(image, LARGEST)
        if not _is_complete(path, image.format):
            image.load()
        return header


def _is_complete(path: str, kind: str | None) -> bool:
    if kind not in ENDS:
        return True
    with open(path, "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 64))
        return ENDS[kind] in file.read()


def default_shape(shapes: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the height and width that pictures of some shapes are brought to.

    Pictures of one shape keep it, or its proportions if a side has more than 128 pixels. Others
    become squares with the median of their shorter sides, up to 128 and a multiple of 8.

    Example:
        >>> default_shape([(28, 20)] * 3), default_shape([(480, 640)] * 3)
        ((28, 20), (96, 128))
        >>> default_shape([(480, 640), (100, 70), (90, 90)])
        (88, 88)
    """
    common = Counter(shapes)
    if len(common) > 1:
        side = min(LARGEST, _eights(median(min(shape) for shape in shapes)))
        return side, side
    ((height, width),) = common
    scale = LARGEST / max(height, width)
    return (height, width) if scale >= 1 else (_eights(scale * height), _eights(scale * width))


def _eights(length: float) -> int:
    return max(8, int(length) // 8 * 8)


@dataclass(frozen=True)
class Decoder:
    """Decode pictures to bytes ``(C, H, W)``, or to 16 bits."""

    shape: tuple[int, int]  # height and width
    resize: str  # "crop" the middle to these proportions, or "scale" each side on its own
    channels: int  # 1 for grey, 3 for colours
    deep: bool  # keep 16 bits of grey pictures

    @property
    def dtype(self) -> type:
        """The type of the values."""
        return np.uint16 if self.deep else np.uint8

    def __call__(self, path: str) -> np.ndarray[Any, Any]:
        """Decode a file; raise UnusableError if that is impossible."""
        mode = "L" if self.channels == 1 else "RGB"
        with decoding.opened_image(Path(path)) as image:
            upright = decoding.turned(image, max(self.shape))
            if self.deep and decoding.is_deep(upright):
                return self._sixteen_bits(upright)[None]
            plain = upright if upright.mode in ("L", "RGB") else decoding.eight_bits(upright)
            small = self._resized(plain)
            if small.mode != mode:
                small = (small if small.mode == "L" else decoding.over_white(small)).convert(mode)
            values = np.asarray(small)
        values = values[None] if self.channels == 1 else values.transpose(2, 0, 1)
        return values.astype(np.uint16) * 257 if self.deep else values

    def _resized(self, image: Image.Image) -> Image.Image:
        """Scale the middle, or all, of a picture; weighted means of pixels leave no ripples."""
        crops = self.resize == "crop"
        box = decoding.middle_box(image.size, self.shape) if crops else (0, 0, *image.size)
        if (box[2] - box[0], box[3] - box[1]) == self.shape[::-1]:
            return image.crop(box)
        bilinear = require("PIL.Image", "images").Resampling.BILINEAR
        return image.resize(self.shape[::-1], bilinear, box=box, reducing_gap=3.0)

    def _sixteen_bits(self, image: Image.Image) -> np.ndarray[Any, Any]:
        grey = decoding.sixteen_bits(image).astype(np.float32)
        values = np.asarray(self._resized(require("PIL.Image", "images").fromarray(grey)))
        return np.rint(values).clip(0, 2**16 - 1).astype(np.uint16)

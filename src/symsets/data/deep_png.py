"""Colour pictures with 16 bits in PNG files, which Pillow would cut to 8."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np

from symsets._extras import require

MAGIC = b"\x89PNG\r\n\x1a\n"
KINDS = {1: 0, 2: 4, 3: 2, 4: 6}  # what the header calls pictures with so many channels


def is_deep_png(content: bytes) -> bool:
    """Whether the content of a file is a PNG with 16 bits, which is for :func:`read_png`."""
    return content.startswith(MAGIC) and content[24:25] == b"\x10"


def read_png(content: bytes) -> np.ndarray:
    """Return the values ``(H, W, C)`` of a PNG with 16 bits; Pillow raises what is wrong with it.

    It has no kind of picture for colours with 16 bits, but gives their upper and their lower bytes.
    """
    image = require("PIL.Image", "images")

    def read(raw: str = "") -> np.ndarray:
        with image.open(io.BytesIO(content), formats=("PNG",)) as picture:
            *place, usual = picture.tile[0]
            picture.tile = [(*place, raw or usual)]
            return np.asarray(picture)

    upper = read()
    if upper.ndim == 2:
        return upper[..., None]
    if content[25] == 4:  # grey with an opacity: as four bytes, both of each value
        return read("RGBA").view(">u2").astype(np.uint16)
    lower = read(f"{'RGBA'[: upper.shape[2]]};16L")
    return upper.astype(np.uint16) << 8 | lower


def write_png(values: np.ndarray, exif: bytes = b"", icc_profile: bytes | None = None) -> bytes:
    """Return the content of a PNG file with values ``(H, W, 1 or 3)`` of 16 bits.

    It may have EXIF data and an ICC profile, too.

    Example:
        >>> values = np.random.default_rng(0).integers(2**16, size=(4, 5, 3), dtype=np.uint16)
        >>> np.array_equal(read_png(write_png(values)), values)
        True
    """
    height, width, channels = values.shape
    lines = np.ascontiguousarray(values.astype(">u2")).view(np.uint8).reshape(height, -1)
    above = np.vstack([np.zeros_like(lines[:1]), lines[:-1]])
    filtered = np.hstack([np.full((height, 1), 2, np.uint8), lines - above])  # kind 2: up
    head = struct.pack(">IIBBBBB", width, height, 16, KINDS[channels], 0, 0, 0)
    about = [(b"eXIf", exif.removeprefix(b"Exif\0\0"))] if exif else []
    if icc_profile:
        about.append((b"iCCP", b"ICC profile\0\0" + zlib.compress(icc_profile)))
    pixels = (b"IDAT", zlib.compress(filtered.tobytes(), 6))
    chunks = [(b"IHDR", head), *about, pixels, (b"IEND", b"")]
    return MAGIC + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )

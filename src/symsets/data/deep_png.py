"""Colour pictures with 16 bits in PNG files, which Pillow would cut to 8."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from symsets._extras import require

MAGIC = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}  # of the kinds of PNG that may have 16 bits
HEAD = 33  # bytes before the second chunk
MOST_BYTES = 2**30  # of a picture


def is_deep_png(content: bytes) -> bool:
    """Whether the content of a file is a PNG with 16 bits, which is for :func:`read_png`."""
    whole = len(content) >= HEAD and content[:8] == MAGIC and content[12:16] == b"IHDR"
    return whole and content[24] == 16


def read_png(content: bytes) -> np.ndarray:
    """Return the values ``(H, W, C)`` of a PNG with 16 bits; raise ValueError if it is broken."""
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", content[16:29])
    if interlaced:
        raise ValueError("it is interlaced, which is not read with 16 bits")
    if depth != 16 or kind not in CHANNELS:
        raise ValueError("it is no PNG with 16 bits")
    pixel = 2 * CHANNELS[kind]  # bytes
    length = height * (1 + width * pixel)
    if not width * height:
        raise ValueError("it has no pixels")
    if length > MOST_BYTES:
        raise ValueError(f"it has {width}×{height} pixels, more than are decoded")
    decoder = zlib.decompressobj()
    try:
        plain = decoder.decompress(_data(content), length)
    except zlib.error as error:
        raise ValueError(f"it is broken ({error})") from None
    if len(plain) < length:
        raise ValueError("it ends too early")
    if max(plain[:: 1 + width * pixel]) > 4:  # the first byte of each line
        raise ValueError("it has lines of an unknown kind")
    return _decoded(_data(content), (width, height), CHANNELS[kind])


def _data(content: bytes) -> bytes:
    """Return the compressed pixels of all chunks."""
    parts, place = [], 8
    while place + 12 <= len(content):
        length = int.from_bytes(content[place : place + 4], "big")
        if content[place + 4 : place + 8] == b"IDAT":
            parts.append(content[place + 8 : place + 8 + length])
        place += 12 + length
    return b"".join(parts)


def _decoded(data: bytes, size: tuple[int, int], channels: int) -> np.ndarray:
    """Let Pillow undo what PNG does to lines: whole pixels as bytes, or first half of each value.

    It has no kind of picture for colours with 16 bits, but gives their upper and their lower bytes.
    """
    image = require("PIL.Image", "images")

    def read(mode: str, raw: str) -> np.ndarray:
        return np.asarray(image.frombytes(mode, size, data, "zip", raw, 0))

    if channels < 3:
        mode = {1: "LA", 2: "RGBA"}[channels]  # of two and of four bytes
        both = read(mode, mode)
    else:
        mode = {3: "RGB", 4: "RGBA"}[channels]
        both = np.stack([read(mode, f"{mode};16B"), read(mode, f"{mode};16L")], -1)
    return both.reshape(*size[::-1], -1).view(">u2").astype(np.uint16)


def write_png(values: np.ndarray, exif: bytes = b"", icc_profile: bytes | None = None) -> bytes:
    """Return the content of a PNG file with values ``(H, W, 1 or 3)`` of 16 bits.

    It may have EXIF data and an ICC profile, too.

    Example:
        >>> values = np.random.default_rng(0).integers(2**16, size=(4, 5, 3), dtype=np.uint16)
        >>> np.array_equal(read_png(write_png(values)), values)
        True
    """
    height, width, channels = values.shape
    kind = {count: kind for kind, count in CHANNELS.items()}[channels]
    lines = np.ascontiguousarray(values.astype(">u2")).view(np.uint8).reshape(height, -1)
    above = np.vstack([np.zeros_like(lines[:1]), lines[:-1]])
    filtered = np.hstack([np.full((height, 1), 2, np.uint8), lines - above])  # kind 2: up
    head = struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)
    about = [(b"eXIf", exif.removeprefix(b"Exif\0\0"))] if exif else []
    if icc_profile:
        about.append((b"iCCP", b"ICC profile\0\0" + zlib.compress(icc_profile)))
    pixels = (b"IDAT", zlib.compress(filtered.tobytes(), 6))
    chunks = [(b"IHDR", head), *about, pixels, (b"IEND", b"")]
    return MAGIC + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )

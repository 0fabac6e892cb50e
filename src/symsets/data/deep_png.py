"""Colour pictures with 16 bits in PNG files, which Pillow would cut to 8."""

from __future__ import annotations

import struct
import zlib

import numpy as np

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
    lines = np.frombuffer(plain, np.uint8).reshape(height, 1 + width * pixel)
    filters, filtered = lines[:, 0], lines[:, 1:].reshape(height, width, pixel)
    if filters.max() > 4:
        raise ValueError("it has lines of an unknown kind")
    restored = np.ascontiguousarray(_unfiltered(filters, filtered))
    return restored.view(">u2").astype(np.uint16).reshape(height, width, -1)


def _data(content: bytes) -> bytes:
    """Return the compressed pixels of all chunks."""
    parts, place = [], 8
    while place + 12 <= len(content):
        length = int.from_bytes(content[place : place + 4], "big")
        if content[place + 4 : place + 8] == b"IDAT":
            parts.append(content[place + 8 : place + 8 + length])
        place += 12 + length
    return b"".join(parts)


def _unfiltered(filters: np.ndarray, filtered: np.ndarray) -> np.ndarray:
    """Undo what PNG does to lines before it compresses them.

    A pixel depends on its left, upper and upper left neighbours, so all pixels of a diagonal are
    restored at once.
    """
    height, width, pixel = filtered.shape
    out = np.zeros((height + 1, width + 1, pixel), np.int16)
    for diagonal in range(height + width - 1):
        rows = np.arange(max(0, diagonal - width + 1), min(height - 1, diagonal) + 1)
        columns = diagonal - rows
        left, up = out[rows + 1, columns], out[rows, columns + 1]
        corner = out[rows, columns]
        guess = left + up - corner
        near = [abs(guess - left), abs(guess - up), abs(guess - corner)]
        paeth = np.where(
            (near[0] <= near[1]) & (near[0] <= near[2]),
            left,
            np.where(near[1] <= near[2], up, corner),
        )
        choices = [np.zeros_like(left), left, up, (left + up) // 2, paeth]
        added = np.choose(filters[rows][:, None], choices)
        out[rows + 1, columns + 1] = (filtered[rows, columns] + added) & 255
    return out[1:, 1:].astype(np.uint8)


def write_png(values: np.ndarray, exif: bytes = b"") -> bytes:
    """Return the content of a PNG file with values ``(H, W, 1 or 3)`` of 16 bits, and EXIF data.

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
    pixels = (b"IDAT", zlib.compress(filtered.tobytes(), 6))
    chunks = [(b"IHDR", head), *about, pixels, (b"IEND", b"")]
    return MAGIC + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )

"""Read PNG files without losing bits: common decoders cut 16-bit colours down to 8."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

from symsets._extras import require

__all__ = ["read_png"]

CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}  # grey, colour, and either with alpha
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def read_png(path: Path) -> np.ndarray:
    """Return colours and alpha in 0 to 1, ``(H, W, 4)`` in float32; alpha is 1 if there is none.

    Raises:
        ValueError: The file is missing or broken.
    """
    try:
        content = path.read_bytes()
        if content[:8] == SIGNATURE and content[24:26] in (b"\x10\x02", b"\x10\x06"):
            return _with_alpha(_sixteen_bits(content))
        with require("PIL.Image", "images").open(path) as image:
            return np.asarray(image.convert("RGBA"), dtype=np.float32) / 255
    except FileNotFoundError as error:
        raise ValueError(f"{path} must be an image, found no such file") from error
    except (OSError, ValueError, zlib.error, struct.error, SyntaxError) as error:
        raise ValueError(f"{path} cannot be read as an image: {error}") from error


def _with_alpha(colours: np.ndarray) -> np.ndarray:
    scaled = colours.astype(np.float32) / 65535
    if scaled.shape[2] == 4:
        return scaled
    return np.concatenate([scaled, np.ones_like(scaled[..., :1])], axis=2)


def _sixteen_bits(content: bytes) -> np.ndarray:
    """Decode a picture of 16 bits per channel that is not interlaced, ``(H, W, C)``."""
    width, height, _, colour, _, _, interlaced = struct.unpack_from(">IIBBBBB", content, 16)
    if interlaced:
        raise ValueError("interlaced 16-bit PNG is not supported")
    data, at = b"", 8
    while at + 8 <= len(content):
        length, kind = struct.unpack_from(">I4s", content, at)
        if kind == b"IDAT":
            data += content[at + 8 : at + 8 + length]
        at += 12 + length
    step = 2 * CHANNELS[colour]  # bytes of a pixel
    raw = np.frombuffer(zlib.decompress(data), dtype=np.uint8)
    if len(raw) != height * (1 + width * step):
        raise ValueError("it ends too early")
    lines = raw.reshape(height, 1 + width * step)
    if (lines[:, 0] > 4).any():
        raise ValueError("its lines are predicted in an unknown way")
    pixels = _unfilter(lines[:, 0], lines[:, 1:].reshape(height, width, step))
    return pixels.reshape(height, -1).view(">u2").reshape(height, width, -1)


def _unfilter(kinds: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """Undo the prediction of each pixel from those on its left and above.

    A pixel needs its left, upper and upper left neighbours only, so all pixels of one diagonal
    can be done at once.
    """
    height, width, step = lines.shape
    done = np.zeros((height + 1, width + 1, step), dtype=np.int16)  # a border of zeros
    for diagonal in range(height + width - 1):
        row = np.arange(max(0, diagonal - width + 1), min(height, diagonal + 1))
        column = diagonal - row
        left, above, corner = (
            done[row + 1, column],
            done[row, column + 1],
            done[row, column],
        )
        guess = left + above - corner
        to_left, to_above, to_corner = (abs(guess - n) for n in (left, above, corner))
        nearest = np.where(
            (to_left <= to_above) & (to_left <= to_corner),
            left,
            np.where(to_above <= to_corner, above, corner),
        )
        options = np.stack([np.zeros_like(left), left, above, (left + above) // 2, nearest])
        predicted = options[kinds[row], np.arange(len(row))]
        done[row + 1, column + 1] = (lines[row, column] + predicted) % 256
    return done[1:, 1:].astype(np.uint8)

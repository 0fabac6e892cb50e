"""PNG files with 16 bits, against Pillow and files written byte by byte."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from symsets.data.deep_png import MAGIC, is_deep_png, read_png, write_png


def values(height=7, width=9, channels=3):
    shape = (height, width, channels)
    return np.random.default_rng(0).integers(2**16, size=shape, dtype=np.uint16)


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def paeth(left, up, corner):
    guess = left + up - corner
    near = [abs(guess - left), abs(guess - up), abs(guess - corner)]
    return (left, up, corner)[near.index(min(near))]


def written(pixels, kinds, interlaced=0):
    """Write a PNG byte by byte as the standard says, with a kind of filter for each line."""
    height, width, channels = pixels.shape
    step = 2 * channels
    lines = [list(line.astype(">u2").tobytes()) for line in pixels]
    out = bytearray()
    for y, line in enumerate(lines):
        kind = kinds[y % len(kinds)]
        out.append(kind)
        for k, byte in enumerate(line):
            left = line[k - step] if k >= step else 0
            up = lines[y - 1][k] if y else 0
            corner = lines[y - 1][k - step] if y and k >= step else 0
            guess = (0, left, up, (left + up) // 2, paeth(left, up, corner))[kind]
            out.append((byte - guess) % 256)
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    head = struct.pack(">IIBBBBB", width, height, 16, colour, 0, 0, interlaced)
    packed = zlib.compress(bytes(out))
    parts = [chunk(b"IDAT", packed[:20]), chunk(b"IDAT", packed[20:])]
    return MAGIC + chunk(b"IHDR", head) + b"".join(parts) + chunk(b"IEND", b"")


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("kinds", [(0,), (1,), (2,), (3,), (4,), (4, 1, 3, 0, 2)])
def test_every_kind_of_line_is_restored(kinds, channels):
    pixels = values(channels=channels)
    assert np.array_equal(read_png(written(pixels, kinds)), pixels)


def test_data_about_a_picture_are_written_with_it():
    about, pixels = Image.Exif(), values()
    about[305] = "symsets"
    content = write_png(pixels, about.tobytes())
    with Image.open(io.BytesIO(content)) as image:
        assert image.getexif()[305] == "symsets"
    assert np.array_equal(read_png(content), pixels)


def test_of_neighbours_that_are_as_near_the_first_is_taken():
    pixels = values(30, 30) % 5  # few values, so that many are as near
    assert np.array_equal(read_png(written(pixels, (4,))), pixels)


@pytest.mark.parametrize("shape", [(1, 1), (1, 8), (8, 1), (40, 3)])
def test_pictures_may_have_any_size(shape):
    pixels = values(*shape)
    assert np.array_equal(read_png(written(pixels, (4, 3))), pixels)
    assert np.array_equal(read_png(write_png(pixels)), pixels)


def test_grey_files_are_those_of_pillow():
    pixels = values(channels=1)
    with Image.open(io.BytesIO(write_png(pixels))) as image:
        assert np.array_equal(np.asarray(image), pixels[..., 0])
    stream = io.BytesIO()
    Image.fromarray(pixels[..., 0]).save(stream, "PNG")
    assert is_deep_png(stream.getvalue())
    assert np.array_equal(read_png(stream.getvalue()), pixels)


def test_pillow_reads_the_upper_bits_of_colours():
    pixels = values()
    with Image.open(io.BytesIO(write_png(pixels))) as image:
        assert np.array_equal(np.asarray(image), pixels >> 8)


def test_files_with_8_bits_are_for_pillow():
    stream = io.BytesIO()
    Image.new("RGB", (4, 4)).save(stream, "PNG")
    assert not is_deep_png(stream.getvalue())
    for content in (b"", MAGIC, write_png(values())[:20], b"x" * 50):
        assert not is_deep_png(content)


@pytest.mark.parametrize("end", [33, 45, 200, -30])
def test_files_that_end_too_early_are_named(end):
    with pytest.raises(OSError, match=r"truncated|broken|unrecognized|cannot identify"):
        read_png(write_png(values())[:end])


def changed(place, new):
    content = bytearray(write_png(values()))
    content[place : place + len(new)] = new
    return bytes(content)


@pytest.mark.parametrize(
    "content",
    [
        changed(45, b"\xff\xff\xff"),
        changed(16, b"\x7f\xff\xff\xff"),
        changed(16, b"\x00\x00\x00\x00"),
        changed(25, b"\x03"),
        written(values(), (0,)).replace(b"IDAT", b"IDOT"),
    ],
)
def test_broken_files_are_refused(content):
    with pytest.raises((ValueError, OSError, Image.DecompressionBombError)):
        read_png(content)


def test_lines_of_an_unknown_kind_are_refused():
    height, width = 2, 2
    head = struct.pack(">IIBBBBB", width, height, 16, 0, 0, 0, 0)
    lines = zlib.compress(bytes([9, 0, 0, 0, 0]) * height)
    content = MAGIC + chunk(b"IHDR", head) + chunk(b"IDAT", lines)
    with pytest.raises(OSError):
        read_png(content)

"""Shots in files: 8 and 16 bits, colour and grey, upright, and one line for what is none."""

import io

import numpy as np
import pytest
import tifffile
import torch
from PIL import Image, ImageOps

from symsets.data.deep_png import read_png, write_png
from symsets.tools.shot_files import (
    ORIENTATION,
    UnusableShotError,
    is_ours,
    read_shot,
    write_picture,
)


def levels(bits=8, channels=3, shape=(20, 30)):
    random = np.random.default_rng(0)
    return random.integers(2**bits, size=(*shape, channels), dtype=np.uint16).squeeze()


def read(path, bits):
    """Return the values of a file as integers ``(H, W, C)``."""
    shot = read_shot(path)
    assert shot.bits == bits
    assert shot.picture.dtype == torch.float32
    return (shot.picture.permute(1, 2, 0).double() * (2**bits - 1)).round().numpy().astype(int)


@pytest.mark.parametrize("suffix", [".png", ".tif", ".tiff", ".webp", ".bmp"])
@pytest.mark.parametrize("channels", [1, 3])
def test_files_with_8_bits_are_read_exactly(tmp_path, suffix, channels):
    pixels, path = levels(channels=channels).astype(np.uint8), tmp_path / f"a{suffix}"
    Image.fromarray(pixels).save(path, **({"lossless": True} if suffix == ".webp" else {}))
    found = read(path, 8)
    assert (found == pixels.reshape(20, 30, -1)).all()
    if suffix != ".webp":  # which has no grey
        assert found.shape[2] == channels


@pytest.mark.parametrize("channels", [1, 3])
def test_files_with_16_bits_are_read_exactly(tmp_path, channels):
    pixels = levels(16, channels)
    (tmp_path / "a.png").write_bytes(write_png(pixels.reshape(20, 30, channels)))
    kind = "rgb" if channels == 3 else "minisblack"
    tifffile.imwrite(tmp_path / "a.tif", pixels, photometric=kind)
    tifffile.imwrite(tmp_path / "big.tif", pixels, photometric=kind, bigtiff=True)
    for name in ("a.png", "a.tif", "big.tif"):
        assert (read(tmp_path / name, 16) == pixels.reshape(20, 30, channels)).all()


def test_tiff_files_may_hold_colour_after_colour(tmp_path):
    pixels, path = levels(16), tmp_path / "a.tif"
    tifffile.imwrite(path, np.moveaxis(pixels, -1, 0), photometric="rgb", planarconfig="separate")
    assert (read(path, 16) == pixels).all()


def test_jpeg_files_are_read_at_full_size(tmp_path):
    smooth = np.linspace(0, 255, 400).astype(np.uint8)[None].repeat(300, 0)
    Image.fromarray(smooth).convert("RGB").save(tmp_path / "a.jpg", quality=95)
    found = read(tmp_path / "a.jpg", 8)
    assert found.shape == (300, 400, 3)
    assert abs(found - smooth[..., None]).max() < 6


@pytest.mark.parametrize("orientation", range(1, 9))
def test_shots_are_upright(tmp_path, orientation):
    pixels, deep = levels().astype(np.uint8), levels(16)
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    image = Image.fromarray(pixels)
    for name, options in (("a.png", {}), ("a.tif", {}), ("a.jpg", {"quality": 95})):
        image.save(tmp_path / name, exif=exif, **options)
        with Image.open(tmp_path / name) as again:
            expected = np.asarray(ImageOps.exif_transpose(again))
        assert (read(tmp_path / name, 8) == expected).all(), name
        assert expected.shape[:2] == ((20, 30) if orientation < 5 else (30, 20))

    # 16 bits: the upper half of each value is a picture that Pillow can turn.
    upper = Image.fromarray((deep >> 8).astype(np.uint8))
    upper.getexif()[ORIENTATION] = orientation
    expected = np.asarray(ImageOps.exif_transpose(upper))
    tag = (ORIENTATION, "H", 1, orientation, True)
    tifffile.imwrite(tmp_path / "deep.tif", deep, photometric="rgb", extratags=[tag])
    (tmp_path / "deep.png").write_bytes(write_png(deep, exif.tobytes()))
    for name in ("deep.tif", "deep.png"):
        found = read(tmp_path / name, 16)
        assert found.shape == expected.shape, name
        assert (found >> 8 == expected).all(), name


def test_what_is_transparent_is_laid_over_white(tmp_path):
    colours = levels(channels=4).astype(np.uint8)
    Image.fromarray(colours).save(tmp_path / "a.png")
    opacity = colours[..., 3:] / 255
    expected = colours[..., :3] * opacity + 255 * (1 - opacity)
    assert abs(read(tmp_path / "a.png", 8) - expected).max() <= 1

    deep = levels(16, 4)
    (tmp_path / "deep.png").write_bytes(write_png(deep))
    opacity = deep[..., 3:] / 65535
    expected = deep[..., :3] * opacity + 65535 * (1 - opacity)
    assert abs(read(tmp_path / "deep.png", 16) - expected).max() <= 1


def test_palettes_and_cmyk_are_read_as_colours(tmp_path):
    image = Image.fromarray(levels().astype(np.uint8))
    image.quantize(16).save(tmp_path / "a.png")
    image.convert("CMYK").save(tmp_path / "b.tif")
    assert read(tmp_path / "a.png", 8).shape == (20, 30, 3)
    assert read(tmp_path / "b.tif", 8).shape == (20, 30, 3)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("suffix", [".png", ".tif", ".TIFF"])
@pytest.mark.parametrize("bits", [8, 16])
def test_what_is_written_is_read_again(tmp_path, suffix, bits, channels):
    path, pixels = tmp_path / f"a{suffix}", levels(bits, channels).reshape(20, 30, channels)
    picture = torch.from_numpy(pixels.astype(np.float32) / (2**bits - 1)).permute(2, 0, 1)
    write_picture(path, picture, bits)
    assert (read(path, bits) == pixels).all()
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_others_read_what_is_written(tmp_path):
    pixels = levels(16)
    picture = torch.from_numpy(pixels.astype(np.float32) / 65535).permute(2, 0, 1)
    write_picture(tmp_path / "a.tif", picture, 16)
    assert (tifffile.imread(tmp_path / "a.tif") == pixels).all()
    write_picture(tmp_path / "a.png", picture, 16)
    assert (read_png((tmp_path / "a.png").read_bytes()) == pixels).all()


@pytest.mark.parametrize("suffix", [".jpg", ".webp"])
def test_16_bits_are_rounded_where_a_file_cannot_hold_them(tmp_path, suffix):
    write_picture(tmp_path / f"a{suffix}", torch.full((3, 20, 30), 100.4 / 255), 16)
    assert abs(read(tmp_path / f"a{suffix}", 8) - 100).max() <= 1


@pytest.mark.parametrize("suffix", [".png", ".tif", ".jpg", ".webp"])
@pytest.mark.parametrize("bits", [8, 16])
def test_what_we_wrote_is_known_again(tmp_path, suffix, bits):
    ours, other = tmp_path / f"ours{suffix}", tmp_path / f"other{suffix}"
    write_picture(ours, torch.rand(3, 20, 30), bits)
    Image.fromarray(levels().astype(np.uint8)).save(other)
    (tmp_path / "text.png").write_text("no picture")
    assert [is_ours(path) for path in (ours, other, tmp_path / "text.png")] == [True, False, False]


def broken_png():
    return write_png(levels(16))[:-200]


def many_pages():
    stream = io.BytesIO()
    tifffile.imwrite(stream, np.zeros((5, 20, 30), np.uint16), photometric="minisblack")
    return stream.getvalue()


def real_numbers():
    stream = io.BytesIO()
    tifffile.imwrite(stream, np.zeros((20, 30), np.float32))
    return stream.getvalue()


CONTENTS = {
    "empty": (lambda: b"", r"a\.png is not readable"),
    "text": (lambda: b"hello", r"a\.png is not readable"),
    "broken": (broken_png, r"a\.png is not readable"),
    "tiff": (lambda: b"II*\x00" + b"\xff" * 40, r"a\.png (cannot be read|is not readable)"),
    "pages": (many_pages, r"a\.png cannot be read: it holds 5 pictures, which must be files"),
    "floats": (real_numbers, r"a\.png is of floating-point numbers, not of 8 or 16 bits"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_what_is_no_picture_is_named(tmp_path, name):
    make, message = CONTENTS[name]
    (tmp_path / "a.png").write_bytes(make())
    with pytest.raises(ValueError, match=f"shots must be pictures, but .*{message}") as caught:
        read_shot(tmp_path / "a.png")
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"but there is no file .*a\.png"):
        read_shot(tmp_path / "a.png")
    with pytest.raises(ValueError, match=r"but .* is no file"):
        read_shot(tmp_path)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_tiff_files_of_floating_point_numbers_are_refused_with_the_reason(tmp_path, kind, channels):
    path = tmp_path / "a.tif"
    colours = "rgb" if channels == 3 else "minisblack"
    tifffile.imwrite(path, levels(8, channels).astype(kind) / 255, photometric=colours)
    with pytest.raises(UnusableShotError) as caught:
        read_shot(path)
    why = "of floating-point numbers, not of 8 or 16 bits"
    assert caught.value.why == why
    assert str(caught.value) == f"shots must be pictures, but {path} is {why}"


def test_tiff_files_in_which_zero_is_white_are_inverted(tmp_path):
    pixels = levels(16, 1).squeeze()
    tifffile.imwrite(tmp_path / "a.tif", 65535 - pixels, photometric="miniswhite")
    found = read_shot(tmp_path / "a.tif")
    assert (found.picture[0] * 65535).round().int().equal(torch.as_tensor(pixels.astype(np.int32)))


@pytest.mark.parametrize(
    ("kind", "shape", "colours", "why"),
    [
        (np.uint32, (20, 30), "minisblack", "of uint32 numbers, not of 8 or 16 bits"),
        (np.int16, (20, 30), "minisblack", "of int16 numbers, not of 8 or 16 bits"),
        (np.int8, (20, 30), "minisblack", "of int8 numbers, not of 8 or 16 bits"),
        (np.uint16, (20, 30, 4), "separated", "of other colours than grey, or red, green and"),
    ],
)
def test_tiff_files_that_would_be_misread_are_refused(tmp_path, kind, shape, colours, why):
    path = tmp_path / "a.tif"
    if kind(0).dtype.kind == "i":
        kind = kind(0).dtype
    tifffile.imwrite(path, np.zeros(shape, kind), photometric=colours)
    with pytest.raises(UnusableShotError, match=why):
        read_shot(path)

import numpy as np
import pytest

from symsets.data.decoding import UnusableError, decode_image

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")


def save(path, size=(40, 40), *, colour=(200, 40, 90), mode="RGB", **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).convert(mode).save(path, **options)
    return path


@pytest.mark.parametrize("mode", ["RGB", "L", "1", "P", "CMYK", "YCbCr", "RGBA", "LA", "I;16"])
def test_every_kind_of_picture_becomes_three_bytes_a_pixel(tmp_path, mode):
    if mode == "I;16":
        path = tmp_path / "deep.png"
        Image.fromarray(np.full((40, 40), 128 << 8, dtype=np.uint16)).save(path)
    else:
        suffix = ".jpg" if mode in ("CMYK", "YCbCr") else ".png"
        path = save(tmp_path / f"picture{suffix}", colour=(128, 128, 128), mode=mode)
    pixels = decode_image(path, 32)
    assert pixels.shape == (32, 32, 3)
    assert pixels.dtype == np.uint8
    if mode in ("1", "P"):  # dithered
        assert abs(pixels.mean() - 128) < 8
    else:
        assert np.abs(pixels.astype(int) - 128).max() <= 3


def test_transparent_pixels_lie_over_white(tmp_path):
    clear = Image.new("RGBA", (40, 40), (0, 0, 0, 0))
    clear.save(tmp_path / "clear.png")
    assert (decode_image(tmp_path / "clear.png", 32) == 255).all()
    palette = Image.new("P", (40, 40), 0)
    palette.putpalette([0, 0, 0, 255, 0, 0])
    palette.save(tmp_path / "clear.gif", transparency=0)
    assert (decode_image(tmp_path / "clear.gif", 32) == 255).all()


def test_the_middle_square_is_kept_upright(tmp_path):
    wide = Image.new("RGB", (100, 40), "black")
    wide.paste("white", (30, 0, 70, 20))  # upper half of the middle
    exif = Image.Exif()
    exif[0x0112] = 3  # the camera was upside down
    wide.save(tmp_path / "turned.png", exif=exif)
    pixels = decode_image(tmp_path / "turned.png", 40)
    assert (pixels[:19] == 0).all()
    assert (pixels[21:] == 255).all()


def test_a_missing_file_is_a_reason(tmp_path):
    with pytest.raises(UnusableError, match="missing"):
        decode_image(tmp_path / "gone.png", 32)

import numpy as np
import pytest
import torch

from symsets.data import SetFolder
from symsets.data.set_folder.pictures import LARGEST, default_shape

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")


def halves(path, *, size, **options):
    """Write a picture whose left half is white and whose right half is black."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", size, "black")
    image.paste("white", (0, 0, size[0] // 2, size[1]))
    image.save(path, **options)


def test_the_orientation_of_the_camera_is_obeyed(folder):
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: what is left goes up
    for name in "ab":
        halves(folder.root / name / "0.jpg", size=(96, 64), exif=exif, quality=95)
        halves(folder.root / name / "1.png", size=(96, 64), exif=exif)
    x, _ = SetFolder(folder.root)[0]
    assert x.shape == (2, 3, 96, 64)
    assert (x[:, :, :40] > 0.9).all()
    assert (x[:, :, 56:] < 0.1).all()


@pytest.mark.parametrize(("resize", "white"), [("crop", 32), ("scale", 32)])
def test_pictures_of_different_sizes_get_one(folder, resize, white):
    halves(folder.root / "a" / "0.png", size=(200, 100))
    halves(folder.root / "a" / "1.png", size=(64, 64))
    halves(folder.root / "b" / "0.png", size=(10, 40))  # is enlarged
    sets = SetFolder(folder.root, size=64, resize=resize)
    x, _ = sets[0]
    assert x.shape == (2, 3, 64, 64)
    assert (x[:, :, :, : white - 4] > 0.9).all()
    assert (x[:, :, :, white + 4 :] < 0.1).all()
    assert sets[1][0].shape == (1, 3, 64, 64)


def test_cropping_keeps_proportions_and_scaling_keeps_everything(folder):
    for name in "ab":
        image = Image.new("RGB", (100, 100), "black")
        image.paste("white", (0, 0, 100, 20))  # the top fifth
        (folder.root / name).mkdir(parents=True)
        image.save(folder.root / name / "0.png")
    cropped = SetFolder(folder.root, size=(30, 60))[0][0]
    assert cropped.max() < 0.01  # the upper quarter is cut off
    scaled = SetFolder(folder.root, size=(30, 60), resize="scale")[0][0]
    assert (scaled[0, :, :5] > 0.9).all()
    assert (scaled[0, :, 7:] < 0.1).all()


def test_grey_pictures_have_one_channel_and_keep_sixteen_bits(folder):
    values = np.arange(64, dtype=np.uint16).reshape(8, 8) * 1000 + 7
    for name in "ab":
        (folder.root / name).mkdir(parents=True)
        Image.fromarray(values).save(folder.root / name / "0.png")
        Image.fromarray((values >> 8).astype(np.uint8)).save(folder.root / name / "1.png")
    sets = SetFolder(folder.root)
    x, _ = sets[0]
    assert x.shape == (2, 1, 8, 8)
    assert np.allclose(x[0, 0], values / 65535, rtol=1e-6)
    assert np.allclose(x[1, 0], (values >> 8) / 255, rtol=1e-6)
    cached = SetFolder(folder.root, cache=True)
    for _ in range(2):
        assert torch.equal(cached[0][0], x)
    colour, _ = SetFolder(folder.root, channels=3)[0]
    assert colour.shape == (2, 3, 8, 8)
    assert np.allclose(colour[0, 1], (values >> 8) / 255)
    smaller, _ = SetFolder(folder.root, size=4)[0]
    assert abs(smaller[0].mean() - x[0].mean()) < 0.01


def test_other_kinds_of_pictures_are_converted(folder):
    for name in "ab":
        folder.paint(f"{name}/0.png", grey=200)
        image = Image.new("RGBA", (40, 32), (0, 0, 0, 0))
        image.save(folder.root / name / "1.png")
        Image.new("P", (40, 32), 3).save(folder.root / name / "2.gif")
        Image.new("CMYK", (40, 32)).save(folder.root / name / "3.jpg")
    sets = SetFolder(folder.root)
    x, _ = sets[0]
    assert x.shape == (4, 3, 32, 40)
    assert (x[[1, 3]] == 1).all()  # what is transparent, or without ink, is white
    assert SetFolder(folder.root, channels=1)[0][0].shape == (4, 1, 32, 40)


def test_real_numbers_are_no_pictures(folder):
    folder.sets("a", "b")
    path = folder.root / "a" / "9.tif"
    Image.new("F", (8, 8)).save(path)
    assert SetFolder(folder.root).skipped == [(str(path), "of real numbers, not of bytes")]


def test_the_default_size_is_that_of_small_pictures_and_bounded_for_others():
    assert default_shape([(28, 28)] * 4) == (28, 28)
    assert default_shape([(3000, 4000)] * 4) == (96, LARGEST)
    assert default_shape([(3000, 4000), (4000, 3000)]) == (LARGEST, LARGEST)
    assert default_shape([(5, 6), (6, 5)]) == (8, 8)


def test_what_cropping_cuts_off_is_told(folder):
    folder.paint("a/0.png", size=(100, 100))
    folder.paint("a/1.png", size=(101, 100))  # too little to be told
    folder.paint("b/0.png", size=(100, 40))
    note = 'and lose up to 60 %; resize="scale" keeps all of them'
    assert f"\n  1 of 3 pictures are cropped to their middle {note}" in repr(SetFolder(folder.root))
    assert "cropped" not in repr(SetFolder(folder.root, resize="scale"))
    folder.paint("b/0.png", size=(40, 40))
    assert "cropped" not in repr(SetFolder(folder.root))

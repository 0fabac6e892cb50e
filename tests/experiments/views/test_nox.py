import struct
from zlib import compress, crc32

import numpy as np
import pytest
import torch

from symsets.data.folders import MissingDataError
from symsets.experiments.study.catalogue import view_source
from symsets.experiments.views.nox import NoxFolder, has_nox
from symsets.experiments.views.rendering import make_views

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")
CARS = "02958343"


def write_png(path, pixels):
    """Write 16-bit colours ``(H, W, C)``, which Pillow cannot."""
    height, width, channels = pixels.shape

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 16, {3: 2, 4: 6}[channels], 0, 0, 0)
    lines = b"".join(b"\0" + line.astype(">u2").tobytes() for line in pixels)
    parts = [(b"IHDR", head), (b"IDAT", compress(lines)), (b"IEND", b"")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts))


def write_view(folder, name, views, k, *, bits=8, background="white"):
    """Write one of our own views in the published layout."""
    folder.mkdir(parents=True, exist_ok=True)
    mask = views.mask[0, k].movedim(0, -1).numpy()
    colour = views.x[0, k].movedim(0, -1).numpy()
    Image.fromarray((255 * colour).round().astype(np.uint8)).save(folder / f"{name}_Color_00.png")
    for layer, x in (("00", views.y[:, :, 1:4]), ("01", views.y[:, :, 4:])):
        picture = x[0, k].movedim(0, -1).numpy()
        path = folder / f"{name}_NOXRayTL_{layer}.png"
        if background == "white":
            picture = picture * mask + (1 - mask)
        elif background == "alpha":
            picture = np.concatenate([picture * mask + 0.3 * (1 - mask), mask], axis=2)
        top = 2**bits - 1
        whole = (top * picture).round()
        if bits == 16:
            write_png(path, whole.astype(np.uint16))
        else:
            Image.fromarray(whole.astype(np.uint8)).save(path)


@pytest.fixture(scope="module")
def views():
    return make_views("cars", [0], num_views=3, size=32)


def write_all(root, views, **options):
    for split, num in (("train", 4), ("val", 2)):
        for i in range(num):
            for k in range(3):
                write_view(root / split / CARS / f"{i:04x}", f"frame_{k:08d}", views, k, **options)
    return root


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("background", ["white", "black", "alpha"])
def test_views_come_back_from_the_published_layout(tmp_path, views, bits, background):
    root = write_all(tmp_path, views, bits=bits, background=background)
    assert has_nox(root)
    read = NoxFolder(root, "cars", size=32).views("test", 9, num_points=500)
    assert read.x.shape == (2, 3, 3, 32, 32)
    for k in range(2):
        assert torch.equal(read.mask[k], views.mask[0])
        fine = 0.51 / (2**bits - 1)
        assert (read.y[k] - views.y[0]).abs().max() < fine
        assert (read.x[k] - views.x[0]).abs().max() < 0.51 / 255
    assert read.points.shape == (2, 500, 3)


def test_splits_share_no_object(tmp_path, views):
    source = NoxFolder(write_all(tmp_path, views), size=16)
    train, val, test = (source.files[split] for split in ("train", "val", "test"))
    assert len(train) + len(val) == 4
    assert not set(train) & set(val)
    assert all(name.startswith("val/") for name in test)
    assert source.views("val", 1, num_views=2).x.shape == (1, 2, 3, 16, 16)


def test_the_object_with_the_fewest_views_says_how_many_there_are(tmp_path, views):
    root = write_all(tmp_path, views)
    source = NoxFolder(root, "cars", size=32)
    assert source.most_views("test", 9) == 3
    write_view(root / source.files["test"][0], "frame_00000003", views, 0)
    assert (source.most_views("test", 1), source.most_views("test", 9)) == (4, 3)


def test_wide_pictures_are_kept_whole(tmp_path, views):
    wide = make_views("cars", [0], num_views=1, size=32)
    for name in ("x", "y"):
        object.__setattr__(wide, name, getattr(wide, name)[..., 8:24, :])
    for split in ("train", "val"):
        write_view(tmp_path / split / CARS / "a", "frame_0", wide, 0)
    read = NoxFolder(tmp_path, size=32).views("test", 9, num_views=1)
    assert torch.equal(read.mask[..., 8:24, :], wide.mask)
    assert not read.mask[..., :8, :].any()


def test_names_of_the_released_evaluation_are_understood(tmp_path, views):
    write_all(tmp_path, views)
    folder = tmp_path / "val" / CARS / "0000"
    for path in list(folder.iterdir()):
        frame = path.name.split("_")[1]
        kind = path.stem.split("_", 2)[2]
        new = {"Color_00": "color00", "NOXRayTL_00": "nox00_gt", "NOXRayTL_01": "nox01_gt"}[kind]
        path.rename(folder / f"frame_000_view_{frame[-2:]}_{new}.png")
        (folder / f"frame_000_view_{frame[-2:]}_nox00_pred.png").write_bytes(b"not of interest")
    read = NoxFolder(tmp_path, size=32).views("test", 9)
    assert torch.equal(read.mask[0], read.mask[1])


def test_errors_name_the_picture_and_what_is_wrong(tmp_path, views):
    root = write_all(tmp_path, views)
    folder = root / "val" / CARS / "0001"
    source = NoxFolder(root, size=32)

    def fails(message, **options):
        with pytest.raises(ValueError, match=message):
            source.views("test", 9, **options)

    fails(r"val/02958343/000. must have 4 views, found 3", num_views=4)
    back = folder / "frame_00000001_NOXRayTL_01.png"
    kept = back.read_bytes()
    back.unlink()
    fails(r"0001 must hold a colour image and two NOX maps of every view: .* 'nox 01'")
    Image.new("RGB", (16, 16)).save(back)
    fails(r"frame_00000001_Color_00\.png and its maps must show one object, and be equally large")
    back.write_bytes(kept[:60])
    fails(r"frame_00000001_NOXRayTL_01\.png cannot be read as an image: ")
    write_png(back, np.ones((32, 32, 3), int))
    back.write_bytes(back.read_bytes()[:60])
    fails(r"frame_00000001_NOXRayTL_01\.png cannot be read as an image: ")
    back.write_bytes(kept)
    front = folder / "frame_00000001_NOXRayTL_00.png"
    kept = front.read_bytes()
    Image.new("RGB", (32, 32), "white").save(front)
    fails(r"frame_00000001_Color_00\.png and its maps must show .*: its mask is empty")
    front.write_bytes(kept)
    (folder / "frame_00000001_Color_00.png").unlink()
    fails(r"0001 must hold a colour image and two NOX maps of every view: .* 'colour 00'")
    for path in folder.iterdir():
        path.unlink()
    fails(r"0001 must hold .* of every view: found no file such as frame_0_Color_00\.png")


def test_missing_data_say_what_is_needed(tmp_path, views):
    with pytest.raises(MissingDataError, match=r"ShapeNetCOCO .* need train/ and val/ with"):
        NoxFolder(tmp_path)
    with pytest.raises(
        MissingDataError, match=r"shapenetcoco is missing \(expected in .*shapenetcoco_v1\)"
    ):
        view_source("shapenetcoco", directories=[tmp_path])
    with pytest.raises(ValueError, match=r"category must be one of \['cars', .*\], got 'boats'"):
        NoxFolder(tmp_path, "boats")
    write_all(tmp_path / "shapenetcoco_v1", views)
    found = view_source("shapenetcoco", size=32, directories=[tmp_path])
    assert found.name == "shapenetcoco_v1 cars"
    assert isinstance(view_source(str(tmp_path / "shapenetcoco_v1")), NoxFolder)

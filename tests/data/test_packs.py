import io

import numpy as np
import pytest
import torch

from symsets.data import ImagePack, VideoPack
from symsets.data.packs import pack_kind
from symsets.data.splits import SPLITS

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")


def encoded(grey, kind="WEBP", size=40):
    file = io.BytesIO()
    Image.new("RGB", (size, size), (grey, grey, grey)).save(file, kind)
    return file.getvalue()


def write(path, pictures, **arrays):
    """Write a pack of encoded pictures."""
    offsets = np.cumsum([0, *map(len, pictures)])
    data = np.frombuffer(b"".join(pictures), dtype=np.uint8)
    np.savez(path, **({"data": data, "offsets": offsets} | arrays))
    return path


@pytest.fixture
def photos(tmp_path):
    kinds = ["WEBP", "JPEG", "PNG"]
    return write(
        tmp_path / "photos.npz",
        [encoded(10 * i, kinds[i % 3]) for i in range(20)],
        split=np.array([0] * 12 + [1] * 4 + [2] * 4, dtype=np.uint8),
        name=np.array([f"class/{i}.jpg" for i in range(20)]),
    )


@pytest.fixture
def clips(tmp_path):
    lengths = [8, 12, 9, 10, 3]
    return write(
        tmp_path / "clips.npz",
        [encoded(20 * i + t) for i, length in enumerate(lengths) for t in range(length)],
        split=np.array([0, 0, 1, 2, 2]),
        clip_start=np.cumsum([0, *lengths]),
        name=np.array([f"{'ab'[i % 2]}/{i}.mp4#0" for i in range(5)]),
        fps=np.float32(10),
    )


def test_pictures_come_back_by_split(photos):
    source = ImagePack(photos, size=32)
    shades = [sorted(source.images(split)[:, 1, 5, 5].tolist()) for split in SPLITS]
    for found, expected in zip(shades, (range(12), range(12, 16), range(16, 20)), strict=True):
        np.testing.assert_allclose(found, [10 * i for i in expected], atol=1)
    assert source.name == "photos"
    assert source.images("train", 5).shape == (5, 3, 32, 32)
    assert source.skipped.total() == 0


def test_names_are_optional_and_broken_pictures_are_counted(tmp_path):
    path = write(
        tmp_path / "p.npz", [encoded(3), b"broken", encoded(5, size=2)], split=np.zeros(3, int)
    )
    source = ImagePack(path, size=32)
    assert len(source.images("train")) == 1
    assert source.skipped == {"not readable": 1, "smaller than 16 pixels": 1}
    with pytest.raises(ValueError, match=r"p\.npz has no usable images for split 'val'"):
        source.images("val")


def test_clips_come_back_in_order_with_their_lengths(clips):
    source = VideoPack(clips, size=32)
    train = source.clips("train")
    assert dict(zip(train.names, train.lengths.tolist(), strict=True)) == {
        "a/0.mp4#0": 8,
        "b/1.mp4#0": 12,
    }
    for name, clip in zip(train.names, train.each(), strict=True):
        start = 20 * int(name[2])
        shades = clip[:, 0, 4, 4].tolist()
        np.testing.assert_allclose(shades, range(start, start + len(clip)), atol=1)
    assert source.fps == 10
    assert train.frames.shape == (20, 3, 32, 32)
    assert train.frames.dtype == torch.uint8
    assert source.clips("test").sources == ["b"]
    assert source.skipped == {"shorter than 8 frames": 1}
    assert len(source.clips("train", 1).names) == 1


def test_kinds_of_packs_are_told_apart(photos, clips, tmp_path):
    assert pack_kind(photos) == "images"
    assert pack_kind(clips) == "videos"
    np.savez(tmp_path / "other.npz", vertices=np.zeros(3))
    assert pack_kind(tmp_path / "other.npz") is None
    (tmp_path / "junk.npz").write_text("junk")
    assert pack_kind(tmp_path / "junk.npz") is None


def test_bad_packs_are_named(photos, clips, tmp_path):
    with pytest.raises(ValueError, match=r"gone\.npz must be a packed \.npz file, found no such"):
        ImagePack(tmp_path / "gone.npz")
    with pytest.raises(ValueError, match=r"must be a pack of images with the keys \['data', 'off"):
        ImagePack(clips)
    with pytest.raises(ValueError, match=r"must be a pack of videos with the keys .*'clip_start'"):
        VideoPack(photos)
    bad = {
        "offsets": {"split": np.zeros(1, int), "offsets": np.array([0, 10**6])},
        "split": {"split": np.array([7])},
        "length": {"split": np.zeros(2, int)},
    }
    for name, arrays in bad.items():
        path = write(tmp_path / f"{name}.npz", [encoded(3)], **arrays)
        with pytest.raises(ValueError, match=rf"{name}\.npz is inconsistent in its offsets"):
            ImagePack(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"data": np.zeros(3)}, "data of .* must be a row of bytes, got float64"),
        ({"offsets": np.array([0.0, 9.0])}, "offsets of .* must be a row of integers, got float64"),
        ({"split": np.array(0)}, r"split of .* must be a row of integers, got int64 \(\)"),
        ({"name": np.array([b"a"])}, r"name of .* must be a row of words, got \|S1"),
        ({"name": np.array([7])}, "name of .* must be a row of words, got int64"),
        ({"clip_start": np.array([0.0, 1.0])}, "clip_start of .* must be a row of integers"),
        ({"fps": np.array([12.0])}, r"fps of .* must be one number, got float64 \(1,\)"),
    ],
)
def test_arrays_of_another_kind_are_named(tmp_path, arrays, message):
    clip = {"split": np.zeros(1, int), "clip_start": np.array([0, 1])}
    path = write(tmp_path / "p.npz", [encoded(3)], **(clip | arrays))
    with pytest.raises(ValueError, match=message):
        VideoPack(path)


def test_other_arrays_of_a_pack_are_not_read(photos):
    with np.load(photos) as content:
        np.savez(photos, notes=np.array([{}], dtype=object), **content)
    assert len(ImagePack(photos, size=32).images("test")) == 4


@pytest.mark.parametrize("place", range(5))
def test_damaged_packs_are_named(photos, place):
    """Bytes that went wrong inside compressed arrays, and in the list of what there is."""
    with np.load(photos) as content:
        np.savez_compressed(photos, **content)
    damaged = bytearray(photos.read_bytes())
    end = damaged.rindex(b"PK\x01\x02")  # the last entry of the list
    starts = [60, 80, len(damaged) // 2, end + 6, end + 10]  # ..., version, compression
    damaged[starts[place] : starts[place] + 2] = b"\xee\xee"
    photos.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"photos\.npz (cannot be read|must be a pack of images)"):
        ImagePack(photos)


def test_nothing_is_executed_from_a_pack(tmp_path):
    path = write(tmp_path / "evil.npz", [encoded(3)], split=np.array([object()], dtype=object))
    with pytest.raises(ValueError, match=r"evil\.npz cannot be read: .*allow_pickle"):
        ImagePack(path)


def test_a_clip_without_frames_is_counted(tmp_path):
    path = write(
        tmp_path / "clips.npz",
        [encoded(20 * t) for t in range(8)],
        split=np.array([0, 0]),
        clip_start=np.array([0, 0, 8]),
    )
    source = VideoPack(path, size=40)
    assert source.clips("train").lengths.tolist() == [8]
    assert source.skipped == {"shorter than 8 frames": 1}

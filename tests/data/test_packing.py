import numpy as np
import pytest
from typer.testing import CliRunner
from video_files import write_video

from symsets.cli import app
from symsets.data import ImageFolder, ImagePack, VideoFolder, VideoPack, pack_folder
from symsets.data.splits import SPLITS
from symsets.experiments.study.catalogue import image_source, video_source

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")
runner = CliRunner()


def photograph(path, seed, size=(50, 40)):
    """Write a picture of smooth colours that no other has."""
    path.parent.mkdir(parents=True, exist_ok=True)
    corners = np.random.default_rng(seed).integers(256, size=(2, 2, 3), dtype=np.uint8)
    Image.fromarray(corners).resize(size, Image.Resampling.BILINEAR).save(path)


def write_photos(root, *folders):
    """Write 24 photographs, and three files that are none."""
    for i in range(24):
        photograph(root / folders[i % len(folders)] / f"{i}.png", i)
    (root / folders[0] / "torn.jpg").write_bytes(b"torn")
    (root / folders[0] / "notes.txt").write_text("no picture")
    photograph(root / folders[0] / "dot.png", 0, size=(2, 2))
    return root


def video(path, grey, frames=30):
    write_video(path, range(grey, grey + 2 * frames, 2), shape=(32, 40))


def assert_near(found, expected):
    assert found.shape == expected.shape
    # JPEG at quality 95 is off by a grey level or two, at edges of blocks by more
    assert (found.float() - expected.float()).abs().max() <= 8


@pytest.mark.parametrize("folders", [SPLITS, ("", "album", "album/deep")])
def test_packed_photographs_are_those_of_the_folder_in_the_same_order(tmp_path, folders):
    root, path = write_photos(tmp_path / "photos", *folders), tmp_path / "photos.npz"
    packed = pack_folder(root, path, size=32)
    folder, pack = ImageFolder(root, size=32), ImagePack(path, size=32)
    for split in SPLITS:
        images = folder.images(split)
        assert_near(pack.images(split), images)
        assert packed.counts[split] == len(images)
    assert packed.kind == "images"
    assert packed.skipped == folder.skipped == {"not readable": 1, "smaller than 16 pixels": 1}
    assert pack.skipped.total() == 0


def test_progress_counts_every_file_also_the_last_ones_that_are_skipped(tmp_path):
    for split in ("train", "val"):
        photograph(tmp_path / split / "a.png", 0)
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "torn.jpg").write_bytes(b"torn")
    seen = []
    pack_folder(tmp_path, tmp_path / "x.npz", size=32, watch=lambda *count: seen.append(count))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_packed_videos_have_the_clips_of_the_folder(tmp_path):
    root, path = tmp_path / "videos", tmp_path / "clips.npz"
    for i in range(6):
        video(root / ("walk" if i % 2 else "") / f"{i}.avi", 20 + 20 * i)
    (root / "torn.mp4").write_bytes(b"torn")
    packed = pack_folder(root, path, size=24, max_frames=10, fps=25)
    folder = VideoFolder(root, size=24, max_frames=10, fps=25)
    pack = VideoPack(path, size=24)
    for split in SPLITS:
        expected, found = folder.clips(split), pack.clips(split)
        clips = dict(zip(found.names, found.each(), strict=True))
        assert sorted(clips) == sorted(expected.names)
        for name, clip in zip(expected.names, expected.each(), strict=True):
            assert_near(clips[name], clip)
        assert packed.counts[split] == len(clips)
    assert sum(packed.counts.values()) == 18  # three of ten frames from each of six
    assert packed.kind == "videos"
    assert packed.skipped == {"not readable or truncated": 1}
    assert pack.fps == 25


def test_what_the_command_packs_can_be_named_as_data(tmp_path):
    root, out = write_photos(tmp_path / "photos", "a", "b"), tmp_path / "new" / "mine.npz"
    result = runner.invoke(app, ["pack", str(root), str(out), "--size", "32"])
    assert result.exit_code == 0, result.output
    for words in ("; of the files: 2 skipped (", "1 not readable", "1 smaller than 16 pixels"):
        assert words in result.output
    assert [path.name for path in out.parent.iterdir()] == ["mine.npz"]
    source = image_source("mine", size=32, directories=[out.parent])
    assert source.images("train", 3).shape == (3, 3, 32, 32)
    assert f"{len(source.files['train'])} train" in result.output
    before = out.read_bytes()
    again = ["pack", str(root), str(out), "--size", "16"]
    refused = runner.invoke(app, again)
    assert refused.exit_code == 2
    assert "mine.npz is already there: name another, or --force" in refused.stderr
    assert out.read_bytes() == before
    assert runner.invoke(app, [*again, "--force"]).exit_code == 0
    assert len(out.read_bytes()) < len(before)


def test_the_command_packs_videos_as_it_is_told(tmp_path):
    for i in range(3):
        video(tmp_path / "videos" / f"{i}.avi", 50 * i)
    out = tmp_path / "clips.npz"
    words = ["pack", str(tmp_path / "videos"), str(out), "--frames", "9", "--fps", "12.5"]
    result = runner.invoke(app, [*words, "--size", "16"])
    assert result.exit_code == 0, result.output
    assert "clips: 1 train, 1 val, 1 test" in result.output
    source = video_source(str(out), size=16)
    assert source.clips("test").lengths.tolist() == [9]
    assert source.fps == 12.5


def test_an_error_in_the_middle_leaves_what_was_there(tmp_path, monkeypatch):
    root, out = write_photos(tmp_path / "photos", "a"), tmp_path / "out" / "mine.npz"
    out.parent.mkdir()
    out.write_text("precious")

    def full(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device", "mine.npz")

    monkeypatch.setattr(np, "savez", full)
    result = runner.invoke(app, ["pack", str(root), str(out), "--force"])
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert out.read_text() == "precious"
    assert [path.name for path in out.parent.iterdir()] == ["mine.npz"]


def test_folders_that_cannot_be_packed_are_named(tmp_path):
    root, path = tmp_path / "photos", tmp_path / "x.npz"
    root.mkdir()
    with pytest.raises(ValueError, match="must hold either images or videos, found neither"):
        pack_folder(root, path)
    (root / "torn.jpg").touch()
    with pytest.raises(ValueError, match=r"no usable images among 1 files: 1 skipped \(1 not read"):
        pack_folder(root, path)
    (root / "a.mp4").touch()
    with pytest.raises(ValueError, match="must hold either images or videos, found both"):
        pack_folder(root, path)
    assert not path.exists()
    (tmp_path / "folder.npz").mkdir()
    result = runner.invoke(app, ["pack", str(root), str(tmp_path / "folder.npz"), "--force"])
    assert result.exit_code == 2
    assert "OUT must be a file, got the folder" in result.stderr

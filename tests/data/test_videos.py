import os

import pytest
import torch
from video_files import write_video

from symsets.data import VideoFolder
from symsets.data.splits import SPLITS

av = pytest.importorskip("av", reason="needs PyAV")


def video(path, *, frames=50, shape=(48, 64), times=None, **options):
    """Encode a video that gets brighter by three grey levels from frame to frame."""
    num = frames if times is None else len(times)
    greys = range(20, 20 + 3 * num, 3)
    return write_video(path, greys, shape=shape, times=times, **options)


def levels(clip):
    """Return the number of the frame in the video that each frame of the clip is."""
    return ((clip.float().mean((1, 2, 3)) - 20) / 3).round().int().tolist()


@pytest.fixture
def folder(tmp_path):
    for i in range(12):
        video(tmp_path / "videos" / ("first" if i % 2 else "second") / f"{i}.avi")
    return tmp_path / "videos"


def test_frames_come_at_equal_distances_in_time(folder):
    source = VideoFolder(folder, size=32, fps=12.5, max_frames=10, clips_per_video=1)
    clips = source.clips("train")
    assert clips.frames.shape[1:] == (3, 32, 32)
    assert clips.frames.dtype == torch.uint8
    assert set(clips.lengths.tolist()) == {10}
    for clip in clips.each():
        assert levels(clip) == list(range(0, 20, 2))
    assert set(clips.sources) <= {"first", "second"}


def test_splits_share_no_video_even_if_it_gives_several_clips(folder):
    source = VideoFolder(folder, size=32, fps=25, max_frames=12, clips_per_video=4)
    clips = {split: source.clips(split) for split in SPLITS}
    videos = {s: {name.partition("#")[0] for name in clips[s].names} for s in SPLITS}
    assert len(set.union(*videos.values())) == sum(map(len, videos.values())) == 12
    # 50 frames are four clips of twelve; two frames are too few for a fifth
    assert sum(len(each.names) for each in clips.values()) == 48
    first, second = list(clips["train"].each())[:2]
    assert levels(first) == list(range(12))
    assert levels(second) == list(range(12, 24))


def test_clips_of_different_lengths(tmp_path):
    for i, frames in enumerate([9, 14, 30, 4]):
        video(tmp_path / "train" / f"{i}.mp4", frames=frames)
    for split in ("val", "test"):
        video(tmp_path / split / "a.mp4", frames=9)
    source = VideoFolder(tmp_path, size=32, fps=25, clips_per_video=1)
    assert sorted(source.clips("train").lengths.tolist()) == [9, 14, 24]
    assert source.skipped == {"shorter than 8 frames": 1}


def test_truncated_and_broken_videos_are_counted(tmp_path):
    for split in SPLITS:
        whole = video(tmp_path / split / "whole.avi", frames=60)
    train = tmp_path / "train"
    for percent in (50, 75):  # in the first the decoder stumbles, in the second it just ends
        cut = whole.read_bytes()[: whole.stat().st_size * percent // 100]
        (train / f"cut{percent}.avi").write_bytes(cut)
    streamed = video(tmp_path / "streamed.mp4", codec="libx264").read_bytes()
    (train / "cut.mp4").write_bytes(streamed[: len(streamed) // 2])
    (train / "empty.avi").touch()
    (train / "text.mov").write_text("no video")
    source = VideoFolder(tmp_path, size=32, fps=25, max_frames=50)
    name = f"{tmp_path.name}/whole.avi"
    assert source.clips("train").names == [f"{name}#0", f"{name}#1"]
    assert source.skipped == {"not readable or truncated": 5}


def test_frames_that_are_much_too_small_are_counted(tmp_path):
    for split in SPLITS:
        video(tmp_path / split / "large.avi")
    video(tmp_path / "train" / "small.avi", shape=(16, 64))
    source = VideoFolder(tmp_path, size=40)
    assert {name.partition("#")[0] for name in source.clips("train").names} == {
        f"{tmp_path.name}/large.avi"
    }
    assert source.skipped == {"smaller than 20 pixels": 1}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    for split in SPLITS:
        video(tmp_path / split / "a.avi", frames=30)
    os.mkfifo(tmp_path / "train" / "pipe.avi")
    source = VideoFolder(tmp_path, size=32)
    assert len(source.clips("train").names) == 1
    assert source.skipped == {"not readable or truncated": 1}


def test_sources_are_the_subfolders_of_a_split(tmp_path):
    for split in SPLITS:
        for name in ("indoor/a.avi", "street/deep/b.avi", "c.avi"):
            video(tmp_path / split / name, frames=9)
    clips = VideoFolder(tmp_path, size=32, fps=25).clips("test")
    assert sorted(clips.sources) == sorted(["indoor", "street", tmp_path.name])


def test_after_a_gap_frames_come_as_before(tmp_path):
    for split in SPLITS:
        video(tmp_path / split / "gap.mp4", times=[*range(20), *range(100, 140)])
    clips = VideoFolder(tmp_path, size=32, fps=5, clips_per_video=1).clips("test")
    assert levels(clips.frames) == [0, 4, 9, 14, 19, 20, 24, 29, 34, 39, 44, 49, 54, 59]


def test_slow_videos_give_all_their_frames(tmp_path):
    for split in SPLITS:
        video(tmp_path / split / "slow.avi", frames=12, rate=5)
    clips = VideoFolder(tmp_path, size=32, fps=12).clips("test")
    assert levels(clips.frames) == list(range(12))


def test_bad_input_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"must hold files that end in one of \.avi"):
        VideoFolder(tmp_path)
    video(tmp_path / "short.avi", frames=5)
    source = VideoFolder(tmp_path)
    expected = (
        r"no usable videos for split 'train', 1 needed; files per split: \{'train': 0, 'val': 1, "
        r"'test': 0\}; none skipped\. Subfolders called train, val and test choose"
    )
    with pytest.raises(ValueError, match=expected):
        source.clips("train")
    with pytest.raises(ValueError, match="max_frames must be at least 8, got 4"):
        VideoFolder(tmp_path, max_frames=4)

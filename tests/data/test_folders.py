import errno
import os

import pytest

from symsets.data.folders import STUDY, files_below, split_folder
from symsets.data.splits import SPLITS


def touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def test_links_to_folders_are_followed_once(tmp_path):
    for split in SPLITS:
        touch(tmp_path / "elsewhere" / split / "a.png")
        (tmp_path / "photos").mkdir(exist_ok=True)
        (tmp_path / "photos" / split).symlink_to(tmp_path / "elsewhere" / split)
    (tmp_path / "elsewhere" / "test" / "back").symlink_to(tmp_path / "photos")
    (tmp_path / "elsewhere" / "val" / "again").symlink_to(tmp_path / "elsewhere" / "val")
    files = split_folder(tmp_path / "photos", [".png"])
    assert {split: len(paths) for split, paths in files.items()} == dict.fromkeys(SPLITS, 1)
    assert list(files_below(tmp_path / "elsewhere", [".png"])) == [
        "test/a.png",
        "train/a.png",
        "val/a.png",
    ]


def test_studies_below_a_folder_are_passed_by(tmp_path):
    for name in ("a.png", "runs/b.png", "runs/mine/figures/c.png", "runs/mine/d.png"):
        touch(tmp_path / name)
    (tmp_path / "runs" / "mine" / STUDY).touch()
    assert list(files_below(tmp_path, [".png"])) == ["a.png", "runs/b.png"]
    named = list(files_below(tmp_path / "runs" / "mine", [".png"]))
    assert named == ["d.png", "figures/c.png"]  # a user may ask for it


@pytest.mark.parametrize("closed", ["photos", "photos/closed"])
def test_folders_that_may_not_be_read_are_named(tmp_path, monkeypatch, closed):
    touch(tmp_path / "photos" / "a.png")
    touch(tmp_path / "photos" / "closed" / "b.png")

    def scandir(path, then=os.scandir):
        if path == str(tmp_path / closed):  # as the system does, but for root as well
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return then(path)

    monkeypatch.setattr(os, "scandir", scandir)
    expected = rf"{closed} must be a folder that can be read: Permission denied"
    with pytest.raises(ValueError, match=expected):
        split_folder(tmp_path / "photos", [".png"])


@pytest.mark.parametrize("held", ["test", "val"])
def test_a_folder_for_training_and_one_more_share_no_picture(tmp_path, held):
    for split, num in (("train", 40), (held, 5)):
        (tmp_path / split).mkdir()
        for i in range(num):
            (tmp_path / split / f"{i}.png").touch()
    found = split_folder(tmp_path, [".png"])
    assert sorted(found["test"]) == [f"{held}/{i}.png" for i in range(5)]
    assert all(name.startswith("train/") for name in found["train"] + found["val"])
    assert len(found["train"]) + len(found["val"]) == 40
    assert 2 <= len(found["val"]) <= 10

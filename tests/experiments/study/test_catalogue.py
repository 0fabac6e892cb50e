import os

import numpy as np
import pytest

from symsets.data.folders import MissingDataError
from symsets.data.images import ImageFolder
from symsets.data.packs import ImagePack, VideoPack
from symsets.experiments.shapes.motion_packs import MotionPack
from symsets.experiments.study.catalogue import (
    available,
    image_source,
    motion_source,
    video_source,
    view_source,
)
from symsets.experiments.synthetic.dead_leaves import DeadLeaves
from symsets.experiments.synthetic.humans import MovingHumans
from symsets.experiments.synthetic.moving_things import MovingThings
from symsets.experiments.synthetic.photos import EmbeddedImages
from symsets.experiments.views.meshes import MeshFolder
from symsets.experiments.views.nox import NoxFolder
from symsets.experiments.views.rendering import GeneratedViews


def touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.fixture
def data(tmp_path):
    """A data directory with CelebA, UCF101, ShapeNetPlain and three packs."""
    touch(tmp_path / "celeba" / "img_align_celeba" / "000001.jpg")
    (tmp_path / "celeba" / "list_eval_partition.txt").write_text("000001.jpg 0\n")
    touch(tmp_path / "UCF101" / "UCF-101" / "Archery" / "v_Archery_g01_c01.avi")
    for name in ("trainlist01.txt", "testlist01.txt"):
        touch(tmp_path / "UCF101" / "ucfTrainTestlist" / name)
    for name in ("train/02958343/0", "val/02958343/1"):
        (tmp_path / "shapenetplain" / name).mkdir(parents=True)
    empty = {"data": np.zeros(0, np.uint8), "offsets": np.zeros(1, int), "split": np.zeros(0, int)}
    np.savez(tmp_path / "photos.npz", **empty)
    np.savez(tmp_path / "walks.npz", clip_start=np.zeros(1, int), **empty)
    np.savez(tmp_path / "meshes.npz", vertices=np.zeros(3))
    people = {"verts": np.zeros((9, 4, 3)), "offsets": np.array([0, 9]), "split": np.array([2])}
    np.savez(tmp_path / "people.npz", **people)
    return tmp_path


def found(entries):
    return {(entry.name, entry.kind) for entry in entries if entry.found}


EMBEDDED = {
    ("embedded", "images"),
    ("leaves", "images"),
    ("embedded", "videos"),
    ("embedded", "motions"),
    ("embedded", "views"),
    ("embedded", "scenes"),
    ("embedded", "graphs"),
    ("embedded", "tables"),
    ("embedded", "digits"),
}


def test_everything_is_listed_and_found_where_it_is(data, monkeypatch):
    entries = available([data])
    assert found(entries) == EMBEDDED | {
        ("celeba", "images"),
        ("ucf101", "videos"),
        ("photos", "images"),
        ("walks", "videos"),
        ("people", "motions"),
        ("shapenetplain", "views"),
    }
    where = {entry.name: entry.where for entry in entries}
    assert where["ucf101"] == data / "UCF101"
    assert where["walks"] == data / "walks.npz"
    assert {entry.name for entry in entries if not entry.found} == {
        "places365",
        "imagenet",
        "dfaust",
        "shapenetcoco",
        "probav",
    }
    monkeypatch.setenv("SYMSETS_DATA", os.pathsep.join(["/no/such/place", str(data)]))
    assert found(available()) == found(entries)
    assert found(available([data / "celeba"])) == EMBEDDED | {("celeba", "images")}
    plain = data / "shapenetplain"
    assert found(available([plain])) == EMBEDDED | {("shapenetplain", "views")}
    plain.rename(data / "shapenetcoco_v1")
    assert found(available([data])) - found(entries) == {("shapenetcoco", "views")}
    moved = available([data / "shapenetcoco_v1"])
    assert found(moved) == EMBEDDED | {("shapenetcoco", "views")}


def test_without_directories_only_the_embedded_data_are_there(monkeypatch):
    monkeypatch.delenv("SYMSETS_DATA", raising=False)
    entries = available()
    assert found(entries) == EMBEDDED
    notes = {entry.name: entry.note for entry in entries if not entry.found}
    assert set(notes) == {
        "places365",
        "imagenet",
        "celeba",
        "ucf101",
        "dfaust",
        "shapenetcoco",
        "shapenetplain",
        "probav",
    }
    for name, note in notes.items():
        assert note.startswith(f"{name} is missing (SYMSETS_DATA names no directory to look in): ")
        assert "; get " in note


def test_missing_datasets_say_where_they_were_expected(data):
    expected = rf"places365 is missing \(expected in {data}/places365\): .*places365_val\.txt"
    with pytest.raises(MissingDataError, match=expected):
        image_source("places365", directories=[data])
    with pytest.raises(MissingDataError, match=r"ucf101 is missing .*UCF101\.rar"):
        video_source("ucf101", directories=[data / "celeba"])
    with pytest.raises(MissingDataError, match=r"dfaust is missing .*registrations_f\.hdf5"):
        motion_source("dfaust", directories=[data])
    with pytest.raises(MissingDataError, match=r"shapenetcoco is missing .*shapenetcoco_v1\.zip"):
        view_source("shapenetcoco", directories=[data])


def test_one_door_opens_every_source(data, tmp_path):
    assert isinstance(image_source("embedded", directories=[]), EmbeddedImages)
    assert image_source("leaves", size=24, seed=3) == DeadLeaves(size=24, seed=3)
    assert image_source("celeba", directories=[data]).name == "CelebA"
    assert isinstance(image_source("photos", directories=[data]), ImagePack)
    assert isinstance(image_source(str(data / "photos.npz"), directories=[]), ImagePack)
    folder = image_source(str(data / "celeba"), size=24, directories=[])
    assert isinstance(folder, ImageFolder)
    assert folder.size == 24
    assert video_source("embedded", size=24, seed=3) == MovingThings(size=24, seed=3)
    assert isinstance(video_source("walks", directories=[data]), VideoPack)
    assert video_source("ucf101", directories=[data]).name == "UCF101"
    assert video_source(str(data / "UCF101"), directories=[]).name == "UCF101"
    assert motion_source("embedded", seed=3, directories=[]) == MovingHumans(seed=3)
    assert isinstance(motion_source("people", directories=[data]), MotionPack)
    assert isinstance(view_source("embedded", category="chairs", directories=[]), GeneratedViews)
    assert isinstance(view_source("shapenetplain", directories=[data]), NoxFolder)
    assert isinstance(view_source(str(data / "shapenetplain"), directories=[]), NoxFolder)
    (touch(data / "things" / "thing.obj")).write_text("v 0 0 0\n")
    assert isinstance(view_source(str(data / "things"), size=16, directories=[]), MeshFolder)


def test_of_packs_with_one_name_the_first_directory_counts(data, tmp_path):
    others = tmp_path / "others"
    others.mkdir()
    (others / "photos.npz").write_bytes((data / "photos.npz").read_bytes())
    for roots in ([data, others], [others, data]):
        assert image_source("photos", directories=roots).root == roots[0] / "photos.npz"


@pytest.mark.parametrize(
    ("name", "found"), [("nothing", "does not exist"), ("photos.npz", "is a file")]
)
def test_directories_that_are_given_must_be_there(data, name, found):
    expected = rf"{name} must be a folder, but it {found}"
    with pytest.raises(ValueError, match=expected):
        available([data / name])
    with pytest.raises(ValueError, match=expected):
        image_source("embedded", directories=[data, data / name])


def test_unknown_names_get_the_list(data):
    known = r"\['embedded', 'leaves', 'places365', 'imagenet', 'celeba', 'photos'\], got 'palces'"
    with pytest.raises(
        ValueError, match=rf"data must be a folder that exists, an \.npz file or one of {known}"
    ):
        image_source("palces", directories=[data])
    with pytest.raises(ValueError, match=r"one of \['embedded', 'ucf101', 'walks'\], got 'celeba'"):
        video_source("celeba", directories=[data])
    with pytest.raises(
        ValueError, match=r"one of \['embedded', 'dfaust', 'people'\], got 'photos'"
    ):
        motion_source("photos", directories=[data])
    known = r"\['embedded', 'shapenetcoco', 'shapenetplain'\], got 'photos\.npz'"
    with pytest.raises(ValueError, match=rf"data must be a folder that exists or one of {known}"):
        view_source("photos.npz", directories=[data])

import numpy as np
import pytest
import torch

from symsets.data.folders import MissingDataError
from symsets.experiments.shapes.dfaust import DynamicFaust, has_dfaust, split_of
from symsets.experiments.study.transfer import _take_everything

h5py = pytest.importorskip("h5py", reason="needs h5py")

FACES = np.array([[0, 1, 2], [2, 1, 3], [3, 4, 5]], np.uint32)
MEN = {"50002": ("hips", "punching"), "50009": ("hips",), "50026": ("hips", "punching")}
WOMEN = {"50004": ("knees", "light_hopping_loose"), "50025": ("shake_hips",), "50022": ("knees",)}


def write(path, people, *, vertices=6, faces=FACES, **more):
    """Write a file in the published layout."""
    rng = np.random.default_rng(len(people))
    with h5py.File(path, "w") as content:
        content["faces"] = faces
        for subject, activities in people.items():
            for activity in activities:
                shape = (vertices, 3, 40 + len(activity))
                content[f"{subject}_{activity}"] = rng.normal(size=shape).astype(np.float32)
        for name, value in more.items():
            content[name] = value


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "registrations_m.hdf5", MEN)
    write(tmp_path / "registrations_f.hdf5", WOMEN)
    return tmp_path


def test_the_split_is_hard(folder):
    source = DynamicFaust(folder)
    found = {split: set(source.motions(split).names) for split in ("train", "val", "test")}
    assert found == {
        "train": {"50002_hips", "50004_knees", "50004_light_hopping_loose"},
        "val": {"50009_hips", "50022_knees"},
        "test": {"50026_punching", "50025_shake_hips"},
    }


def test_nothing_of_the_test_is_seen_in_training():
    names = [
        f"{who}_{what}" for who in ("50002", "50009", "50026") for what in ("hips", "punching")
    ]
    assert [split_of(name) for name in names] == ["train", None, "val", None, None, "test"]


def test_all_sequences_can_be_for_the_test(folder):
    source = DynamicFaust(folder)
    _take_everything(source, [])
    assert len(source.motions("test").names) == 7
    with pytest.raises(ValueError, match="no motions for split 'train'"):
        source.motions("train")


def test_sequences_come_back_frame_by_frame(folder):
    motions = DynamicFaust(folder).motions("train")
    for name, shapes in zip(
        motions.names, motions.shapes.split(motions.lengths.tolist()), strict=True
    ):
        file = "registrations_m.hdf5" if name.startswith("50002") else "registrations_f.hdf5"
        with h5py.File(folder / file) as content:
            given = torch.from_numpy(content[name][()])
        assert torch.equal(shapes[17, :, 2], given[2, :, 17])
        assert shapes.shape == (given.shape[2], 3, 6)
    assert motions.graph.num_nodes == 6
    assert torch.equal(motions.faces, torch.from_numpy(FACES.astype(np.int64)))


def test_one_file_is_enough_but_both_make_the_dataset(folder):
    assert has_dfaust(folder)
    (folder / "registrations_f.hdf5").unlink()
    assert not has_dfaust(folder)
    assert DynamicFaust(folder).motions("test").names == ["50026_punching"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"faces": FACES + 1}, r"faces of '50002_hips' must point to its vertices 0\.\.5"),
        (
            {"50002_knees": np.zeros((7, 3, 40), np.float32)},
            r"sequence '50002_knees' must be \(frames, 3, 6\), got shape \(40, 3, 7\)",
        ),
        (
            {"50002_knees": np.full((6, 3, 40), np.nan, np.float32)},
            "sequence '50002_knees' must have finite vertices",
        ),
        (
            {"50002_knees": np.zeros((40, 6, 3), np.float32)},
            r"sequence '50002_knees' must be \(frames, 3, 6\), got shape \(3, 6, 40\)",
        ),
        (
            {"50002_knees/vertices": np.zeros((6, 3, 40), np.float32)},
            r"registrations_m\.hdf5 cannot be read as HDF5",
        ),
    ],
)
def test_bad_files_name_the_sequence(tmp_path, options, message):
    write(tmp_path / "registrations_m.hdf5", MEN, **options)
    with pytest.raises(ValueError, match=message):
        DynamicFaust(tmp_path).motions("train")


def test_other_trouble_is_named(tmp_path):
    with pytest.raises(MissingDataError, match=r"registrations_f\.hdf5; get them from dfaust\.is"):
        DynamicFaust(tmp_path)
    (tmp_path / "registrations_m.hdf5").write_text("no data")
    with pytest.raises(ValueError, match=r"registrations_m\.hdf5 cannot be read as HDF5"):
        DynamicFaust(tmp_path)
    write(tmp_path / "registrations_m.hdf5", {"50002": ("hips",)})
    with pytest.raises(
        ValueError, match=r"no motions for split 'test'; files per split: \{'train': 1, "
    ):
        DynamicFaust(tmp_path).motions("test")

import sys

import numpy as np
import pytest

from symsets._extras import MissingExtraError
from symsets.data import SetFolder
from symsets.data.set_folder.arrays import array_shape, read_array

VALUES = np.arange(12, dtype=np.float64).reshape(3, 4)


def write_npz(path):
    np.savez_compressed(path, features=VALUES, coords=np.zeros((3, 2)))


def write_csv(path):
    path.write_text("a,b,c,d\n" + "\n".join(",".join(map(str, row)) for row in VALUES))


def write_h5(path):
    h5py = pytest.importorskip("h5py", reason="needs h5py")
    with h5py.File(path, "w") as file:
        file["features"], file["coords"] = VALUES, np.zeros((3, 2))


def write_parquet(path):
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")
    parquet.write_table(arrow.table({f"x{k}": VALUES[:, k] for k in range(4)}), path)


WRITERS = {
    ".npy": lambda path: np.save(path, VALUES),
    ".npz": write_npz,
    ".csv": write_csv,
    ".h5": write_h5,
    ".parquet": write_parquet,
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_bag_is_the_same_in_every_kind_of_file(tmp_path, suffix):
    for name in "ab":
        WRITERS[suffix](tmp_path / f"{name}{suffix}")
    path = str(tmp_path / f"a{suffix}")
    assert array_shape(path) == (3, 4)
    assert read_array(path).dtype == np.float32
    sets = SetFolder(tmp_path)
    assert (sets.kind, sets.names, sets.sizes) == ("vectors", ["a", "b"], [3, 3])
    assert np.array_equal(sets[1][0], VALUES)


@pytest.mark.parametrize(("suffix", "library"), [(".h5", "h5py"), (".parquet", "pyarrow")])
def test_a_library_that_is_missing_is_named(tmp_path, monkeypatch, suffix, library):
    for name in "ab":
        (tmp_path / f"{name}{suffix}").write_bytes(b"")
    for name in (library, f"{library}.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=rf"{library}.*pip install 'symsets\[tables\]'"):
        SetFolder(tmp_path)


def test_one_of_several_arrays_must_have_a_name_that_is_known(tmp_path):
    for name in "ab":
        np.savez(tmp_path / f"{name}.npz", one=VALUES, two=VALUES)
    with pytest.raises(
        ValueError, match=r"a.npz cannot be read: it must hold one array, or one of"
    ):
        SetFolder(tmp_path)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("1,2\n3", "line 2: must have 2 values, as in '1,2', got '3'"),
        ("1,2\n3,x", "line 2: must hold numbers only"),
        ("1,2\n3,nan", "must hold finite numbers, found NaN or infinity in row 1"),
    ],
)
def test_tables_of_numbers_name_the_line_that_is_wrong(tmp_path, text, match):
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b.csv").write_text("1,2")
    with pytest.raises(ValueError, match=match):
        SetFolder(tmp_path)


def test_rows_with_nans_in_large_folders_are_left_out_when_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr("symsets.data.set_folder.elements.CHECKED", 0)
    values = VALUES.copy()
    values[1, 2] = np.nan
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", values)
    sets = SetFolder(tmp_path)
    x, _ = sets[1]
    assert np.array_equal(x, VALUES[[0, 2]])
    assert sets.elements(1) == ["0", "2"]
    assert sets.skipped == [(f"{tmp_path / 'b.npy'}, row 1", "not readable when it was needed")]
    (tmp_path / "a.npy").write_bytes(b"")
    assert not sets[0][0].any()


def test_an_axis_for_the_batch_is_taken_off_if_vectors_are_asked_for(tmp_path):
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", VALUES[None])
    assert SetFolder(tmp_path).kind == "signals"
    x, _ = SetFolder(tmp_path, kind="vectors")[0]
    assert np.array_equal(x, VALUES)


def test_clouds_are_read_from_text_and_from_meshes(tmp_path):
    pytest.importorskip("trimesh", reason="needs trimesh")
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.5]])
    rows = "".join(" ".join(map(str, row)) + "\n" for row in points)
    header = "ply\nformat ascii 1.0\nelement vertex 3\n"
    header += "".join(f"property float {axis}\n" for axis in "xyz") + "end_header\n"
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "0.xyz").write_text(rows)
        (tmp_path / name / "1.ply").write_text(header + rows)
        (tmp_path / name / "2.off").write_text("OFF\n3 1 0\n" + rows + "3 0 1 2\n")
    sets = SetFolder(tmp_path)
    assert (sets.kind, sets.sizes, sets.skipped) == ("clouds", [3, 3], [])
    for cloud in sets[0][0]:
        assert np.allclose(cloud, points)

"""The folder to try the commands with."""

import pytest

from symsets.data import SetFolder
from symsets.data.digits import digit_bags
from symsets.tools import write_digits

FEW = {"train": 60, "val": 20, "test": 20}


def test_digits_are_read_back_as_they_were_made(tmp_path):
    sets = SetFolder(write_digits(tmp_path / "digits", numbers=FEW))
    assert sets.task == "classify"
    for part, (split, num) in zip(sets.split(), FEW.items(), strict=True):
        bags = digit_bags("largest", num=num, split=split)
        assert len(part) == num
        found = {name.rpartition("/")[2]: item for name, item in zip(part.names, part, strict=True)}
        for k, (x, y) in enumerate(bags):
            pictures, label = found[f"{k:04d}"]
            assert (pictures - x).abs().max() < 1 / 255
            assert sets.classes[label] == str(int(y))


def test_a_folder_that_is_there_is_left_as_it_is_and_one_that_is_half_there_is_completed(tmp_path):
    root = write_digits(tmp_path / "digits", numbers=FEW)
    times = {path: path.stat().st_mtime_ns for path in root.rglob("*.png")}
    gone = next(path.parent for path in times)
    for path in list(gone.iterdir()):
        path.unlink()
    gone.rmdir()
    write_digits(root, numbers=FEW)
    after = {path: path.stat().st_mtime_ns for path in root.rglob("*.png")}
    assert after.keys() == times.keys()
    assert {path.parent for path in times if after[path] != times[path]} == {gone}


@pytest.mark.parametrize("name", ["labels.csv", "train/cat", "train/3/set7", "train/3/0000.png"])
def test_a_folder_of_something_else_is_refused_and_left_as_it_is(tmp_path, name):
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("mine")
    with pytest.raises(ValueError, match=f"folder must be a new one, got .* {file.name} in it"):
        write_digits(tmp_path, numbers=FEW)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]
    with pytest.raises(ValueError, match="folder must be a folder, got the file"):
        write_digits(file, numbers=FEW)

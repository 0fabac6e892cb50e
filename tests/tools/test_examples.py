"""The folder to try the commands with."""

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

import os
import subprocess
import sys
from pathlib import Path

import pytest

from symsets import _files
from symsets._files import (
    atomic_write,
    below,
    check_place,
    file_lock,
    named_errors,
    reading,
    write_json,
)

# The package without what it imports: torch takes seconds to load, and no lock needs it.
HEAD = f"""
import sys, time, types
from pathlib import Path
sys.modules["symsets"] = types.ModuleType("symsets")
sys.modules["symsets"].__path__ = {[str(Path(_files.__file__).parent)]}
from symsets._files import file_lock
folder = Path(sys.argv[1])
"""
ADD_ONE = """
left = 20
while left:
    with file_lock(folder / "lock") as mine:
        if mine:
            count = int((folder / "count").read_text())
            time.sleep(0.002)
            (folder / "count").write_text(str(count + 1))
            left -= 1
"""
HOLD = """
with file_lock(folder / "lock") as mine:
    print(mine, flush=True)
    time.sleep(60)
"""


def start(script, folder):
    command = [sys.executable, "-c", HEAD + script, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_writers_with_one_process_number_do_not_meet(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: 1)  # as in two containers with a common disk
    path = tmp_path / "one.txt"
    with atomic_write(path) as first:
        first.write_text("first")
        with atomic_write(path) as second:
            second.write_text("second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"
    assert [other.name for other in tmp_path.iterdir()] == ["one.txt"]


def test_an_error_in_the_middle_leaves_the_old_file(tmp_path):
    path = tmp_path / "one.json"
    write_json(path, [1])
    with pytest.raises(TypeError):
        write_json(path, [object()])
    assert path.read_text() == "[\n 1\n]\n"
    assert list(tmp_path.iterdir()) == [path]


def test_no_two_processes_hold_a_lock_at_once_though_its_file_is_removed(tmp_path):
    (tmp_path / "count").write_text("0")
    processes = [start(ADD_ONE, tmp_path) for _ in range(3)]
    for process in processes:
        process.communicate(timeout=120)
        assert process.returncode == 0
    assert (tmp_path / "count").read_text() == "60"
    assert not (tmp_path / "lock").exists()


def test_a_process_that_dies_lets_go_of_what_it_held(tmp_path):
    path, other = tmp_path / "lock", start(HOLD, tmp_path)
    assert other.stdout.readline() == "True\n"
    with file_lock(path) as mine:
        assert not mine
    other.kill()
    other.communicate()
    with file_lock(path) as mine:
        assert mine
    assert not path.exists()


def test_an_error_releases_the_lock(tmp_path):
    path = tmp_path / "folder" / "lock"
    with pytest.raises(KeyError), file_lock(path):
        raise KeyError
    with file_lock(path) as mine:
        assert mine


def test_a_part_in_use_is_left_and_one_that_a_kill_left_is_removed(tmp_path):
    path, left = tmp_path / "one.txt", tmp_path / ".one.txt.0123456789ab.part"
    left.write_text("torn")
    with atomic_write(path) as part:
        assert not left.exists()
        part.write_text("first")
        with atomic_write(path) as second:
            second.write_text("second")
        assert part.exists()
    assert [other.name for other in tmp_path.iterdir()] == ["one.txt"]


def test_a_folder_that_was_removed_does_not_come_back(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "study" / "runs" / "x"):
        pass
    with pytest.raises(FileNotFoundError), file_lock(tmp_path / "study" / "runs" / "x.lock"):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["..", "a/b", "a\\b", "", " ", "a\nb", "x" * 300])
def test_names_that_lead_elsewhere_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match="must be the name of a file or folder in"):
        below(tmp_path, "runs", name)
    assert below(tmp_path, "runs", "dss-sum [2], größer") == tmp_path / "runs/dss-sum [2], größer"


@pytest.mark.parametrize("link", ["one.lock", "folder"])
def test_nothing_is_written_through_a_link(tmp_path, link):
    (tmp_path / link).symlink_to(tmp_path / "elsewhere")
    use = {
        "folder": lambda: below(tmp_path, "folder", "x"),
        "one.lock": lambda: file_lock(tmp_path / "one.lock").__enter__(),
    }
    with pytest.raises(ValueError, match="must not be a link"):
        use[link]()
    assert not (tmp_path / "elsewhere").exists()


def test_objects_carry_a_checksum_that_is_compared(tmp_path):
    path = tmp_path / "one.json"
    write_json(path, {"a": [1, 0.25], 3: "x"})
    with reading(path, "an object") as found:
        assert found == {"a": [1, 0.25], "3": "x"}
    path.write_text(path.read_text().replace("0.25", "0.75"))
    with pytest.raises(ValueError, match=r"one\.json must be an object: it was changed"):
        reading(path, "an object").__enter__()


@pytest.mark.parametrize(
    ("content", "problem"),
    [("[" * 200_000, "recursion"), ("[1]", r"it holds \[1\]"), ('"' + "x" * 9000, "Unterminated")],
)
def test_json_of_another_kind_is_one_short_line(tmp_path, content, problem):
    path = tmp_path / "one.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=rf"one\.json must be an object: .*{problem}") as error:
        reading(path, "an object").__enter__()
    assert len(str(error.value)) < 600


def test_a_file_that_is_not_there_is_said_once(tmp_path):
    path = tmp_path / "study.json"
    with (
        pytest.raises(ValueError, match=r"^\S+ must be a study: No such file or directory$"),
        reading(path, "a study"),
    ):
        pass
    with (
        pytest.raises(ValueError, match=r"^\S+ cannot be read: No such file or directory$"),
        named_errors(path),
    ):
        path.read_text()


def test_files_and_locked_folders_are_no_places(tmp_path, monkeypatch):
    check_place("out", tmp_path / "new" / "deep")
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ValueError, match=r"out must be a folder, got the file .*file"):
            check_place("out", path)
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)  # roots may everything
    with pytest.raises(ValueError, match=r"out must be a folder that may be written to, got .*new"):
        check_place("out", tmp_path / "new" / "deep")

import os
import subprocess
import sys

import pytest

from symsets._files import atomic_write, file_lock, write_json

ADD_ONE = """
import sys, time
from pathlib import Path
from symsets._files import file_lock
folder = Path(sys.argv[1])
for _ in range(20):
    with file_lock(folder / "lock"):
        count = int((folder / "count").read_text())
        time.sleep(0.002)
        (folder / "count").write_text(str(count + 1))
"""


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
    command = [sys.executable, "-c", ADD_ONE, str(tmp_path)]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    assert (tmp_path / "count").read_text() == "60"
    assert not (tmp_path / "lock").exists()


def test_an_error_releases_the_lock(tmp_path):
    path = tmp_path / "folder" / "lock"
    with pytest.raises(KeyError), file_lock(path):
        raise KeyError
    with file_lock(path, wait=False) as mine:
        assert mine

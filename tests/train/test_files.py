import os

import pytest

from symsets.train.files import atomic_write, write_json


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

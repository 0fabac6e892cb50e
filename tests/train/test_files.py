import os

from symsets.train.files import atomic_write


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

"""What cannot be written is said before anything is computed."""

import os

import pytest

from symsets.tools.places import check_place


def test_files_and_locked_folders_are_no_places(tmp_path, monkeypatch):
    check_place("out", tmp_path / "new" / "deep")
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ValueError, match=r"out must be a folder, got the file .*file"):
            check_place("out", path)
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)  # roots may everything
    with pytest.raises(ValueError, match=r"out must be a folder that may be written to, got .*new"):
        check_place("out", tmp_path / "new" / "deep")

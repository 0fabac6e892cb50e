import shutil
import subprocess
from pathlib import Path

import pytest

from symsets.experiments.study import records


@pytest.fixture(autouse=True)
def _anew(monkeypatch):
    monkeypatch.delenv("SYMSETS_COMMIT", raising=False)
    records.source_commit.cache_clear()
    yield
    records.source_commit.cache_clear()


def lying_in(folder, monkeypatch):
    """Pretend that the file lies in a folder of a repository with one commit."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(folder)]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*git, *words], check=True)

    def lies(inside):
        (folder / inside).mkdir(parents=True)
        monkeypatch.setattr(records, "__file__", str(folder / inside / "records.py"))
        records.source_commit.cache_clear()
        return records.source_commit()

    return lies


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_commit_is_that_of_the_own_repository(tmp_path, monkeypatch):
    lies = lying_in(tmp_path, monkeypatch)
    assert len(lies("src/symsets/experiments/study")) == 12
    assert lies(".venv/lib/python3.12/site-packages/symsets/train") == ""


@pytest.mark.parametrize(
    "error", [FileNotFoundError("git"), subprocess.TimeoutExpired(["git"], timeout=10)]
)
def test_no_commit_is_known_where_git_is_missing_or_does_not_answer(monkeypatch, error):
    def fail(*words, **options):
        raise error

    monkeypatch.setattr(subprocess, "run", fail)
    assert records.source_commit() == ""


def test_the_own_repository_is_told_by_where_the_file_lies():
    assert f"{Path(records.__file__).parent.as_posix()}/".endswith(f"/{records.OWN_PREFIX}")

"""Damaged files of a study: every command ends as usual, or with one line that names the file."""

import json
import os
import random
import shutil
from dataclasses import replace

import pytest
import torch
from damage import DEEPER, damaged
from typer.testing import CliRunner

from symsets._files import write_json
from symsets.cli import app
from symsets.experiments.colors import experiment as colors
from symsets.experiments.study.records import read_records
from symsets.experiments.study.study import Study

pytest.importorskip("PIL", reason="needs Pillow")
RUN = "runs/dead_leaves-dss-sum-ours-4-seed0"
FILES = (
    "study.json",
    "results.json",
    "search-dead_leaves.json",
    "examples/dead_leaves.npz",
    "unfinished/dead_leaves-siamese-ds-4-0.ckpt",
    *(
        f"{RUN}/{name}"
        for name in (
            "config.json",
            "curves.csv",
            "done.json",
            "examples.npz",
            "model.safetensors",
            "network.json",
            "predictions.npz",
        )
    ),
)


@pytest.fixture(autouse=True)
def _tiny_preset(monkeypatch):
    monkeypatch.delenv("SYMSETS_DATA", raising=False)
    tiny = replace(
        colors.PRESETS["smoke"], train_sizes=(4,), test_size=3, batch_size=2, width=0.05
    )
    monkeypatch.setitem(colors.PRESETS, "smoke", tiny)


def command(name, study):
    """Run a command, which must end by itself, and return its exit status and what it says."""
    words = {
        "run": ["run", "colors", "--preset", "smoke", "--data", "leaves", "--out", str(study)],
        "report": ["report", str(study)],
        "evaluate": ["evaluate", str(study), "--data", "leaves", "--out", f"{study}-tested"],
    }
    found = CliRunner().invoke(app, words[name])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found.exit_code, found.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return where the study is to be made once."""
    return tmp_path_factory.mktemp("made") / "study"


@pytest.fixture
def study(made, tmp_path, monkeypatch):
    """A study with one finished run, one baseline, and one run that was interrupted at its end."""
    if not made.exists():
        finish = Study._finish

        def interrupted(self, group, *arguments):
            if group.model == "siamese-ds":
                raise KeyboardInterrupt
            return finish(self, group, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(Study, "_finish", interrupted)
            assert command("run", made)[0] == 130
        write_json(made / "search-dead_leaves.json", {"dss-sum": {"0.1": 0.5, "0.01": None}})
        assert command("report", made)[0] == 0
    shutil.copytree(made, tmp_path / "study")
    return tmp_path / "study"


def check(study, name, code, said):
    """Check that a command ended as usual, or that it named the file."""
    assert code in (0, 2)
    if code:
        assert len(said.strip().splitlines()) == 1, said
        assert said.startswith("symsets: "), said
        assert os.path.basename(name) in said or str(study) in said, said  # noqa: PTH119
    elif name == "done.json":
        assert len(read_records(study / "results.json")) == 3


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_of_a_study_are_survived_or_named(name, study, large, no_hang):
    path, rng = study / name, random.Random(name)
    sound = path.read_bytes()
    commands = ("run", "report", "evaluate")
    for k in range(18 if large else 1):
        shutil.rmtree(study)
        shutil.copytree(study.parents[0] / "copy", study) if k else None
        if not k:
            continue
        which = commands[k % 3]
        deeper = DEEPER.get(path.suffix, damaged) if k % 2 else damaged
        path.write_bytes(deeper(sound, rng))
        with no_hang():
            check(study, path.name, *command(which, study))

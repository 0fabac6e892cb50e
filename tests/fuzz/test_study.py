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
            "done.json",
            "examples.npz",
            "model.safetensors",
            "network.json",
            "predictions.npz",
        )
    ),
)

FEW = ("study.json", "results.json", f"{RUN}/done.json")  # in every test


@pytest.fixture(autouse=True)
def _tiny_preset(monkeypatch):
    monkeypatch.delenv("SYMSETS_DATA", raising=False)
    tiny = replace(colors.PRESETS["smoke"], train_sizes=(4,), test_size=3, batch_size=2, width=0.05)
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
    """Return a function that makes a study afresh.

    It has one finished run, one baseline, and one run that was interrupted at its end.
    """
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

    def fresh():
        for path in tmp_path.iterdir():
            shutil.rmtree(path)
        return shutil.copytree(made, tmp_path / "study")

    return fresh


def check(path, study, code, said):
    """Check that a command ended as usual, or with one line that names the file."""
    assert code in (0, 2)
    if code:
        assert len(said.splitlines()) == 1, said
        assert said.startswith("symsets: "), said
        assert str(path.relative_to(study)) in said or str(path.parent) in said, said


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_of_a_study_are_survived_or_named(name, study, large, no_hang):
    if not large and name not in FEW:
        pytest.skip("in make fuzz")
    rng = random.Random(name)
    for k in range(18 if large else 1):
        path = study() / name
        deeper = DEEPER.get(path.suffix, damaged) if k % 2 else damaged
        path.write_bytes(deeper(path.read_bytes(), rng))
        out, which = path.parents[name.count("/")], ("run", "report", "evaluate")[k % 3]
        with no_hang():
            code, said = command(which, out)
        check(path, out, code, said)
        if which == "run" and not code:
            assert len(read_records(out / "results.json")) == 3  # never fewer rows than runs


@pytest.mark.parametrize("content", ["[]", "{}", '{"records": []}', "[" * 200_000, "[[1]]"])
def test_no_run_vanishes(content, study, no_hang):
    path = study() / RUN / "done.json"
    path.write_text(content)
    with no_hang():
        code, said = command("run", path.parents[2])
    assert (code, "done.json must be a list of records" in said) == (2, True), said


@pytest.mark.parametrize("name", [name for name in FILES if "ckpt" not in name])
def test_a_pipe_in_a_study_does_not_hang(name, study, large, no_hang):
    if not large and name not in FEW[:1]:
        pytest.skip("in make fuzz")
    path = study() / name
    path.unlink()
    os.mkfifo(path)
    out = path.parents[name.count("/")]
    for which in ("run", "report", "evaluate"):
        with no_hang(30):
            check(path, out, *command(which, out))


def test_nothing_is_written_through_links_or_outside(study, tmp_path):
    out = study()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    kept = elsewhere / "kept.html"
    kept.write_text("mine")
    (out / "report.html").unlink()
    (out / "report.html").symlink_to(kept)
    assert command("report", out)[0] == 0
    assert (kept.read_text(), (out / "report.html").is_symlink()) == ("mine", False)
    shutil.rmtree(out / "figures")
    (out / "figures").symlink_to(elsewhere)
    code, said = command("report", out)
    assert (code, "figures must not be a link" in said) == (2, True), said
    (out / "runs").rename(elsewhere / "runs")
    (out / "runs").symlink_to(elsewhere / "runs")
    code, said = command("run", out)
    assert (code, "runs must not be a link" in said) == (2, True), said
    assert sorted(path.name for path in elsewhere.iterdir()) == ["kept.html", "runs"]


def test_names_in_files_lead_nowhere(study, tmp_path):
    path = study() / RUN / "done.json"
    out = path.parents[2]
    done = json.loads(path.read_text())
    del done["sha256"]
    for field in ("model", "seed", "data", "train_size"):
        before = {p for p in tmp_path.rglob("*") if out not in p.parents}
        write_json(path, {**done, "config": {**done["config"], field: "/../../../x"}})
        code, said = command("evaluate", out)
        if field != "data":  # it is made a name
            assert code == 2, said
            assert ("done.json" if field != "model" else "the name of a file") in said, said
        new = {p for p in tmp_path.rglob("*") if out not in p.parents} - before
        assert all(str(p).startswith(f"{out}-tested") for p in new), new


def test_a_part_that_a_kill_left_is_removed_and_one_in_use_is_not(study):
    out = study()
    left = out / ".results.json.0123456789ab.part"
    left.write_text("torn")
    assert command("run", out)[0] == 0
    assert not left.exists()
    assert not [*out.rglob("*.part"), *out.rglob("*.lock")]


def test_sound_checkpoints_are_used_and_flipped_ones_named(study):
    path = study() / FILES[4]
    out, content = path.parents[1], path.read_bytes()
    path.write_bytes(content[:3000] + bytes([content[3000] ^ 1]) + content[3001:])
    code, said = command("run", out)
    assert (code, f"{path.name} cannot be read because it was changed" in said) == (2, True), said
    torch.save({"fitted": []}, path)
    code, said = command("run", out)
    assert (code, f"{path.name} cannot be read because" in said) == (2, True), said
    path.write_bytes(content)
    assert command("run", out)[0] == 0

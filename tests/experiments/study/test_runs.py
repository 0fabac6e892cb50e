"""The directory of a study."""

import math

import pytest
import torch
from typer.testing import CliRunner

from symsets.cli import app
from symsets.experiments.study.records import Record
from symsets.experiments.study.runs import RunDirectory, lock_study


def test_a_second_process_at_a_study_is_refused_until_the_first_has_ended(tmp_path):
    words = ["run", "signals", "--preset", "smoke", "--models", "mlp", "--out", str(tmp_path / "a")]
    (tmp_path / "a").mkdir()
    with lock_study(tmp_path / "a"):
        refused = CliRunner().invoke(app, words)
    assert (refused.exit_code, len(refused.stderr.splitlines())) == (2, 1)
    assert f"{tmp_path / 'a'} must not be in use by another process: wait" in refused.stderr
    assert CliRunner().invoke(app, words).exit_code == 0
    assert not (tmp_path / "a" / ".lock").exists()


def test_a_study_is_locked_while_it_runs(tmp_path, monkeypatch):
    found = []

    def second(study):
        found.append(CliRunner().invoke(app, [*words, "--seeds", "2"]))

    words = ["run", "signals", "--preset", "smoke", "--models", "mlp", "--out", str(tmp_path)]
    monkeypatch.setattr("symsets.experiments.study.study.Study.prepare", second)
    assert CliRunner().invoke(app, words).exit_code == 0
    assert [one.exit_code for one in found] == [2]


CURVES = [
    {"epoch": 1, "val_loss": 0.0, "val_mae": 0.125},
    {"epoch": 2, "val_loss": math.nan, "val_mae": 1e-9 / 3},
]
RECORD = Record("signals", "mlp", "mae", 0.5)


def assert_curves(run, wanted):
    found = run.curves()
    assert list(found) == list(wanted)
    for name, column in wanted.items():
        assert found[name] == pytest.approx(column, nan_ok=True, rel=1e-12, abs=0)


def test_a_run_comes_back_as_it_was_written(tmp_path):
    run = RunDirectory(tmp_path)
    run.write({"model": "mlp"}, CURVES, {"mae": torch.ones(2)}, [RECORD])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["done.json", "predictions.npz"]
    assert run.finished
    with run.reading_config() as config:
        assert config == {"model": "mlp"}
    wanted = {"epoch": [1, 2], "val_loss": [0, math.nan], "val_mae": [0.125, 3.33333e-10]}
    assert_curves(run, wanted)
    assert run.records() == [RECORD]


@pytest.mark.parametrize(
    ("curves", "problem"),
    [
        ('{"epoch": [1, null]}', "an epoch has no number"),
        ('{"epoch": [1], "val_loss": [1, 2]}', "its columns differ in length"),
        ('{"val_loss": [1, 2]}', "'epoch'"),
        ('{"epoch": ["one"]}', "could not convert"),
        ("[[1]]", "no attribute"),
    ],
)
def test_a_damaged_curve_is_one_sentence(tmp_path, curves, problem):
    (tmp_path / "done.json").write_text(f'{{"curves": {curves}}}')
    with pytest.raises(
        ValueError, match=rf"done\.json must be a run with a table of epochs: .*{problem}"
    ):
        RunDirectory(tmp_path).curves()

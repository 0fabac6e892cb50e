"""Several processes at one study."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from symsets.cli import app
from symsets.cli.options import RunOptions
from symsets.experiments.signals import experiment as signals
from symsets.experiments.study.describe import make_study


@pytest.fixture(autouse=True)
def _tiny_preset(monkeypatch):
    tiny = replace(signals.PRESETS["smoke"], train_sizes=(128,), test_size=100, width=0.03)
    monkeypatch.setitem(signals.PRESETS, "smoke", tiny)


def study(out, **described):
    described = {"models": "dss-sum,siamese", "seeds": 2} | described
    return make_study(signals.EXPERIMENT, RunOptions(out=out, preset="smoke", **described))


def names(groups):
    return [(group.model, group.seeds) for group in groups]


def test_processes_take_different_runs(tmp_path):
    mine, theirs = study(tmp_path / "out").take_groups(), study(tmp_path / "out").take_groups()
    assert names([next(mine), next(theirs)]) == [("dss-sum", (0,)), ("dss-sum", (1,))]
    assert names([next(mine)]) == [("siamese", (0,))]  # the first is free again, and not finished
    assert names([next(theirs)]) == [("siamese", (1,))]


def test_a_process_leaves_what_another_is_at(tmp_path):
    mine, theirs = study(tmp_path / "out"), study(tmp_path / "out")
    for group in mine.take_groups():
        if group.seeds == (1,):
            others = [("dss-sum", (0,)), ("siamese", (0,)), ("siamese", (1,))]
            assert names(theirs.take_groups()) == others
            break
    assert len(theirs.left()) == 4


def test_seeds_that_train_together_are_all_held(tmp_path):
    together, alone = study(tmp_path / "out", together=True), study(tmp_path / "out")
    group = next(groups := together.take_groups())
    assert group.seeds == (0, 1)
    assert "dss-sum" not in dict(names(alone.take_groups()))
    groups.close()
    assert "dss-sum" in dict(names(alone.take_groups()))


def test_runs_that_others_have_finished_are_not_made_again(tmp_path):
    late = study(tmp_path / "out")
    arguments = ["run", "signals", "--preset", "smoke", "--seeds", "1"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert names(late.take_groups()) == [("dss-sum", (1,)), ("siamese", (1,))]


def test_a_process_that_finds_nothing_to_do_ends_well(tmp_path):
    arguments = ["run", "signals", "--preset", "smoke", "--models", "mlp", "--out", str(tmp_path)]
    groups = study(tmp_path, models="mlp", seeds=1).take_groups()
    assert names([next(groups)]) == [("mlp", (0,))]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "1 run is left to other processes" in result.output
    assert not (tmp_path / "results.json").exists()

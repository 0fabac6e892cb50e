"""Options of the command line are declared once, and reach the study that they describe."""

import re
from dataclasses import fields, replace

import pytest
from typer.testing import CliRunner

from symsets.cli import app
from symsets.cli.options import RunOptions
from symsets.cli.run import SUMMARIES
from symsets.experiments.study.experiment import EXPERIMENTS, find_experiment

runner = CliRunner()
NOT_OF_SIGNALS, ONLY_OF_SIGNALS = {"data", "settings"}, {"together"}


def options_of(command):
    text = runner.invoke(app, [*command, "--help"], env={"COLUMNS": "200"}).output
    found = re.findall(r"--([a-z-]+)[ ,]", text)
    return {name.replace("-", "_") for name in found} - {"help", "as"}


def test_every_experiment_has_a_command():
    assert set(SUMMARIES) == set(EXPERIMENTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_command_offers_every_option_that_means_something_to_it(name):
    left_out = NOT_OF_SIGNALS if name == "signals" else ONLY_OF_SIGNALS
    expected = {field.name.rstrip("_") for field in fields(RunOptions)} - left_out
    assert options_of(["run", name]) == expected


def test_what_is_typed_reaches_the_study(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(
        "symsets.experiments.study.describe.make_study",
        lambda experiment, options: seen.append((experiment, options)) or exit(0),
    )
    typed = "--as gaussian-30 --models dss-sum --train-sizes 8,4 --seeds 3 --lr search --epochs 2"
    typed += f" --preset smoke --recipe published --data-seed 7 --precision tf32 --out {tmp_path}"
    assert runner.invoke(app, ["run", "quality", "--data", "leaves", *typed.split()]).exit_code == 0
    expected = RunOptions(
        data="leaves",
        settings="gaussian-30",
        models="dss-sum",
        train_sizes="8,4",
        seeds=3,
        lr="search",
        epochs=2,
        preset="smoke",
        recipe="published",
        data_seed=7,
        precision="tf32",
        out=tmp_path,
    )
    assert seen == [(find_experiment("quality"), expected)]
    runner.invoke(app, ["run", "signals", "--together"])
    assert seen[1] == (find_experiment("signals"), replace(RunOptions(), together=True))


@pytest.mark.parametrize(
    ("typed", "address"),
    [("--ray", ""), ("--ray --seeds 2", ""), ("--ray 10.0.0.1:6379 --seeds 2", "10.0.0.1:6379")],
)
def test_ray_needs_no_address(monkeypatch, typed, address):
    seen = []
    monkeypatch.setattr(
        "symsets.experiments.study.describe.make_study",
        lambda experiment, options: seen.append(options.ray) or exit(0),
    )
    assert runner.invoke(app, ["run", "signals", *typed.split()]).exit_code == 0
    assert seen == [address]

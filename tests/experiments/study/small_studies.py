"""Run small studies from the command line, and look at what they leave."""

import torch
from typer.testing import CliRunner

import symsets
from symsets.cli import app
from symsets.experiments.study import study
from symsets.experiments.study.records import read_records


def run(name, out, source, *arguments):
    base = ["run", name, "--preset", "smoke", "--out", str(out), "--data", str(source)]
    return CliRunner().invoke(app, [*base, *arguments])


def records(out):
    return read_records(out / "results.json")


def values(out):
    return {(r.data, r.setting, r.model, r.seed, r.metric): r.value for r in records(out)}


def only_run(out, model="dss-sum"):
    (path,) = (out / "runs").glob(f"*{model}*")
    return path


def assert_one_line(result, *words):
    assert result.exit_code == 2, result.output
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr
    for word in words:
        assert word in result.stderr


def assert_an_interruption_changes_no_number(name, source, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "STEPS_PER_VALIDATION", 1)
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    words = ["--epochs", "2", "--train-sizes", "2"]
    started = []

    def start(self, epoch, then=symsets.train.training.Training.train):
        started.append(epoch)
        if started == [0, 1]:
            raise KeyboardInterrupt
        then(self, epoch)

    monkeypatch.setattr("symsets.train.training.Training.train", start)
    result = run(name, broken, source, *words)
    assert result.exit_code == 130
    assert "the same command continues" in result.stderr
    assert list((broken / "unfinished").glob("*.ckpt"))
    torch.manual_seed(7)  # nothing may depend on what was drawn before
    assert run(name, broken, source, *words).exit_code == 0
    assert started == [0, 1, 1]
    assert not list((broken / "unfinished").glob("*"))
    assert run(name, whole, source, *words).exit_code == 0
    assert values(broken) == values(whole)
    weights = [(only_run(out) / "model.safetensors").read_bytes() for out in (broken, whole)]
    assert weights[0] == weights[1]
    assert "all runs are finished" in run(name, whole, source, *words).output
    assert started == [0, 1, 1, 0, 1]

"""What may happen to a study while it runs."""

import json
import math
import shutil
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from symsets.cli import app
from symsets.cli.options import RunOptions
from symsets.experiments.signals import experiment as signals
from symsets.experiments.study.describe import make_study
from symsets.experiments.study.study import Study
from symsets.nn.registry import unregister_scheme
from symsets.train.fitted import Fitted

SCHEME = """
import torch
from symsets import DSS, register_scheme

@register_scheme("mine")
def build(make, in_channels, out_channels, *, size):
    {body}
"""


@pytest.fixture(autouse=True)
def _tiny_preset(monkeypatch):
    tiny = replace(signals.PRESETS["smoke"], train_sizes=(16,), test_size=10, width=0.03)
    monkeypatch.setitem(signals.PRESETS, "smoke", tiny)


def run(out, *more):
    words = ["run", "signals", "--preset", "smoke", "--out", str(out), *more]
    found = CliRunner().invoke(app, words)
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found.exit_code, found.stderr


def test_a_study_that_is_removed_while_it_runs_ends_and_can_start_again(tmp_path, monkeypatch):
    out, train = tmp_path / "study", Study._train

    def remove(self, *arguments):
        shutil.rmtree(out, ignore_errors=True)
        return train(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Study, "_train", remove)
        assert run(out) == (2, f"symsets: {out / 'unfinished'}: No such file or directory\n")
    assert run(out) == (0, "")


def made(out, **options):
    return make_study(signals.EXPERIMENT, RunOptions(out=out, **options))


def test_at_full_size_every_model_has_a_rate_of_its_own_and_stops_by_the_loss(tmp_path):
    study = made(tmp_path / "a", preset="paper")
    plan = study.plan("", "dss-sum", 30, 1e-3)
    assert (study.config.learning_rate, plan.keep, plan.patience) == (None, "loss", 10)
    assert study.plan("", "dss-sum", 6, 1e-3).patience == 3
    published = made(tmp_path / "b", preset="paper", recipe="published", lr="0.01")
    plan = published.plan("", "dss-sum", 200, 1e-3)
    assert (published.config.learning_rate, plan.keep, plan.patience) == (0.01, "loss", 20)


def test_small_studies_are_what_they_were(tmp_path):
    study = made(tmp_path, preset="smoke")
    plan = study.plan("", "dss-sum", 30, 1e-3)
    assert (study.config.learning_rate, plan.keep, plan.patience) == (1e-3, "metric", 1000)
    path = tmp_path / "study.json"
    older = {k: v for k, v in json.loads(path.read_text()).items() if k not in ("keep", "sha256")}
    path.write_text(json.dumps(older))  # as earlier versions wrote it
    (tmp_path / "runs").mkdir(exist_ok=True)
    made(tmp_path, preset="smoke")


def test_a_search_goes_by_what_chooses_the_epoch(tmp_path, monkeypatch):
    def train(self, group, plan, checkpoint=None, watch=None):
        rate = plan.learning_rate
        curves = [{"val_loss": loss} for loss in (math.nan, abs(math.log(rate / 1e-2)), 99.0)]
        return [], [Fitted(curves=curves, best_metric=-abs(math.log(rate / 1e-4)))]

    monkeypatch.setattr(Study, "_train", train)
    by_loss = made(tmp_path / "a", preset="paper")
    assert by_loss.learning_rate("", "dss-sum") == 1e-2
    by_metric = made(tmp_path / "b", preset="smoke", lr="search")
    assert by_metric.learning_rate("", "dss-sum") == 1e-4
    assert by_metric.searched("", "siamese") is None


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("return None", ""),
        ("raise KeyError('x')", "mine.py, line 7: scheme 'mine': KeyError: 'x'"),
        ("return DSS(make(in_channels, out_channels + 1))", ""),
        ("assert size is None, 'one\\ntwo'", "AssertionError: one two"),
    ],
)
def test_what_a_scheme_of_a_user_does_wrong_is_one_line(tmp_path, monkeypatch, body, problem):
    path = tmp_path / "mine.py"
    path.write_text(SCHEME.format(body=body))
    try:
        code, said = run(tmp_path / "study", "--import", str(path), "--models", "mine,mlp")
    finally:
        unregister_scheme("mine")
    assert (code, len(said.splitlines())) == (2, 1), said
    assert f"{path}" in said, said
    assert "scheme 'mine': " in said, said
    assert problem in said, said

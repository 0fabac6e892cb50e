"""What may happen to a study while it runs."""

import shutil
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from symsets.cli import app
from symsets.experiments.signals import experiment as signals
from symsets.experiments.study.study import Study
from symsets.nn.registry import unregister_scheme

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
        assert run(out) == (2, f"symsets: {out} was removed: the same command starts anew\n")
    assert run(out) == (0, "")


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

import runpy
from pathlib import Path

import pytest
from typer.testing import CliRunner

from symsets.cli import app
from symsets.experiments.study.records import read_records
from symsets.nn.registry import schemes, unregister_scheme

EXAMPLES = Path(__file__).parent.parent / "examples"
OWN_SCHEME = EXAMPLES / "own_scheme.py"


@pytest.fixture(autouse=True)
def no_scheme_is_left():
    before = schemes()
    yield
    for name in set(schemes()) - set(before):
        unregister_scheme(name)


@pytest.mark.parametrize(
    "path", sorted({*EXAMPLES.glob("*.py")} - {OWN_SCHEME}), ids=lambda path: path.stem
)
def test_examples_run(path, capsys):
    accuracy = runpy.run_path(str(path))["main"](2)  # steps or epochs
    assert 0 <= accuracy <= 1
    assert "expect" in capsys.readouterr().out


def test_a_scheme_of_ones_own_is_symmetric(capsys):
    assert runpy.run_path(str(OWN_SCHEME))["main"]() < 1e-12
    assert "expect" in capsys.readouterr().out


def test_a_scheme_of_ones_own_runs_in_an_experiment(tmp_path):
    command = ["run", "signals", "--preset", "smoke", "--epochs", "1", "--out", str(tmp_path)]
    own = ["--import", str(OWN_SCHEME), "--models", "contrast"]
    result = CliRunner().invoke(app, [*command, *own])
    assert result.exit_code == 0, result.output
    assert {record.model for record in read_records(tmp_path / "results.json")} == {"contrast"}
    assert (
        tmp_path / "imported" / "contrast" / "own_scheme.py"
    ).read_text() == OWN_SCHEME.read_text()


def test_a_scheme_that_nobody_registered_is_refused(tmp_path):
    command = ["run", "signals", "--preset", "smoke", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, [*command, "--models", "contrast"])
    assert result.exit_code == 2
    assert "models must be some of" in result.output

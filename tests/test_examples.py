import runpy
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from torch import nn
from typer.testing import CliRunner

from symsets.cli import app
from symsets.experiments.study.records import read_records
from symsets.nn.registry import schemes, unregister_scheme

EXAMPLES = Path(__file__).parent.parent / "examples"
OWN_SCHEME = EXAMPLES / "own_scheme.py"
OF_TIMM = EXAMPLES / "fine_tune_timm.py"
FEW = {"NUM_BAGS": 100, "NUM_SETS": 100, "BURSTS": {"train": 40, "val": 10, "test": 10}}


@pytest.fixture(autouse=True)
def no_scheme_is_left():
    before = schemes()
    yield
    for name in set(schemes()) - set(before):
        unregister_scheme(name)


@pytest.mark.parametrize(
    "path", sorted({*EXAMPLES.glob("*.py")} - {OWN_SCHEME, OF_TIMM}), ids=lambda path: path.stem
)
def test_examples_run(path, capsys):
    main = runpy.run_path(str(path))["main"]
    main.__globals__.update({name: FEW[name] for name in FEW if name in main.__globals__})
    assert 0 <= main(1) <= 1  # step or epoch
    assert "expect" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no trained weights of resnet18 could be had")
def test_a_network_of_timm_is_fine_tuned(capsys):
    pytest.importorskip("timm", reason="needs timm (extra vision)")
    assert 0 <= runpy.run_path(str(OF_TIMM))["main"](1) <= 1
    assert "expect" in capsys.readouterr().out


class Tiny(nn.Module):
    """As a network of timm without its classifier."""

    num_features = 8

    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, 8, 5, stride=2)

    def forward(self, x):
        return self.conv(x).relu().mean((2, 3))


@pytest.mark.parametrize("has_weights", [True, False])
def test_any_network_that_timm_makes_is_fine_tuned(has_weights, monkeypatch, capsys):
    def create_model(name, *, pretrained, num_classes, in_chans):
        assert (name, num_classes) == ("resnet18", 0)
        if pretrained and not has_weights:
            raise OSError("no connection")
        return Tiny(in_chans)

    monkeypatch.setitem(sys.modules, "timm", SimpleNamespace(create_model=create_model))
    main = runpy.run_path(str(OF_TIMM))["main"]
    with nullcontext() if has_weights else pytest.warns(UserWarning, match="no trained weights"):
        assert 0 <= main(1) <= 1
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

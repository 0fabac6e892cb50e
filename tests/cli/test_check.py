"""``symsets check``."""

import pytest
from typer.testing import CliRunner

from symsets.cli import app

CODE = """
import torch
from torch import nn
from symsets import DSS

def make():
    return DSS(nn.Conv1d(3, 4, 3, padding=1)), torch.randn(2, 5, 3, 8)
"""


@pytest.fixture
def check(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(CODE)
    return lambda *options: CliRunner().invoke(app, ["check", *options])


def test_a_kept_symmetry_ends_well(check):
    found = check("mine.py:make")
    assert found.exit_code == 0, found.output
    assert "running mine.py" in found.output
    assert "equivariant" in found.output


def test_a_broken_one_names_the_layer_and_ends_with_1(check, tmp_path):
    found = check("mine.py:make", "--symmetry", "roll", "--figure", "layers.png")
    assert found.exit_code == 1
    assert "roll: breaks first in context (Conv1d)" in found.output
    assert (tmp_path / "layers.png").is_file()
    assert check("mine.py:make", "--symmetry", "roll", "--tolerance", "9").exit_code == 0


def test_mistakes_are_one_line(check):
    found = check("mine.py:other")
    assert found.exit_code == 2
    assert "symsets: mine.py must define a function other" in found.output
    assert check("mine.py").output.startswith("symsets: TARGET must be file.py:function")


def test_a_figure_is_a_png_wherever_it_is_written(check, tmp_path):
    found = check("mine.py:make", "--figure", "x.html")
    assert found.exit_code == 2
    assert found.output == "symsets: --figure must end in .png, got x.html\n"
    assert not (tmp_path / "x.png").exists()
    found = check("mine.py:make", "--figure", "new/x.PNG")
    assert "figure written to new/x.PNG" in found.output.replace("\\", "/")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["x.PNG"]

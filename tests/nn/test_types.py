"""What ``mypy --strict`` says a layer returns."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import symsets

ROOT = Path(symsets.__file__).parents[2]
HEADER = """
import torch
from torch import nn
from symsets import DSS, RaggedSets, Sequential, Siamese, pool, set_layer
from symsets.nn import Classify, Merge, NormAct, Select
x, ragged = torch.zeros(2, 5, 3), RaggedSets(torch.zeros(5, 3), [2, 3])
"""
LAYERS = (
    "DSS(nn.Linear(3, 8), pool='max')",
    "Sequential(Siamese(nn.Linear(3, 8)), nn.ReLU())",
    "NormAct(DSS(nn.Linear(3, 8)), nn.LayerNorm(8))",
    "set_layer('dss-sum', nn.Linear, 3, 8)",
    "set_layer('a-scheme-of-my-own', nn.Linear, 3, 8)",
    "Select(3)",
)
HEADS = ("Classify(3, 4, pool='mean')", "Merge(nn.Linear(3, 8))", "pool")


@pytest.mark.slow
def test_layers_return_the_kind_they_get_and_heads_return_tensors(tmp_path):
    pytest.importorskip("mypy")
    calls = [f"reveal_type({layer}({x}))" for layer in LAYERS for x in ("x", "ragged")]
    calls += [f"reveal_type({head}({x}))" for head in HEADS for x in ("x", "ragged")]
    (tmp_path / "calls.py").write_text(HEADER + "\n".join(calls), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", str(tmp_path / "calls.py")],
        cwd=ROOT,  # whose settings are strict, and whose cache serves as long as they are the same
        env=os.environ | {"MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    found = [line.split('"')[1].split(".")[-1] for line in done.stdout.splitlines() if '"' in line]
    assert found == ["Tensor", "RaggedSets"] * len(LAYERS) + ["Tensor", "Tensor"] * len(HEADS)

"""Kernels are used only where they can be, and where they give the numbers of torch."""

import os
import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
import torch

from symsets import _kernels

SUBJECTS = ["messages", "norms", "pools", "products", "tops"]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_torch_takes_over_without_triton(subject, monkeypatch):
    monkeypatch.setitem(sys.modules, f"symsets._kernels.{subject}", None)  # cannot be imported
    assert _kernels._try(subject) is None


def fails():
    raise RuntimeError("no compiler")


@pytest.mark.parametrize(
    ("trial", "why"),
    [(fails, "no compiler"), (lambda: [(torch.ones(2), torch.zeros(2))], "not close")],
)
def test_kernels_that_fail_or_err_are_not_passed_over_in_silence(trial, why, monkeypatch):
    broken = SimpleNamespace(trial=trial, INSTEAD="norms are torch's own")
    monkeypatch.setattr(_kernels, "import_module", lambda name: broken)
    with pytest.warns(UserWarning, match=f"(?s)norms are torch's own, for triton failed: .*{why}"):
        assert _kernels._try("norms") is None


def test_kernels_are_tried_once(monkeypatch):
    calls = []
    right = SimpleNamespace(trial=lambda: calls.append(1) or [(torch.ones(2), torch.ones(2))])
    monkeypatch.setattr(_kernels, "import_module", lambda name: right)
    monkeypatch.setattr(_kernels, "_tried", {})
    assert _kernels.kernels("norms") is right
    assert _kernels.kernels("norms") is right
    assert len(calls) == 1


def test_no_trial_interrupts_the_capture_of_a_graph(monkeypatch):
    monkeypatch.setattr(_kernels, "_tried", {})
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    assert _kernels.kernels("norms") is None
    assert _kernels._tried == {}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("subject", SUBJECTS)
def test_all_kernels_pass_their_trial(subject):
    assert _kernels._try(subject) is not None


@pytest.mark.skipif(find_spec("triton") is None, reason="needs triton")
def test_all_kernels_pass_their_trial_in_the_interpreter():
    """Triton interprets kernels on a CPU, too, if it is told so before it is imported."""
    script = """
from importlib import import_module
import sys, torch
for subject in sys.argv[1:]:
    for ours, torchs in import_module(f"symsets._kernels.{subject}").trial("cpu"):
        torch.testing.assert_close(ours, torchs, rtol=1e-3, atol=1e-3)
"""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-W", "ignore", "-c", script, *SUBJECTS]
    subprocess.run(command, env=environment, check=True, timeout=300)

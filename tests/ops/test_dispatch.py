"""Which form of an operation runs."""

from types import SimpleNamespace

import pytest
import torch

from symsets.ops import _dispatch


def test_a_compiler_is_not_shown_the_context(monkeypatch):
    """It would break the graph there, and compile each layer for itself."""
    on_gpu = SimpleNamespace(is_cuda=True, dtype=torch.float32)
    monkeypatch.setattr(_dispatch, "_captured", SimpleNamespace(get=pytest.fail))
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert not _dispatch.kernel("norm_act", on_gpu)

import pytest
import torch

from symsets.nn import _memory


@pytest.fixture(autouse=True)
def _fixed_seed():
    torch.manual_seed(0)
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _memory_is_reused_for_small_tensors(monkeypatch):
    monkeypatch.setattr(_memory, "FEW", 0)  # as for large ones: those of tests are small

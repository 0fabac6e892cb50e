"""Kernels of our own for GPUs, where triton is installed and they give the right numbers."""

from __future__ import annotations

import math
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

__all__ = ["Pairs", "kernels", "ramp"]

Pairs = list[tuple[Tensor, Tensor]]
"""What kernels computed in a trial, and what torch did."""

_tried: dict[str, ModuleType | None] = {}


def kernels(name: str) -> Any:
    """Return the kernels of a file of this folder, or None if they are not to be used here.

    Before their first use they are tried, which waits for the device; so torch does the work of
    kernels that are first asked for while a CUDA graph is captured.
    """
    if name not in _tried:
        if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
            return None
        _tried[name] = _try(name)
    return _tried[name]


def _try(name: str) -> ModuleType | None:
    """Import kernels and compare what they compute with what torch does.

    Each module has a ``trial`` that returns pairs of tensors, its own and torch's, and says in
    ``INSTEAD`` what is used in its place.
    """
    try:
        module = import_module(f"{__name__}.{name}")
    except ImportError:  # no triton
        return None
    try:
        with (
            torch.inference_mode(False),
            torch.enable_grad(),
            torch.autocast("cuda", enabled=False),
        ):
            for ours, torchs in module.trial():
                torch.testing.assert_close(ours, torchs, rtol=1e-3, atol=1e-3)
    except Exception as error:  # such as no C compiler, or a GPU that triton does not know
        warnings.warn(f"{module.INSTEAD}, for triton failed: {error}", stacklevel=3)
        return None
    return module


def ramp(start: float, stop: float, shape: tuple[int, ...], device: str) -> Tensor:
    """Return numbers for a trial: from ``start`` to ``stop``, float32 whatever is the default."""
    count = math.prod(shape)
    return torch.linspace(start, stop, count, dtype=torch.float32, device=device).view(shape)

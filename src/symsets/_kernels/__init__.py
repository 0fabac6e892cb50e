"""Kernels of our own for GPUs, where triton is installed and works."""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from types import ModuleType

import torch

__all__ = ["TYPES", "kernels"]

TYPES = (torch.float16, torch.bfloat16, torch.float32)  # that kernels for large elements know


@cache
def kernels(subject: str) -> ModuleType | None:
    """Return the kernels of a file of this folder, or None if they do not run here.

    Each module has a ``trial``, which runs its kernels once, and says in ``INSTEAD`` what is used
    in their place.
    """
    try:
        module = import_module(f"{__name__}.{subject}")
    except ImportError:  # no triton
        return None
    try:
        module.trial()
    except Exception as error:  # such as no C compiler, or a GPU that triton does not know
        warnings.warn(f"{module.INSTEAD}, for triton failed: {error}", stacklevel=2)
        return None
    return module

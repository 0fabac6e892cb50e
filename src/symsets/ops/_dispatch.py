"""Which form of an operation runs: the plain one in torch, or a faster one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor
from torch._C._functorch import TransformType, get_interpreter_stack
from torch.autograd import forward_ad

from symsets._checks import check_choice
from symsets.ops.triton import kernels

__all__ = ["OPERATIONS", "fast", "kernel", "plain", "switched_off"]

OPERATIONS = ("conv2d", "enlarge", "max_pool", "norm_act", "set_max", "spectral", "spmm")
HALVES_AND_FLOAT = (torch.float16, torch.bfloat16, torch.float32)  # types that kernels know

_plain: ContextVar[frozenset[str]] = ContextVar("plain", default=frozenset())


@contextmanager
def plain(*names: str) -> Iterator[None]:
    """Run the plain form of every operation, or of those named, inside the context.

    The plain form is the formula in torch: use it to compare numbers, and to measure what a fast
    form saves.

    Args:
        names: Operations (see ``symsets/ops/README.md``); all of them if left out.

    Example:
        >>> from symsets import ops
        >>> with ops.plain():
        ...     pass  # every layer computes its formula in torch
    """
    for name in names:
        check_choice("name", name, OPERATIONS)
    token = _plain.set(_plain.get() | frozenset(names or OPERATIONS))
    try:
        yield
    finally:
        _plain.reset(token)


def switched_off(name: str) -> bool:
    """Whether :func:`plain` asks for the plain form of an operation."""
    return not torch.compiler.is_compiling() and name in _plain.get()


def fast(name: str, x: Tensor) -> bool:
    """Whether the fast form of an operation may run on ``x``.

    Fast forms are for GPUs. A compiler gets the plain form, which it fuses by itself.
    """
    if not x.is_cuda or torch.compiler.is_compiling():
        return False
    return name not in _plain.get() and not _is_differentiated_otherwise()


def _is_differentiated_otherwise() -> bool:
    """Whether derivatives are taken that torch does not find in registered operators.

    It drops tangents there without a word, and in ``torch.func.grad`` it raises
    (github.com/pytorch/pytorch/issues/170834).
    """
    if forward_ad._current_level >= 0:
        return True
    return any(level.key() != TransformType.Vmap for level in get_interpreter_stack() or ())


def kernel(name: str, x: Tensor) -> bool:
    """Whether the kernels of an operation may run on ``x``: they are for three types of numbers."""
    return fast(name, x) and x.dtype in HALVES_AND_FLOAT and kernels(name) is not None

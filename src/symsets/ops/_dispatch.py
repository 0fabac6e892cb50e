"""Which form of an operation runs: the plain one in torch, or a faster one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from symsets._checks import check_choice
from symsets.ops.triton import kernels

OPERATIONS = (
    "add_bias",
    "channel_norm",
    "conv2d",
    "enlarge",
    "gate",
    "max_pool",
    "norm_act",
    "set_max",
    "spectral",
    "spmm",
)
HALVES_AND_FLOAT = (torch.float16, torch.bfloat16, torch.float32)  # types that kernels know

_plain: ContextVar[frozenset[str]] = ContextVar("plain", default=frozenset())
_captured: ContextVar[bool] = ContextVar("captured", default=False)


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


@contextmanager
def captured() -> Iterator[None]:
    """Let kernels of our own run inside the context: around a step that becomes a CUDA graph.

    A replayed kernel costs what it takes on the device. Called one by one from Python, its launch
    takes longer than it saves, so elsewhere the plain form runs. Warm-up steps belong inside, too.
    Kernels have gradients, second ones included; forward mode takes the plain form.
    ``symsets.train.capture`` and ``symsets.train.fit`` use it.
    """
    token = _captured.set(True)
    try:
        yield
    finally:
        _captured.reset(token)


def switched_off(name: str) -> bool:
    """Whether :func:`plain` asks for the plain form of an operation."""
    return not torch.compiler.is_compiling() and name in _plain.get()


def fast(name: str, x: Tensor) -> bool:
    """Whether the fast form of an operation may run on ``x``: on a GPU.

    A compiler gets the plain form, which it fuses by itself.
    """
    return x.is_cuda and not torch.compiler.is_compiling() and name not in _plain.get()


def kernel(name: str, x: Tensor) -> bool:
    """Whether the kernels of an operation may run on ``x``: inside :func:`captured`."""
    if torch.compiler.is_compiling() or not (_captured.get() and fast(name, x)):
        return False
    if x.dtype not in HALVES_AND_FLOAT:
        return False
    # A kernel would drop a tangent without a word.
    return unpack_dual(x).tangent is None and kernels(name) is not None

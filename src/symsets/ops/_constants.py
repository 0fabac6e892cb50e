"""Constant tensors that operations keep, such as the matrix of a transform."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

T = TypeVar("T")


def constant(
    make: Callable[..., Tensor], sizes: tuple[Any, ...], dtype: torch.dtype, like: Tensor
) -> Tensor:
    """Return ``make(*sizes, device)`` in a type, on the device of ``like``; it is made once.

    A graph that is being traced gets a tensor of its own.
    """
    if torch.compiler.is_compiling() or type(like) not in (Tensor, nn.Parameter):
        return make(*sizes, like.device).to(dtype)
    return _kept(make, sizes, dtype, like.device)


@cache  # never evicted: a captured CUDA graph goes on reading at the address it saw
def _kept(
    make: Callable[..., Tensor], sizes: tuple[Any, ...], dtype: torch.dtype, device: torch.device
) -> Tensor:
    # The copy from the CPU ends before it returns, so every CUDA stream may read the result.
    return outside_transforms(lambda: make(*sizes, torch.device("cpu")).to(dtype).to(device))


def outside_transforms(make: Callable[[], T]) -> T:
    """Return what ``make`` gives outside the caller's inference mode, vmap and grad.

    So tensors that are kept are plain ones. A new thread knows nothing of the caller's modes.
    """
    if torch.compiler.is_compiling():
        return make()
    stream = torch.cuda.current_stream() if torch.cuda.is_initialized() else None

    def run() -> T:
        with torch.cuda.stream(stream):
            return make()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run).result()

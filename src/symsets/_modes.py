"""Modes, for a while: of networks, training or evaluation; of torch, how float32 is rounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn

__all__ = ["evaluating", "allow_tf32"]


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Switch a network to evaluation for a while, and all its parts back to what they were."""
    modes = {module: module.training for module in network.modules()}
    network.eval()
    try:
        yield
    finally:
        for module, training in modes.items():
            module.training = training


@contextmanager
def allow_tf32(*, products: bool, convolutions: bool | None = None) -> Iterator[None]:
    """Say whether products in float32, and convolutions, may round their factors on a GPU."""
    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    with ExitStack() as stack:
        get, restore = torch.get_float32_matmul_precision, torch.set_float32_matmul_precision
        _restore_later(stack, get, restore, cuda.matmul)
        torch.set_float32_matmul_precision("high" if products else "highest")
        if convolutions is not None:
            allow = partial(setattr, cudnn, "allow_tf32")
            parts = (getattr(cudnn, name, None) for name in ("conv", "rnn"))
            _restore_later(stack, lambda: cudnn.allow_tf32, allow, *parts)
            allow(convolutions)
        yield


def _restore_later(
    stack: ExitStack, get: Callable[[], Any], restore: Callable[[Any], None], *parts: Any
) -> None:
    """Let a setting be as it is now at the end; torch has an older and a newer way to set it."""
    try:
        stack.callback(restore, get())
    except RuntimeError:  # it was set in the newer way, of which the older one tells nothing
        for part in parts:
            stack.callback(setattr, part, "fp32_precision", part.fp32_precision)

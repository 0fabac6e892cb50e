"""Context managers: evaluation mode of a network, and TF32 precision of torch."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Switch a network to evaluation mode, and restore the mode of every submodule at the end."""
    modes = {module: module.training for module in network.modules()}
    network.eval()
    try:
        yield
    finally:
        for module, training in modes.items():
            module.training = training


@contextmanager
def allow_tf32(*, products: bool, convolutions: bool | None = None) -> Iterator[None]:
    """Set whether float32 matrix products, and convolutions unless None, may use TF32 on a GPU."""
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
    """Restore a setting at the end; ``parts`` hold it in torch's newer ``fp32_precision``."""
    try:
        stack.callback(restore, get())
    except RuntimeError:  # set through fp32_precision, which the older functions cannot read
        for part in parts:
            stack.callback(setattr, part, "fp32_precision", part.fp32_precision)

"""The maximum over dense sets, by kernels of our own on a GPU.

For the gradient torch writes down who holds the maximum, and counts them; ours finds both again
while it shares the gradient out.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from symsets._kernels import TYPES, kernels
from symsets._plain import is_transformed
from symsets.sets.folding import memory_order

__all__ = ["kernel_maximum"]

SMALLEST = 64  # numbers of an element side by side


def kernel_maximum(x: Tensor) -> Tensor | None:
    """Return the maximum of ``x (B, N, *E)`` over each set, or None where torch is to find it.

    Where several elements hold it, its gradient is shared between them.
    """
    if is_transformed(x) or forward_ad._current_level >= 0 or _kernels_for(x) is None:
        return None
    order, back = memory_order(x)
    place = back.pop(1)
    lying = x.permute(order)
    sides = lying.shape[:place], lying.shape[place + 1 :]
    suits = lying.is_contiguous() and sides[1].numel() >= SMALLEST and x.numel() > 0
    if not suits or x.dtype not in TYPES:
        return None
    top = _top(lying.reshape(sides[0].numel(), x.shape[1], -1))
    return top.reshape(*sides[0], *sides[1]).permute([p - (p > place) for p in back])


def _kernels_for(x: Tensor) -> ModuleType | None:
    return kernels("tops") if x.is_cuda else None


class _Top(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ours: Any = _kernels_for(x)
        y = ours.top(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x, y = ctx.saved_tensors
        if torch.is_grad_enabled() or is_transformed(grad):  # also: gradients of gradients
            holds = x == y[:, None]
            return (grad / holds.sum(1))[:, None] * holds
        ours: Any = _kernels_for(x)
        return ours.share(grad.contiguous(), x, y)


_top: Callable[[Tensor], Tensor] = _Top.apply

"""The maximum over every set."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symsets.ops._dispatch import kernel
from symsets.ops._register import operator, plain_gradients
from symsets.ops.layout import memory_order
from symsets.ops.triton import kernels

__all__ = ["set_max"]

SMALLEST = 64  # numbers of an element side by side


def set_max(x: Tensor) -> Tensor:
    r"""Return :math:`\max_j x_j` of sets ``x (B, N, *E)``, ``(B, *E)``.

    Where several elements hold the maximum, its gradient is shared between them. For the gradient
    torch writes down who holds the maximum, and counts them; the fast form finds both again while
    it shares the gradient out.
    """
    order, _ = memory_order(x)
    place = order.index(1)
    lying = x.permute(order)  # in the order of memory, which is several times faster
    rest = [axis - (axis > 1) for axis in order if axis != 1]
    undo = sorted(range(len(rest)), key=rest.__getitem__)
    inner = lying.shape[place + 1 :]
    if kernel("set_max", x) and inner.numel() >= SMALLEST and lying.is_contiguous() and len(x):
        outer = lying.shape[:place]
        top = _set_max(lying.reshape(outer.numel(), x.shape[1], -1))
        return top.view(*outer, *inner).permute(undo)
    return lying.amax(place).permute(undo)


def _formula(x: Tensor) -> Tensor:
    return x.amax(1)


def _setup(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs, output)


def _backward(ctx: Any, grad: Tensor) -> Tensor | None:
    x, y = ctx.saved_tensors
    if torch.is_grad_enabled():  # somebody wants gradients of gradients
        return plain_gradients(_formula, (x,), grad)[0]
    return _set_max_gradient(grad.contiguous(), x, y)


@operator(fake=lambda grad, x, y: torch.empty_like(x))
def _set_max_gradient(grad: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return kernels("set_max").share(grad, x, y)


@operator(fake=lambda x: x.new_empty(x.shape[0], x.shape[2]), setup=_setup, backward=_backward)
def _set_max(x: Tensor) -> Tensor:
    return kernels("set_max").top(x)

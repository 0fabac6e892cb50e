"""The maximum over every set."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symsets.ops._dispatch import kernel
from symsets.ops._register import operator, plain_gradients
from symsets.ops.reduce import reduce_sets
from symsets.ops.triton import kernels

SMALLEST = 64  # numbers of an element side by side


def set_max(x: Tensor) -> Tensor:
    r"""Return :math:`\max_j x_j` of sets ``x (B, N, *E)``, ``(B, *E)``.

    Where several elements hold the maximum, its gradient is shared between them. For the gradient
    torch writes down who holds the maximum, and counts them; the fast form finds both again while
    it shares the gradient out.
    """
    if kernel("set_max", x):
        return reduce_sets(x, _fast)
    return reduce_sets(x, Tensor.amax)


def _fast(x: Tensor, axis: int) -> Tensor:
    inner = x.shape[axis + 1 :]
    if inner.numel() < SMALLEST or not x.numel() or not x.is_contiguous():
        return x.amax(axis)
    top = _set_max(x.reshape(x.shape[:axis].numel(), x.shape[axis], -1))
    return top.view(*x.shape[:axis], *inner)


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

"""The sum over every set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from symsets.ops._dispatch import captures
from symsets.ops._register import operator
from symsets.ops.layout import memory_order

__all__ = ["reduce_sets", "set_sum"]


def set_sum(x: Tensor, size: float = 1.0) -> Tensor:
    r"""Return :math:`\sum_j x_j / \text{size}` of sets ``x (B, N, *E)``, ``(B, *E)``.

    The gradient of a sum is the same for all elements. Torch divides and rounds it when it is as
    large as the sets; the fast form, in captured steps, while it is as small as the sums.
    """
    if captures("set_sum", x):
        return reduce_sets(x, lambda t, axis: _set_sum(t, axis, size))
    return reduce_sets(x, lambda t, axis: _formula(t, axis, size))


def reduce_sets(x: Tensor, reduce: Callable[[Tensor, int], Tensor]) -> Tensor:
    """Reduce ``x (B, N, *E)`` over each set, in the order in which it lies in memory.

    For images that are stored channels-last this is several times faster than the order of the
    axes, and keeps the layout.
    """
    if x.is_contiguous() or x.ndim < 4:
        return reduce(x, 1)
    order, back = memory_order(x)
    place = back[1]
    rest = [p - (p > place) for axis, p in enumerate(back) if axis != 1]
    return reduce(x.permute(order), place).permute(rest)


def _formula(x: Tensor, axis: int, size: float) -> Tensor:
    if x.shape[axis] == size and not torch.is_grad_enabled() and x.is_floating_point():
        return x.mean(axis)  # one operation for two
    # A sum may be too large for float16 where what it is divided into is not.
    total = x.sum(axis, dtype=torch.float32) if x.dtype == torch.float16 else x.sum(axis)
    total = total if size == 1 else total / size
    rounded = total.dtype != x.dtype and x.dtype.is_floating_point
    return total.to(x.dtype) if rounded else total


def _setup(ctx: Any, inputs: tuple[Tensor, int, float], output: Tensor) -> None:
    x, ctx.axis, ctx.size = inputs
    ctx.num = x.shape[ctx.axis]


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
    share = (grad if ctx.size == 1 else grad / ctx.size).unsqueeze(ctx.axis)
    return share.expand(*(ctx.num if k == ctx.axis else -1 for k in range(share.ndim))), None, None


@operator(
    fake=lambda x, axis, size: x.new_empty([n for k, n in enumerate(x.shape) if k != axis]),
    setup=_setup,
    backward=_backward,
)
def _set_sum(x: Tensor, axis: int, size: float) -> Tensor:
    return (x.sum(axis, dtype=torch.float32) / size).to(x.dtype)

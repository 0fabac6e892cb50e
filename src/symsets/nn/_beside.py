"""Sets and their sums, whose gradients meet in one place."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from symsets._kernels import TYPES, kernels
from symsets._plain import is_bare, is_transformed
from symsets.nn._memory import LARGE, makes_new_memory, no_view
from symsets.sets import memory_order

__all__ = ["shares_gradient", "sum_beside"]


def shares_gradient(x: Any, element: nn.Module) -> bool:
    """Whether the gradients of sets ``x``, as elements and as sums, may be added in one place.

    So it is for dense sets of large elements on a GPU, for a map whose gradients nobody sees.
    """
    if not (isinstance(x, Tensor) and x.requires_grad and torch.is_grad_enabled() and x.ndim > 2):
        return False
    if is_transformed(x) or _kernels_for(x) is None:
        return False
    order, _ = memory_order(x)
    return (
        order[:2] == [0, 1]
        and x.permute(order).is_contiguous()
        and x.dtype in TYPES
        and x[:1, :1].numel() >= LARGE
        and x.shape[1] > 1
        and makes_new_memory(element)
        and is_bare(element)
    )


def sum_beside(x: Tensor, over: float) -> tuple[Tensor, Tensor]:
    """Return sets ``x (B, N, *E)`` and their sums divided by ``over``, whose gradients meet again.

    The gradient of the sums is added to that of the elements in its memory; autograd by itself
    makes it as large as the elements first. The sets must meet :func:`shares_gradient`.
    """
    return _sum_beside(x, over)


class _SumBeside(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, over: float) -> tuple[Tensor, Tensor]:
        order, back = memory_order(x)
        total = x.permute(order).sum(1, keepdim=True, dtype=torch.float32) / over
        ctx.order, ctx.back, ctx.over = order, back, over
        return x.view_as(x), total.to(x.dtype).permute(back).squeeze(1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, of_sum: Tensor) -> tuple[Tensor, None]:
        share = (of_sum / ctx.over).unsqueeze(1)
        if torch.is_grad_enabled() or is_transformed(grad, of_sum):  # also: gradients of gradients
            return grad + share, None
        y, message = (t.permute(ctx.order) for t in (no_view(grad), share.to(grad.dtype)))
        if y.is_contiguous():
            ours: Any = _kernels_for(grad)
            ours.add(y, message.contiguous())
            return y.permute(ctx.back), None
        return (y + message).permute(ctx.back), None


_sum_beside: Callable[[Tensor, float], tuple[Tensor, Tensor]] = _SumBeside.apply


def _kernels_for(x: Tensor) -> ModuleType | None:
    return kernels("messages") if x.is_cuda else None

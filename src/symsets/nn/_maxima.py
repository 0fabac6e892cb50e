"""Max-pooling of images that lie in memory pixel by pixel, by kernels of our own on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.nn.modules.utils import _pair

from symsets._kernels import TYPES, kernels
from symsets._plain import is_bare, is_transformed

__all__ = ["max_pooled"]

LARGEST = 15  # window: places in it are 8-bit numbers
MOST_CHANNELS = 2048
MOST_PIXELS = 2**31 - 2**12  # of all images, counted in 32 bits


def max_pooled(module: nn.MaxPool2d) -> Callable[[Tensor], Tensor]:
    """Return what applies ``module``: kernels, where windows touch and there are some.

    As in torch, the first of several maxima has the gradient.
    """

    def apply(x: Tensor) -> Tensor:
        if not _suits(x, module):
            return module(x)
        return _maxima(x.permute(0, 2, 3, 1), _window(module)).permute(0, 3, 1, 2)

    return apply


def _suits(x: Tensor, module: nn.MaxPool2d) -> bool:
    if is_transformed(x) or not is_bare(module) or _kernels_for(x) is None:
        return False
    window = _window(module)
    return (
        x.ndim == 4
        and x.dtype in TYPES
        and x.numel() > 0
        and x.shape[1] <= MOST_CHANNELS
        and x.numel() <= MOST_PIXELS * x.shape[1]
        and 0 < window <= min(LARGEST, *x.shape[2:])
        and x.permute(0, 2, 3, 1).is_contiguous()
    )


def _window(module: nn.MaxPool2d) -> int:
    """Return the side of square windows that touch and cover no border, 0 for others."""
    sides = {*_pair(module.kernel_size), *_pair(module.stride)}
    plain = (_pair(module.padding), _pair(module.dilation)) == ((0, 0), (1, 1))
    if len(sides) > 1 or not plain or module.return_indices or module.ceil_mode:
        return 0
    return sides.pop()


def _kernels_for(x: Tensor) -> ModuleType | None:
    return kernels("pools") if x.is_cuda else None


class _Maxima(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, window: int) -> Tensor:
        ours: Any = _kernels_for(x)
        y, which = ours.maxima(x, window)
        ctx.save_for_backward(which)
        ctx.shape = x.shape[1], x.shape[2], window
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (which,) = ctx.saved_tensors
        if torch.is_grad_enabled() or is_transformed(grad):  # also: gradients of gradients
            return _spread(grad, which, *ctx.shape), None
        ours: Any = _kernels_for(grad)
        return ours.spread(grad.contiguous(), which, *ctx.shape), None


_maxima: Callable[[Tensor, int], Tensor] = _Maxima.apply


def _spread(grad: Tensor, which: Tensor, height: int, width: int, window: int) -> Tensor:
    """Give the pixels ``(T, H, W, C)`` that hold the maxima their gradients, in torch."""
    steps = torch.arange(window**2, device=grad.device).view(window, window)
    here = which[..., None, None] == steps
    pixels = torch.where(here, grad[..., None, None], 0.0)  # (T, h, w, C, window, window)
    images, high, wide, channels = grad.shape
    high, wide = high * window, wide * window
    # Not flatten, which batches of gradients do not know.
    pixels = pixels.permute(0, 1, 4, 2, 5, 3).reshape(images, high, wide, channels)
    return pad(pixels, [0, 0, 0, width - wide, 0, height - high])

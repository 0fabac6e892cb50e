"""The maximum over square windows of pixels."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from symsets.ops._dispatch import kernel
from symsets.ops._register import operator
from symsets.ops.layout import pixel_rows
from symsets.ops.triton import kernels

LARGEST = 15  # window: places in it are 8-bit numbers
MOST_CHANNELS = 2048
MOST_PIXELS = 2**31 - 2**12  # of all images, counted in 32 bits


def max_pool(x: Tensor, window: int, stride: int | None = None) -> Tensor:
    """Return the maxima of images ``x (T, C, H, W)`` over windows of ``window²`` pixels.

    The first of several maxima has the gradient. The fast form serves windows that touch
    (``stride`` = ``window``) and images that lie channels-last.
    """
    if stride in (None, window) and kernel("max_pool", x) and _suits(x, window):
        return _max_pool(x.permute(0, 2, 3, 1), window)[0].permute(0, 3, 1, 2)
    return F.max_pool2d(x, window, stride)


def _suits(x: Tensor, window: int) -> bool:
    return (
        pixel_rows(x)
        and x.numel() <= MOST_PIXELS * x.shape[1]
        and x.shape[1] <= MOST_CHANNELS
        and window <= min(LARGEST, *x.shape[2:])
    )


def _setup(ctx: Any, inputs: tuple[Tensor, int], output: tuple[Tensor, Tensor]) -> None:
    x, window = inputs
    ctx.save_for_backward(output[1])
    ctx.shape = x.shape[1], x.shape[2], window


def _backward(ctx: Any, grad: Tensor, _: None) -> tuple[Tensor, None]:
    (which,) = ctx.saved_tensors
    if torch.is_grad_enabled():  # somebody wants gradients of gradients
        return _spread(grad, which, *ctx.shape), None
    return _max_pool_gradient(grad.contiguous(), which, *ctx.shape), None


def _spread(grad: Tensor, which: Tensor, height: int, width: int, window: int) -> Tensor:
    """Give the pixels ``(T, H, W, C)`` that hold the maxima their gradients, in torch."""
    steps = torch.arange(window**2, device=grad.device).view(window, window)
    here = which[..., None, None] == steps
    pixels = torch.where(here, grad[..., None, None], 0.0)  # (T, h, w, C, window, window)
    pixels = pixels.permute(0, 1, 4, 2, 5, 3).flatten(3, 4).flatten(1, 2)
    high, wide = pixels.shape[1:3]
    return F.pad(pixels, [0, 0, 0, width - wide, 0, height - high])


@operator(fake=lambda grad, _, high, wide, __: grad.new_empty(len(grad), high, wide, grad.shape[3]))
def _max_pool_gradient(grad: Tensor, which: Tensor, height: int, width: int, window: int) -> Tensor:
    return kernels("max_pool").spread(grad, which, height, width, window)


def _fake(x: Tensor, window: int) -> tuple[Tensor, Tensor]:
    y = x.new_empty(len(x), x.shape[1] // window, x.shape[2] // window, x.shape[3])
    return y, y.to(torch.uint8)


@operator(fake=_fake, setup=_setup, backward=_backward)
def _max_pool(x: Tensor, window: int) -> tuple[Tensor, Tensor]:
    return kernels("max_pool").maxima(x, window)

"""Normalisation of the channels of every pixel."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from symsets.ops._dispatch import kernel
from symsets.ops._register import operator, plain_gradients
from symsets.ops.layout import pixel_rows
from symsets.ops.triton import kernels

MOST_CHANNELS = 1024  # a program holds whole pixels


def channel_norm(x: Tensor, eps: float) -> Tensor:
    """Give the channels of every pixel of images ``x (T, C, H, W)`` mean 0 and variance 1.

    The fast form serves images that lie channels-last. Torch's own is made for many channels and
    few rows; images have few channels and many pixels.

    Args:
        x: The images.
        eps: Added to the variance.
    """
    pixels = x.permute(0, 2, 3, 1)
    if kernel("channel_norm", x) and pixel_rows(x) and x.shape[1] <= MOST_CHANNELS:
        return _channel_norm(pixels, eps).permute(0, 3, 1, 2)
    return _formula(pixels, eps).permute(0, 3, 1, 2)


def _formula(pixels: Tensor, eps: float) -> Tensor:
    return F.layer_norm(pixels, pixels.shape[-1:], eps=eps)


def _setup(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
    pixels, ctx.eps = inputs
    ctx.save_for_backward(pixels)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, None]:
    (pixels,) = ctx.saved_tensors
    if torch.is_grad_enabled():  # somebody wants gradients of gradients
        return plain_gradients(partial(_formula, eps=ctx.eps), [pixels], grad)[0], None
    return _channel_norm_gradient(grad.contiguous(), pixels, ctx.eps), None


@operator(fake=lambda grad, *_: torch.empty_like(grad))
def _channel_norm_gradient(grad: Tensor, pixels: Tensor, eps: float) -> Tensor:
    return kernels("channel_norm").gradient(grad, pixels, eps)


@operator(fake=lambda pixels, _: torch.empty_like(pixels), setup=_setup, backward=_backward)
def _channel_norm(pixels: Tensor, eps: float) -> Tensor:
    return kernels("channel_norm").normalised(pixels, eps)

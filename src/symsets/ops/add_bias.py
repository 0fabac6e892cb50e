"""A number for each channel, added to images."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symsets.ops._dispatch import kernel
from symsets.ops._register import operator
from symsets.ops.layout import pixel_rows
from symsets.ops.triton import kernels


def add_bias(x: Tensor, bias: Tensor) -> Tensor:
    """Add ``bias (C,)`` to images ``x (T, C, H, W)``; the result has the type of the images.

    The fast form serves images that lie channels-last. There torch's own addition, and its sum over
    all pixels, which is the gradient of the bias, take three to four times as long.
    """
    if kernel("add_bias", x) and pixel_rows(x):
        return _add_bias(x.permute(0, 2, 3, 1), bias).permute(0, 3, 1, 2)
    return x + bias.to(x.dtype)[:, None, None]


def _setup(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    ctx.of_bias = inputs[1].dtype


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None]:
    if not ctx.needs_input_grad[1]:
        return grad, None
    if torch.is_grad_enabled():  # somebody wants gradients of gradients
        return grad, grad.sum((0, 1, 2), dtype=ctx.of_bias)
    return grad, _add_bias_gradient(grad.contiguous()).to(ctx.of_bias)


@operator(fake=lambda grad: grad.new_empty(grad.shape[-1], dtype=torch.float32))
def _add_bias_gradient(grad: Tensor) -> Tensor:
    return kernels("add_bias").total(grad)


@operator(fake=lambda pixels, _: torch.empty_like(pixels), setup=_setup, backward=_backward)
def _add_bias(pixels: Tensor, bias: Tensor) -> Tensor:
    return kernels("add_bias").added(pixels, bias)

"""One half of the channels, weighted by the other."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symsets.ops._dispatch import kernel
from symsets.ops._register import operator, plain_gradients
from symsets.ops.layout import pixel_rows
from symsets.ops.triton import kernels

__all__ = ["gate"]


def gate(x: Tensor) -> Tensor:
    r"""Return :math:`a \cdot \sigma(b)` for images ``x (T, 2 C, H, W)`` of channels a, then b.

    The fast form serves images that lie channels-last: one pass through memory in each direction.
    """
    if kernel("gate", x) and pixel_rows(x) and x.shape[1] % 2 == 0:
        return _gate(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
    return _formula(x, axis=1)


def _formula(x: Tensor, axis: int = -1) -> Tensor:
    a, b = x.chunk(2, dim=axis)
    return a * b.sigmoid()


def _setup(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _backward(ctx: Any, grad: Tensor) -> Tensor | None:
    (pixels,) = ctx.saved_tensors
    if torch.is_grad_enabled():  # somebody wants gradients of gradients
        return plain_gradients(_formula, [pixels], grad)[0]
    return _gate_gradient(grad.contiguous(), pixels)


@operator(fake=lambda _, pixels: torch.empty_like(pixels))
def _gate_gradient(grad: Tensor, pixels: Tensor) -> Tensor:
    return kernels("gate").gradient(grad, pixels)


@operator(
    fake=lambda pixels: pixels.new_empty(*pixels.shape[:-1], pixels.shape[-1] // 2),
    setup=_setup,
    backward=_backward,
)
def _gate(pixels: Tensor) -> Tensor:
    return kernels("gate").gated(pixels)

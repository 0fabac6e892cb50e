"""One half of the channels, weighted by the other."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symsets.ops._dispatch import kernel
from symsets.ops._register import operator, plain_gradients
from symsets.ops.layout import pixel_rows
from symsets.ops.triton import kernels


def gate(x: Tensor, context: Tensor | None = None) -> Tensor:
    r"""Return :math:`a_i \cdot \sigma(b_i)` of :math:`(a_i, b_i) = x_i + c`.

    The fast form serves images that lie channels-last: one pass through memory in each direction,
    and the sum :math:`x_i + c` is never written.

    Args:
        x: Images ``(T, 2 C, H, W)`` of channels a, then b; those of a set one after the other.
        context: What is added to all images of a set, ``(B, 2 C, H, W)``, or None.
    """
    if _suits(x, context) and kernel("gate", x) and pixel_rows(x) and x.shape[1] % 2 == 0:
        given = (None if t is None else t.permute(0, 2, 3, 1) for t in (x, context))
        return _gate(*given).permute(0, 3, 1, 2)
    return _formula(x, context, axis=1)


def _suits(x: Tensor, context: Tensor | None) -> bool:
    """Whether a context, if there is one, lies as the images do and has all of their entries."""
    if context is None:
        return True
    return context.shape[1:] == x.shape[1:] and context.dtype == x.dtype and pixel_rows(context)


def _formula(x: Tensor, context: Tensor | None, axis: int = -1) -> Tensor:
    if context is not None:
        x = (x.unflatten(0, (len(context), -1)) + context.unsqueeze(1)).flatten(0, 1)
    a, b = x.chunk(2, dim=axis)
    return a * b.sigmoid()


def _setup(ctx: Any, inputs: tuple[Tensor, Tensor | None], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
    pixels, context = ctx.saved_tensors
    if torch.is_grad_enabled():  # somebody wants gradients of gradients
        of_pixels, of_context = plain_gradients(_formula, [pixels, context], grad)
        return of_pixels, of_context
    of_pixels, of_context = _gate_gradients(grad.contiguous(), pixels, context)
    return of_pixels, None if context is None else of_context


@operator(
    fake=lambda _, pixels, context: (
        torch.empty_like(pixels),
        pixels.new_empty(0) if context is None else torch.empty_like(context),
    )
)
def _gate_gradients(grad: Tensor, pixels: Tensor, context: Tensor | None) -> tuple[Tensor, Tensor]:
    return kernels("gate").gradients(grad, pixels, context)


@operator(
    fake=lambda pixels, _: pixels.new_empty(*pixels.shape[:-1], pixels.shape[-1] // 2),
    setup=_setup,
    backward=_backward,
)
def _gate(pixels: Tensor, context: Tensor | None) -> Tensor:
    return kernels("gate").gated(pixels, context)

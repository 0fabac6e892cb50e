"""Normalisation of the channels of every pixel, as kernels for GPUs. Needs triton.

Pictures lie in memory as ``(T, H, W, C)``. The backward pass computes mean and variance again: it
has to read the pixels in any case.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn.functional import layer_norm

from symsets.ops.triton import Pairs, ramp

__all__ = ["INSTEAD", "gradient", "normalised", "trial"]

INSTEAD = "channels are normalised by torch"
TILE = 4096  # numbers that a program reads


def normalised(x: Tensor, eps: float) -> Tensor:
    """Return ``x (…, C)`` with mean 0 and variance 1 along the last axis."""
    y = torch.empty_like(x)
    total, channels = x.numel() // x.shape[-1], x.shape[-1]
    tile = _tile(channels)
    with torch.cuda.device_of(x):
        _normalised[(triton.cdiv(total, tile["rows"]),)](x, y, total, eps, channels, **tile)
    return y


def gradient(grad: Tensor, x: Tensor, eps: float) -> Tensor:
    """Return the gradient of ``x``, given that of the result."""
    dx = torch.empty_like(x)
    total, channels = x.numel() // x.shape[-1], x.shape[-1]
    tile = _tile(channels)
    with torch.cuda.device_of(x):
        _gradient[(triton.cdiv(total, tile["rows"]),)](grad, x, dx, total, eps, channels, **tile)
    return dx


def trial(device: str = "cuda") -> Pairs:
    """Normalise two images, and their gradient."""
    x = ramp(0, 99, (2, 3, 5, 24), device).sin().requires_grad_()
    expected = layer_norm(x, [24], eps=1e-2)
    (of_x,) = torch.autograd.grad(expected.pow(3).sum(), x)
    x = x.detach()
    y = normalised(x, 1e-2)
    return [(y, expected.detach()), (gradient(3 * y.square(), x, 1e-2), of_x)]


def _tile(channels: int) -> dict[str, int]:
    columns = triton.next_power_of_2(channels)
    return {"rows": max(1, TILE // columns), "columns": columns}


@triton.jit
def _standard(x, place, here, eps, channels: tl.constexpr):
    """Read pixels; return them with mean 0 and variance 1, and what they were multiplied by."""
    value = tl.load(x + place, mask=here, other=0).to(tl.float32)
    mean = tl.sum(value, 1) / channels
    value = tl.where(here, value - mean[:, None], 0.0)
    scale = tl.rsqrt(tl.sum(value * value, 1) / channels + eps)[:, None]
    return value * scale, scale


@triton.jit
def _normalised(
    x, y, total, eps, channels: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)[:, None]
    column = tl.arange(0, columns)[None, :]
    here, place = (row < total) & (column < channels), row * channels + column
    value, _ = _standard(x, place, here, eps, channels)
    tl.store(y + place, value, mask=here)


@triton.jit
def _gradient(
    grad, x, dx, total, eps, channels: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)[:, None]
    column = tl.arange(0, columns)[None, :]
    here, place = (row < total) & (column < channels), row * channels + column
    value, scale = _standard(x, place, here, eps, channels)
    g = tl.load(grad + place, mask=here, other=0).to(tl.float32)
    mean = tl.sum(g, 1)[:, None] / channels
    along = tl.sum(g * value, 1)[:, None] / channels
    tl.store(dx + place, scale * (g - mean - value * along), mask=here)

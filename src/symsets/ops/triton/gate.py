"""One half of the channels, weighted by the other, as kernels for GPUs. Needs triton.

Pictures lie in memory as ``(T, H, W, 2 C)``, with a before b in every pixel.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from symsets.ops.triton import Pairs, ramp

__all__ = ["INSTEAD", "gated", "gradient", "trial"]

INSTEAD = "gates are torch's own"
TILE = 2048  # numbers of the result that a program makes


def gated(x: Tensor) -> Tensor:
    """Return a · σ(b) for ``x (…, 2 C)``."""
    y = x.new_empty(*x.shape[:-1], x.shape[-1] // 2)
    with torch.cuda.device_of(x):
        _gated[(triton.cdiv(y.numel(), TILE),)](x, y, y.numel(), y.shape[-1], TILE)
    return y


def gradient(grad: Tensor, x: Tensor) -> Tensor:
    """Return the gradient of ``x``, given that of the result."""
    dx = torch.empty_like(x)
    total = grad.numel()
    with torch.cuda.device_of(x):
        _gradient[(triton.cdiv(total, TILE),)](grad, x, dx, total, grad.shape[-1], TILE)
    return dx


def trial(device: str = "cuda") -> Pairs:
    """Weight the channels of two images, and their gradient."""
    x = (3 * ramp(0, 99, (2, 3, 5, 24), device).sin()).requires_grad_()
    a, b = x.chunk(2, -1)
    expected = a * b.sigmoid()
    (of_x,) = torch.autograd.grad(expected.square().sum(), x)
    y = gated(x.detach())
    return [(y, expected.detach()), (gradient(2 * y, x.detach()), of_x)]


@triton.jit
def _gated(x, y, total, half: tl.constexpr, tile: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * tile + tl.arange(0, tile)
    here = place < total
    source = x + place // half * (2 * half) + place % half
    a = tl.load(source, mask=here, other=0).to(tl.float32)
    b = tl.load(source + half, mask=here, other=0).to(tl.float32)
    tl.store(y + place, a * tl.sigmoid(b), mask=here)


@triton.jit
def _gradient(grad, x, dx, total, half: tl.constexpr, tile: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * tile + tl.arange(0, tile)
    here = place < total
    first = place // half * (2 * half) + place % half
    a = tl.load(x + first, mask=here, other=0).to(tl.float32)
    share = tl.sigmoid(tl.load(x + first + half, mask=here, other=0).to(tl.float32))
    g = tl.load(grad + place, mask=here, other=0).to(tl.float32)
    tl.store(dx + first, g * share, mask=here)
    tl.store(dx + first + half, g * a * share * (1 - share), mask=here)

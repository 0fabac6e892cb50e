"""The maximum over every set, as kernels for GPUs. Needs triton."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from symsets.ops.triton import Pairs, ramp

__all__ = ["INSTEAD", "share", "top", "trial"]

INSTEAD = "maxima over sets are torch's own"
BLOCK = 1024  # numbers of an element, for each block of threads at most


def top(x: Tensor) -> Tensor:
    """Return the maximum of ``x (B, N, F)`` over its second axis, ``(B, F)``."""
    sets, elements, width = x.shape
    y = x.new_empty(sets, width)
    with torch.cuda.device_of(x):
        grid, blocks, block = _layout(sets, width)
        _top[grid](x, y, elements, width, blocks, block)
    return y


def share(grad: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return the gradient of ``x``: that of the maximum ``y``, shared by all that hold it."""
    sets, elements, width = x.shape
    dx = torch.empty_like(x)
    with torch.cuda.device_of(x):
        grid, blocks, block = _layout(sets, width)
        _share[grid](grad, x, y, dx, elements, width, blocks, block)
    return dx


def trial(device: str = "cuda") -> Pairs:
    """Find the maxima of two sets, with ties, and their gradient."""
    x = (9 * ramp(0, 99, (2, 3, 3000), device).sin()).round()
    x.requires_grad_()
    expected = x.amax(1)
    (of_x,) = torch.autograd.grad(expected.square().sum(), x)
    y = top(x.detach())
    return [(y, expected.detach()), (share(2 * y, x.detach(), y), of_x)]


def _layout(sets: int, width: int) -> tuple[tuple[int], int, int]:
    block = min(BLOCK, triton.next_power_of_2(width))
    blocks = triton.cdiv(width, block)
    return (sets * blocks,), blocks, block  # one axis: a second would end at 65,535


@triton.jit
def _top(x, y, elements, width, blocks, block: tl.constexpr):
    own = tl.program_id(0).to(tl.int64) // blocks
    start = tl.program_id(0).to(tl.int64) % blocks * block
    place = start + tl.arange(0, block)
    inside = place < width
    first = x + own * elements * width + place
    best = tl.load(first, mask=inside, other=0)
    for element in range(1, elements):
        value = tl.load(first + element * width, mask=inside, other=0)
        best = tl.where((value > best) | (value != value), value, best)  # not a number: it wins
    tl.store(y + own * width + place, best, mask=inside)


@triton.jit
def _share(grad, x, y, dx, elements, width, blocks, block: tl.constexpr):
    own = tl.program_id(0).to(tl.int64) // blocks
    start = tl.program_id(0).to(tl.int64) % blocks * block
    place = start + tl.arange(0, block)
    inside = place < width
    first = own * elements * width + place
    best = tl.load(y + own * width + place, mask=inside, other=0)
    count = tl.zeros((block,), tl.float32)
    for element in range(elements):
        value = tl.load(x + first + element * width, mask=inside, other=0)
        count += (value == best).to(tl.float32)
    part = tl.load(grad + own * width + place, mask=inside, other=0).to(tl.float32) / count
    for element in range(elements):
        value = tl.load(x + first + element * width, mask=inside, other=0)
        tl.store(dx + first + element * width, part * (value == best).to(tl.float32), mask=inside)

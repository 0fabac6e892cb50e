"""A number for each channel, added to images, as kernels for GPUs. Needs triton.

Pictures lie in memory as ``(T, H, W, C)``. Sums over all pixels are float32, taken by a fixed
number of programs and added up in a fixed order, so results do not depend on chance.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from symsets.ops.triton import Pairs, ramp

__all__ = ["INSTEAD", "added", "total", "trial"]

INSTEAD = "biases are added by torch"
TILE = 4096  # numbers that a program reads at a time
PROGRAMS = 528  # that share a sum: four for each multiprocessor of a large GPU


def added(x: Tensor, bias: Tensor) -> Tensor:
    """Return ``x (…, C)`` plus ``bias (C,)``."""
    y = torch.empty_like(x)
    with torch.cuda.device_of(x):
        _added[(triton.cdiv(x.numel(), TILE),)](x, bias, y, x.numel(), x.shape[-1], TILE)
    return y


def total(x: Tensor) -> Tensor:
    """Return the sum of ``x (…, C)`` over all but the last axis, in float32."""
    channels = x.shape[-1]
    rows, width = x.numel() // channels, triton.next_power_of_2(channels)
    height = max(1, TILE // width)
    programs = min(PROGRAMS, triton.cdiv(rows, height))
    parts = torch.empty(programs, channels, dtype=torch.float32, device=x.device)
    with torch.cuda.device_of(x):
        _total[(programs,)](x, parts, rows, programs, channels, height, width)
    return parts.sum(0)


def trial(device: str = "cuda") -> Pairs:
    """Add to two images, and sum them up."""
    x, bias = ramp(0, 99, (2, 30, 50, 24), device).sin(), ramp(0, 9, (24,), device)
    return [(added(x, bias), x + bias), (total(x) / 100, x.sum((0, 1, 2)) / 100)]


@triton.jit
def _added(x, bias, y, size, channels: tl.constexpr, tile: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * tile + tl.arange(0, tile)
    here = place < size
    value = tl.load(x + place, mask=here, other=0).to(tl.float32)
    more = tl.load(bias + place % channels, mask=here, other=0).to(tl.float32)
    tl.store(y + place, value + more, mask=here)


@triton.jit
def _total(
    x, parts, rows, programs, channels: tl.constexpr, height: tl.constexpr, width: tl.constexpr
):
    program = tl.program_id(0)
    column = tl.arange(0, width)
    inside = column < channels
    sums = tl.zeros((height, width), tl.float32)
    for start in range(program * height, rows, programs * height):
        row = (start + tl.arange(0, height)).to(tl.int64)
        here = (row < rows)[:, None] & inside[None, :]
        place = row[:, None] * channels + column[None, :]
        sums += tl.load(x + place, mask=here, other=0).to(tl.float32)
    tl.store(parts + program * channels + column, tl.sum(sums, 0), mask=inside)

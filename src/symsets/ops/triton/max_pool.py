"""Maxima over square windows of pixels, as kernels for GPUs. Needs triton.

Pictures lie in memory as ``(T, H, W, C)``. Windows touch and do not overlap, so that every pixel
has one gradient at most, and the backward pass writes each once.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn.functional import max_pool2d

from symsets.ops.triton import Pairs, ramp

__all__ = ["INSTEAD", "maxima", "spread", "trial"]

INSTEAD = "pooling is torch's own"
TILE = 2048  # numbers of the result that a program makes


def maxima(x: Tensor, window: int) -> tuple[Tensor, Tensor]:
    """Return the maxima of ``x (T, H, W, C)`` and where in its window each lies: the first one."""
    images, height, width, channels = x.shape
    high, wide = height // window, width // window
    y = x.new_empty(images, high, wide, channels)
    which = torch.empty(y.shape, dtype=torch.uint8, device=x.device)
    total = images * high * wide
    with torch.cuda.device_of(x):
        tile = _tile(channels)
        _maxima[(triton.cdiv(total, tile["rows"]),)](
            x, y, which, total, height, width, high, wide, window, channels, **tile
        )
    return y, which


def spread(grad: Tensor, which: Tensor, height: int, width: int, window: int) -> Tensor:
    """Return the gradient of the pixels, given that of the maxima."""
    images, high, wide, channels = grad.shape
    x = grad.new_empty(images, height, width, channels)
    total = images * height * width
    with torch.cuda.device_of(x):
        tile = _tile(channels)
        _spread[(triton.cdiv(total, tile["rows"]),)](
            grad, which, x, total, height, width, high, wide, window, channels, **tile
        )
    return x


def trial(device: str = "cuda") -> Pairs:
    """Pool two images, with ties, and their gradient."""
    x = (3 * ramp(0, 99, (2, 7, 9, 24), device).sin()).round()
    x.requires_grad_()
    expected = max_pool2d(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)
    (of_x,) = torch.autograd.grad(expected.square().sum(), x)
    y, which = maxima(x.detach(), 2)
    return [(y, expected.detach()), (spread(2 * y, which, 7, 9, 2), of_x)]


def _tile(channels: int) -> dict[str, int]:
    columns = triton.next_power_of_2(channels)
    return {"rows": max(1, TILE // columns), "columns": columns}


@triton.jit
def _maxima(
    x, y, which, total, height, width, high, wide, window: tl.constexpr, channels: tl.constexpr,
    rows: tl.constexpr, columns: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * rows + tl.arange(0, rows)
    column = tl.arange(0, columns)[None, :]
    here = (row < total)[:, None] & (column < channels)
    image, up, left = row // (high * wide), row // wide % high, row % wide
    corner = ((image * height + up * window).to(tl.int64) * width + left * window) * channels
    best = tl.load(x + corner[:, None] + column, mask=here, other=0)
    first = tl.zeros((rows, columns), tl.uint8)
    for step in tl.static_range(1, window * window):
        ahead = ((step // window) * width + step % window) * channels
        value = tl.load(x + (corner + ahead)[:, None] + column, mask=here, other=0)
        better = (value > best) | (value != value)  # what is not a number wins
        best = tl.where(better, value, best)
        first = tl.where(better, step, first).to(tl.uint8)
    place = row.to(tl.int64)[:, None] * channels + column
    tl.store(y + place, best, mask=here)
    tl.store(which + place, first, mask=here)


@triton.jit
def _spread(
    grad, which, x, total, height, width, high, wide, window: tl.constexpr,
    channels: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * rows + tl.arange(0, rows)
    column = tl.arange(0, columns)[None, :]
    here = (row < total)[:, None] & (column < channels)
    image, up, left = row // (height * width), row // width % height, row % width
    inside = (up < high * window) & (left < wide * window)  # what no window reaches has none
    source = (image * high + up // window).to(tl.int64) * wide + left // window
    step = (up % window) * window + left % window
    place = source[:, None] * channels + column
    seen = here & inside[:, None]
    first = tl.load(which + place, mask=seen, other=255)
    value = tl.load(grad + place, mask=seen, other=0)
    value = tl.where(first.to(tl.int32) == step[:, None], value, 0)
    tl.store(x + row.to(tl.int64)[:, None] * channels + column, value, mask=here)

"""One half of the channels, weighted by the other, as kernels for GPUs. Needs triton.

Pictures lie in memory as ``(T, H, W, 2 C)``, with a before b in every pixel, those of a set one
after the other. A program makes one part of all pictures of a set, so it reads the context once.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from symsets.ops.triton import Pairs, ramp

__all__ = ["INSTEAD", "gated", "gradients", "trial"]

INSTEAD = "gates are torch's own"
TILE = 2048  # numbers of one picture of the result that a program makes


def gated(x: Tensor, context: Tensor | None) -> Tensor:
    """Return a · σ(b) for ``x (T, …, 2 C)``, with ``context (B, …, 2 C)`` added before."""
    y = x.new_empty(*x.shape[:-1], x.shape[-1] // 2)
    grid, sizes = _divided(x, context)
    with torch.cuda.device_of(x):
        _gated[grid](x, x if context is None else context, y, **sizes)
    return y


def gradients(grad: Tensor, x: Tensor, context: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the gradients of ``x`` and of the context, which is empty where there is none."""
    dx = torch.empty_like(x)
    dcontext = x.new_empty(0) if context is None else torch.empty_like(context)
    grid, sizes = _divided(x, context)
    with torch.cuda.device_of(x):
        _gradients[grid](grad, x, x if context is None else context, dx, dcontext, **sizes)
    return dx, dcontext


def _divided(x: Tensor, context: Tensor | None) -> tuple[tuple[int], dict[str, int | bool]]:
    """Return how many programs share the work, and what they are told of its sizes."""
    num_sets, num = (1, 1) if context is None else (len(context), len(x) // len(context))
    size, half = x.numel() // (2 * num_sets * num), x.shape[-1] // 2  # numbers made of a picture
    tiles = triton.cdiv(size, TILE)
    told = {"num": num, "size": size, "tiles": tiles, "half": half, "tile": TILE}
    return (num_sets * tiles,), told | {"hears": context is not None}


def trial(device: str = "cuda") -> Pairs:
    """Weight the channels of two sets of three images, with a context and without, and back."""
    pairs: Pairs = []
    x = (3 * ramp(0, 99, (6, 5, 7, 24), device).sin()).requires_grad_()
    told = (2 * ramp(0, 33, (2, 5, 7, 24), device).cos()).requires_grad_()
    for context in (None, told):
        total = x if context is None else x + context.repeat_interleave(3, 0)
        a, b = total.chunk(2, -1)
        expected = a * b.sigmoid()
        inputs = [x] if context is None else [x, context]
        wanted = torch.autograd.grad(expected.square().sum(), inputs)
        given = x.detach(), None if context is None else context.detach()
        y = gated(*given)
        pairs += [(y, expected.detach()), *zip(gradients(2 * y, *given), wanted, strict=False)]
    return pairs


@triton.jit
def _gated(
    x, context, y, num, size, tiles, half: tl.constexpr, tile: tl.constexpr, hears: tl.constexpr
):
    group, place = tl.program_id(0) // tiles, tl.program_id(0) % tiles
    place = place.to(tl.int64) * tile + tl.arange(0, tile)  # in one picture of the result
    here, first = place < size, place // half * (2 * half) + place % half
    more_a = tl.zeros((tile,), tl.float32)
    more_b = tl.zeros((tile,), tl.float32)
    if hears:
        source = context + group.to(tl.int64) * 2 * size + first
        more_a += tl.load(source, mask=here, other=0).to(tl.float32)
        more_b += tl.load(source + half, mask=here, other=0).to(tl.float32)
    for k in range(num):
        picture = (group * num + k).to(tl.int64) * size
        source = x + 2 * picture + first
        a = tl.load(source, mask=here, other=0).to(tl.float32) + more_a
        b = tl.load(source + half, mask=here, other=0).to(tl.float32) + more_b
        tl.store(y + picture + place, a * tl.sigmoid(b), mask=here)


@triton.jit
def _gradients(
    grad,
    x,
    context,
    dx,
    dcontext,
    num,
    size,
    tiles,
    half: tl.constexpr,
    tile: tl.constexpr,
    hears: tl.constexpr,
):
    group, place = tl.program_id(0) // tiles, tl.program_id(0) % tiles
    place = place.to(tl.int64) * tile + tl.arange(0, tile)
    here, first = place < size, place // half * (2 * half) + place % half
    more_a = tl.zeros((tile,), tl.float32)
    more_b = tl.zeros((tile,), tl.float32)
    sum_a = tl.zeros((tile,), tl.float32)
    sum_b = tl.zeros((tile,), tl.float32)
    of_set = group.to(tl.int64) * 2 * size + first
    if hears:
        more_a += tl.load(context + of_set, mask=here, other=0).to(tl.float32)
        more_b += tl.load(context + of_set + half, mask=here, other=0).to(tl.float32)
    for k in range(num):
        picture = (group * num + k).to(tl.int64) * size
        source = 2 * picture + first
        a = tl.load(x + source, mask=here, other=0).to(tl.float32) + more_a
        b = tl.load(x + source + half, mask=here, other=0).to(tl.float32) + more_b
        g = tl.load(grad + picture + place, mask=here, other=0).to(tl.float32)
        share = tl.sigmoid(b)
        da, db = g * share, g * a * share * (1 - share)
        tl.store(dx + source, da, mask=here)
        tl.store(dx + source + half, db, mask=here)
        sum_a += da
        sum_b += db
    if hears:
        tl.store(dcontext + of_set, sum_a, mask=here)
        tl.store(dcontext + of_set + half, sum_b, mask=here)

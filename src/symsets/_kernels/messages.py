"""A message added to all elements of its set, in place, as a kernel for GPUs. Needs triton."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from symsets._kernels import Pairs, ramp

__all__ = ["INSTEAD", "add", "trial"]

INSTEAD = "messages are added by torch"
BLOCK = 2048  # numbers of an element, for each block of threads


def add(y: Tensor, message: Tensor) -> None:
    """Add a message ``(B, 1, *F)`` to elements ``(B, N, *F)``, both without gaps in memory."""
    sets, elements = y.shape[:2]
    width = message.numel() // sets
    with torch.cuda.device_of(y):
        blocks = triton.cdiv(width, BLOCK)
        _add[(sets * blocks,)](y, message, elements, width, blocks, BLOCK)


def trial(device: str = "cuda") -> Pairs:
    """Add a message to two sets."""
    y = ramp(-3, 3, (2, 3, 3000), device)
    message = y[:, :1].cos()
    expected = y + message
    add(y, message)
    return [(y, expected)]


@triton.jit
def _add(y, message, elements, width, blocks, block: tl.constexpr):
    own = tl.program_id(0).to(tl.int64) // blocks  # one axis: a second would end at 65,535
    start = tl.program_id(0).to(tl.int64) % blocks * block
    place = tl.arange(0, block)
    inside = place < width - start
    heard = tl.load(message + own * width + start + place, mask=inside, other=0).to(tl.float32)
    for element in range(elements):
        here = y + (own * elements + element) * width + start + place
        value = tl.load(here, mask=inside, other=0).to(tl.float32)
        tl.store(here, value + heard, mask=inside)

"""The product of a sparse matrix and a wide dense one, as a kernel for GPUs. Needs triton."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from symsets.ops.triton import Pairs, ramp

__all__ = ["INSTEAD", "spmm", "trial"]

INSTEAD = "sparse products go through cuSPARSE"
BLOCK = 2048  # bytes of a row of the result, for each block of threads


def spmm(starts: Tensor, columns: Tensor, values: Tensor, x: Tensor) -> Tensor:
    """Multiply a matrix in CSR form with ``x (columns, K)``; sums are float32, or float64."""
    rows, width = len(starts) - 1, x.shape[1]
    y = x.new_empty(rows, width)
    wide = tl.float64 if x.dtype == torch.float64 else tl.float32
    block = BLOCK // x.element_size()
    with torch.cuda.device_of(x):
        grid = (rows, triton.cdiv(width, block))
        _kernel[grid](starts, columns, values, x, y, width, wide, block)
    return y


def trial(device: str = "cuda") -> Pairs:
    """Multiply a small matrix."""
    starts = torch.tensor([0, 2, 2, 5], dtype=torch.int32, device=device)
    columns = torch.tensor([0, 3, 1, 1, 2], dtype=torch.int32, device=device)
    values = ramp(-1, 2, (5,), device)
    rows = torch.tensor([0, 0, 2, 2, 2], device=device)
    dense = torch.zeros(3, 4, dtype=values.dtype, device=device).index_put_(
        (rows, columns), values, accumulate=True
    )
    x = ramp(-3, 3, (4, 600), device)
    expected = (dense[:, :, None] * x).sum(1)  # a product might round more
    return [(spmm(starts, columns, values, x), expected)]


@triton.jit
def _kernel(starts, columns, values, x, y, width, wide: tl.constexpr, block: tl.constexpr):
    row = tl.program_id(0)
    place = tl.program_id(1) * block + tl.arange(0, block)
    inside = place < width
    start = tl.load(starts + row)
    stop = tl.load(starts + row + 1)
    total = tl.zeros((block,), wide)
    for entry in range(start, stop):
        column = tl.load(columns + entry).to(tl.int64)
        value = tl.load(values + entry).to(wide)
        total += value * tl.load(x + column * width + place, mask=inside, other=0).to(wide)
    tl.store(y + row.to(tl.int64) * width + place, total, mask=inside)

"""Batch normalisation of rows and the activation after it, as kernels for GPUs. Needs triton.

Every pass runs once through memory. Sums are float32, taken by a fixed number of programs and added
up in a fixed order, so that results do not depend on chance. Every program measures distances from
its first row, and then those of its mean from the mean of all: numbers whose mean is far from zero
keep their variance, and no single row can spoil it.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn.functional import batch_norm, elu

from symsets._kernels import Pairs, ramp

__all__ = ["INSTEAD", "gradients", "measure", "normalise", "trial"]

INSTEAD = "batch normalisation is torch's own"
TILE = 4096  # numbers that a program holds at a time: more would not fit into registers
PROGRAMS = 1056  # that share a sum: eight for each multiprocessor of a large GPU
WARPS = 8


def measure(
    x: Tensor, eps: float, momentum: float, running: tuple[Tensor, Tensor] | None
) -> tuple[Tensor, Tensor]:
    """Return mean and 1/√(variance + eps) of the columns of ``x (R, C)``.

    Running mean and variance move on by a share ``momentum``.
    """
    rows, columns = x.shape
    tile, programs = _layout(x)
    parts = torch.empty(2, programs, columns, dtype=torch.float32, device=x.device)
    counts = torch.empty(programs, dtype=torch.float32, device=x.device)
    mean, scale = torch.empty(2, columns, dtype=torch.float32, device=x.device)
    running_mean, running_var = running or (mean, scale)
    block = min(32, triton.next_power_of_2(columns))
    with torch.cuda.device_of(x):
        _parts[(programs,)](x, parts, counts, rows, programs, columns, **tile)
        _statistics[(triton.cdiv(columns, block),)](
            parts, counts, mean, scale, running_mean, running_var, rows, programs, eps, momentum,
            columns, running is not None, block, 128,
        )  # fmt: skip
    return mean, scale


def normalise(
    x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, scale: Tensor, activation: str, a: float
) -> Tensor:
    """Return the activation of ``(x - mean) * scale * weight + bias``."""
    y = torch.empty_like(x)
    tile, _ = _layout(x)
    with torch.cuda.device_of(x):
        grid = (triton.cdiv(len(x), tile["height"]),)
        _normalise[grid](x, y, weight, bias, mean, scale, len(x), a, activation, x.shape[1], **tile)
    return y


def gradients(
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    scale: Tensor,
    activation: str,
    a: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of rows, weight and bias, given that of the result."""
    rows, columns = x.shape
    tile, programs = _layout(x)
    sums = torch.empty(2, programs, columns, dtype=torch.float32, device=x.device)
    dx = torch.empty_like(x)
    given = (grad, x, weight, bias, mean, scale)
    with torch.cuda.device_of(x):
        _gradient_sums[(programs,)](*given, sums, rows, a, programs, activation, columns, **tile)
        of_bias, of_weight = sums.sum(1)
        grid = (triton.cdiv(rows, tile["height"]),)
        _gradient[grid](*given, of_weight, of_bias, dx, rows, a, activation, columns, **tile)
    return dx, of_weight.to(weight.dtype), of_bias.to(bias.dtype)


def trial(device: str = "cuda") -> Pairs:
    """Normalise some rows, and their gradient."""
    x = ramp(0, 999, (3000, 24), device).sin() + 5
    weight, bias, (mean, var) = x[0].clone(), x[1] - 5, x[2:4].clone()
    running = mean.clone(), var.clone()
    inputs = [t.requires_grad_() for t in (x, weight, bias)]
    expected = elu(batch_norm(x, mean, var, weight, bias, training=True))
    of_inputs = torch.autograd.grad(expected.sin().sum(), inputs)
    x, weight, bias = (t.detach() for t in inputs)
    parts = weight, bias, *measure(x, 1e-5, 0.1, running)
    y = normalise(x, *parts, "elu", 1.0)
    dx, *sums = gradients(y.cos(), x, *parts, "elu", 1.0)
    pairs = [(y, expected.detach()), (running[0], mean), (running[1], var), (dx, of_inputs[0])]
    return pairs + [(a / len(x), b / len(x)) for a, b in zip(sums, of_inputs[1:], strict=True)]


def _layout(x: Tensor) -> tuple[dict[str, int], int]:
    """Return the shape of a tile of ``x``, and the number of programs for a sum."""
    width = triton.next_power_of_2(x.shape[1])
    height = max(1, TILE // width)
    programs = min(PROGRAMS, triton.cdiv(len(x), height))
    return {"height": height, "width": width, "num_warps": WARPS}, programs


@triton.jit
def _parts(
    x, parts, counts, rows, programs, columns: tl.constexpr, height: tl.constexpr,
    width: tl.constexpr,
):  # fmt: skip
    """Store the mean of a program's rows, the sum of squares about it, and how many they are."""
    program = tl.program_id(0)
    column = tl.arange(0, width)
    inside = column < columns
    own = x + (program * height).to(tl.int64) * columns
    first = tl.load(own + column, mask=inside, other=0).to(tl.float32)
    count = tl.zeros((height,), tl.float32)
    total = tl.zeros((height, width), tl.float32)
    squares = tl.zeros((height, width), tl.float32)
    for start in range(program * height, rows, programs * height):
        row = start + tl.arange(0, height)
        here = (row < rows)[:, None] & inside[None, :]
        place = row.to(tl.int64)[:, None] * columns + column[None, :]
        far = tl.load(x + place, mask=here, other=0).to(tl.float32) - first[None, :]
        far = tl.where(here, far, 0)
        count += (row < rows).to(tl.float32)
        total += far
        squares += far * far
    num = tl.sum(count, 0)
    far = tl.sum(total, 0) / num
    about = tl.sum(squares, 0) - num * far * far
    tl.store(counts + program, num)
    tl.store(parts + program * columns + column, first + far, mask=inside)
    tl.store(parts + (programs + program) * columns + column, about, mask=inside)


@triton.jit
def _statistics(
    parts, counts, mean, scale, running_mean, running_var, rows, programs, eps, momentum,
    columns: tl.constexpr, running: tl.constexpr, block: tl.constexpr,
    height: tl.constexpr,
):  # fmt: skip
    column = tl.program_id(0) * block + tl.arange(0, block)
    inside = column < columns
    first = tl.load(parts + column, mask=inside, other=0)
    total = tl.zeros((height, block), tl.float32)
    for start in range(0, programs, height):
        row = start + tl.arange(0, height)
        here = (row < programs)[:, None] & inside[None, :]
        num = tl.load(counts + row, mask=row < programs, other=0)[:, None]
        own = tl.load(parts + row[:, None] * columns + column[None, :], mask=here, other=0)
        total += num * (own - first[None, :])
    middle = first + tl.sum(total, 0) / rows
    squares = tl.zeros((height, block), tl.float32)
    for start in range(0, programs, height):
        row = start + tl.arange(0, height)
        here = (row < programs)[:, None] & inside[None, :]
        num = tl.load(counts + row, mask=row < programs, other=0)[:, None]
        place = row[:, None] * columns + column[None, :]
        far = tl.load(parts + place, mask=here, other=0) - middle[None, :]
        squares += num * far * far
        squares += tl.load(parts + programs * columns + place, mask=here, other=0)
    variance = tl.sum(squares, 0) / rows
    variance = tl.where(variance < 0, 0, variance)
    tl.store(mean + column, middle, mask=inside)
    tl.store(scale + column, 1 / tl.sqrt(variance + eps), mask=inside)
    if running:
        old = tl.load(running_mean + column, mask=inside, other=0).to(tl.float32)
        tl.store(running_mean + column, (1 - momentum) * old + momentum * middle, mask=inside)
        old = tl.load(running_var + column, mask=inside, other=0).to(tl.float32)
        unbiased = variance * (rows / (rows - 1.0))
        tl.store(running_var + column, (1 - momentum) * old + momentum * unbiased, mask=inside)


@triton.jit
def _normalise(
    x, y, weight, bias, mean, scale, rows, a, activation: tl.constexpr, columns: tl.constexpr,
    height: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    column = tl.arange(0, width)
    inside = column < columns
    row = tl.program_id(0) * height + tl.arange(0, height)
    here = (row < rows)[:, None] & inside[None, :]
    place = row.to(tl.int64)[:, None] * columns + column[None, :]
    mu = tl.load(mean + column, mask=inside, other=0)
    slope = tl.load(scale + column, mask=inside, other=0)
    slope *= tl.load(weight + column, mask=inside, other=0).to(tl.float32)
    shift = tl.load(bias + column, mask=inside, other=0).to(tl.float32)
    value = tl.load(x + place, mask=here, other=0).to(tl.float32)
    value = (value - mu[None, :]) * slope[None, :] + shift[None, :]
    if activation == "relu":
        value = tl.where(value <= 0, 0, value)  # what is not a number stays that
    elif activation == "elu":
        value = tl.where(value <= 0, a * (tl.exp(value) - 1), value)
    tl.store(y + place, value, mask=here)


@triton.jit
def _slopes(
    grad, x, weight, bias, mean, scale, a, place, column, here, inside, activation: tl.constexpr,
):  # fmt: skip
    """Return the gradient before the activation, and the normalised numbers."""
    mu = tl.load(mean + column, mask=inside, other=0)
    slope = tl.load(scale + column, mask=inside, other=0)
    value = (tl.load(x + place, mask=here, other=0).to(tl.float32) - mu[None, :]) * slope[None, :]
    g = tl.load(grad + place, mask=here, other=0).to(tl.float32)
    if activation != "none":
        factor = tl.load(weight + column, mask=inside, other=0).to(tl.float32)
        shift = tl.load(bias + column, mask=inside, other=0).to(tl.float32)
        u = value * factor[None, :] + shift[None, :]
        if activation == "relu":
            g = tl.where(u <= 0, 0, g)
        elif activation == "elu":
            g = tl.where(u <= 0, g * a * tl.exp(u), g)
    return g, value


@triton.jit
def _gradient_sums(
    grad, x, weight, bias, mean, scale, sums, rows, a, programs, activation: tl.constexpr,
    columns: tl.constexpr, height: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    column = tl.arange(0, width)
    inside = column < columns
    total = tl.zeros((height, width), tl.float32)
    products = tl.zeros((height, width), tl.float32)
    for start in range(program * height, rows, programs * height):
        row = start + tl.arange(0, height)
        here = (row < rows)[:, None] & inside[None, :]
        place = row.to(tl.int64)[:, None] * columns + column[None, :]
        g, value = _slopes(
            grad, x, weight, bias, mean, scale, a, place, column, here, inside, activation
        )
        total += g
        products += g * value  # no gradient outside
    tl.store(sums + program * columns + column, tl.sum(total, 0), mask=inside)
    tl.store(sums + (programs + program) * columns + column, tl.sum(products, 0), mask=inside)


@triton.jit
def _gradient(
    grad, x, weight, bias, mean, scale, of_weight, of_bias, dx, rows, a,
    activation: tl.constexpr, columns: tl.constexpr, height: tl.constexpr,
    width: tl.constexpr,
):  # fmt: skip
    column = tl.arange(0, width)
    inside = column < columns
    row = tl.program_id(0) * height + tl.arange(0, height)
    here = (row < rows)[:, None] & inside[None, :]
    place = row.to(tl.int64)[:, None] * columns + column[None, :]
    g, value = _slopes(
        grad, x, weight, bias, mean, scale, a, place, column, here, inside, activation
    )
    slope = tl.load(scale + column, mask=inside, other=0)
    slope *= tl.load(weight + column, mask=inside, other=0).to(tl.float32)
    along = tl.load(of_weight + column, mask=inside, other=0) / rows
    level = tl.load(of_bias + column, mask=inside, other=0) / rows
    result = (g - level[None, :] - value * along[None, :]) * slope[None, :]
    tl.store(dx + place, result, mask=here)

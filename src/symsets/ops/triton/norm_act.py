"""Batch normalisation of a sum and the activation after it, as kernels for GPUs. Needs triton.

Elements lie in memory as rows of channels, ``(outer, N, inner, C)``, the context of their sets as
``(outer, inner, C)``. A program takes some rows of the context and, for each, those of all N
elements; without a context N is 1. Every pass runs once through memory, and the sum of elements and
context is never written there.

Sums are float32, taken by a fixed number of programs and added up in a fixed order, so results do
not depend on chance. Every program measures distances from its first row, and the last step those
of its mean from the mean of all: numbers whose mean is far from zero keep their variance.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from symsets.ops.triton import Pairs, ramp

__all__ = ["INSTEAD", "apply", "gradients", "moments", "trial"]

INSTEAD = "batch normalisation is torch's own"
TILE = 4096  # numbers that a program holds at a time: more would not fit into registers
PROGRAMS = 528  # that share a sum: four for each multiprocessor of a large GPU
WARPS = 8
Shape = tuple[int, int]  # N and inner


def moments(
    x: Tensor,
    context: Tensor | None,
    shape: Shape,
    eps: float,
    momentum: float,
    running: tuple[Tensor, Tensor] | None,
) -> tuple[Tensor, Tensor]:
    """Return mean and 1/√(variance + eps) of the columns of ``x (R, C)`` plus its context.

    Running mean and variance move on by a share ``momentum``.
    """
    rows, columns = x.shape
    tile, tiles = _tiles(x, shape)
    programs = min(PROGRAMS, tiles)
    parts = torch.empty(2, programs, columns, dtype=torch.float32, device=x.device)
    counts = torch.empty(programs, dtype=torch.float32, device=x.device)
    mean, scale = (x.new_empty(columns, dtype=torch.float32) for _ in range(2))
    running_mean, running_var = running or (mean, scale)
    with torch.cuda.device_of(x):
        _moments[(programs,)](
            x, *_context(context, x), parts, counts, rows, *shape, programs, columns, **tile
        )
        _statistics[(triton.cdiv(columns, 8),)](
            parts, counts, mean, scale, running_mean, running_var, rows, programs, eps, momentum,
            columns, running is not None, 8, triton.next_power_of_2(programs),
        )  # fmt: skip
    return mean, scale


def apply(
    x: Tensor,
    context: Tensor | None,
    shape: Shape,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    scale: Tensor,
    activation: str,
    alpha: float,
) -> Tensor:
    """Return the activation of ``(x + context - mean) * scale * weight + bias``."""
    y = torch.empty_like(x)
    tile, tiles = _tiles(x, shape)
    with torch.cuda.device_of(x):
        _apply[(tiles,)](
            x, *_context(context, x), y, weight, bias, mean, scale, len(x), *shape, alpha,
            activation, x.shape[1], **tile,
        )  # fmt: skip
    return y


def gradients(
    grad: Tensor,
    x: Tensor,
    context: Tensor | None,
    shape: Shape,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    scale: Tensor,
    activation: str,
    alpha: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of rows, context (empty without one), weight and bias."""
    rows, columns = x.shape
    tile, tiles = _tiles(x, shape)
    programs = min(PROGRAMS, tiles)
    sums = torch.empty(2, programs, columns, dtype=torch.float32, device=x.device)
    dx = torch.empty_like(x)
    dcontext = x.new_empty(0) if context is None else torch.empty_like(context)
    given = (grad, x, *_context(context, x), weight, bias, mean, scale)
    with torch.cuda.device_of(x):
        _gradient_sums[(programs,)](
            *given, sums, rows, *shape, alpha, programs, activation, columns, **tile
        )
        of_bias, of_weight = (part.sum(0) for part in sums)  # outputs must not share memory
        _gradient[(tiles,)](
            *given, of_weight, of_bias, dx, dcontext, rows, *shape, alpha, activation, columns,
            **tile,
        )  # fmt: skip
    return dx, dcontext, of_weight.to(weight.dtype), of_bias.to(bias.dtype)


def trial(device: str = "cuda") -> Pairs:
    """Normalise some sets with their context, and the gradient."""
    from torch.nn.functional import batch_norm, elu

    x = ramp(0, 999, (6, 5, 70, 24), device).sin() + 5
    context = ramp(0, 99, (6, 70, 24), device).cos()
    weight, bias, mean, var = (ramp(k, 3, (24,), device).sin() + 1.5 for k in range(4))
    running = mean.clone(), var.clone()
    inputs = [t.requires_grad_() for t in (x, context, weight, bias)]
    total = (x + context[:, None]).reshape(-1, 24)
    expected = elu(batch_norm(total, mean, var, weight, bias, training=True))
    of_inputs = torch.autograd.grad(expected.sin().sum(), inputs)
    x, context, weight, bias = (t.detach() for t in inputs)
    given = x.reshape(-1, 24), context.reshape(-1, 24), (5, 70)
    found = moments(*given, 1e-5, 0.1, running)
    y = apply(*given, weight, bias, *found, "elu", 1.0)
    dx, dcontext, *sums = gradients(y.cos(), *given, weight, bias, *found, "elu", 1.0)
    pairs = [(y, expected.detach()), (running[0], mean), (running[1], var)]
    pairs += [(dx.view_as(x), of_inputs[0]), (dcontext.view_as(context), of_inputs[1])]
    return pairs + [(a / len(y), b / len(y)) for a, b in zip(sums, of_inputs[2:], strict=True)]


def _context(context: Tensor | None, x: Tensor) -> tuple[Tensor, bool]:
    """Return what kernels read the context from, and whether there is one."""
    return (x, False) if context is None else (context, True)


def _tiles(x: Tensor, shape: Shape) -> tuple[dict[str, int], int]:
    """Return the shape of a tile of rows of the context, and how many tiles there are."""
    width = triton.next_power_of_2(x.shape[1])
    height = max(1, TILE // width)
    tiles = triton.cdiv(len(x) // shape[0], height)
    return {"height": height, "width": width, "num_warps": WARPS}, tiles


@triton.jit
def _first_rows(start, rows, num, inner, height: tl.constexpr):
    """Return rows of the context, whether they exist, and those of the first element of each."""
    own = start + tl.arange(0, height)
    first = (own // inner).to(tl.int64) * num * inner + own % inner
    return own.to(tl.int64), own < rows // num, first


@triton.jit
def _moments(
    x, context, has_context: tl.constexpr, parts, counts, rows, num, inner, programs,
    columns: tl.constexpr, height: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    """Store the mean of a program's rows, the sum of squares about it, and how many they are."""
    program = tl.program_id(0)
    column = tl.arange(0, width)
    inside = column < columns
    own = (program * height).to(tl.int64)
    first = own // inner * num * inner + own % inner
    origin = tl.load(x + first * columns + column, mask=inside, other=0).to(tl.float32)
    if has_context:
        origin += tl.load(context + own * columns + column, mask=inside, other=0).to(tl.float32)
    count = tl.zeros((height,), tl.float32)
    total = tl.zeros((height, width), tl.float32)
    squares = tl.zeros((height, width), tl.float32)
    for start in range(program * height, rows // num, programs * height):
        own, there, first = _first_rows(start, rows, num, inner, height)
        here = there[:, None] & inside[None, :]
        shift = -origin[None, :]
        if has_context:
            place = own[:, None] * columns + column[None, :]
            shift += tl.load(context + place, mask=here, other=0).to(tl.float32)
        for n in range(num):
            place = (first + n * inner)[:, None] * columns + column[None, :]
            far = tl.load(x + place, mask=here, other=0).to(tl.float32) + shift
            far = tl.where(here, far, 0)
            total += far
            squares += far * far
        count += there.to(tl.float32) * num
    size = tl.sum(count, 0)
    far = tl.sum(total, 0) / size
    about = tl.sum(squares, 0) - size * far * far
    tl.store(counts + program, size)
    tl.store(parts + program * columns + column, origin + far, mask=inside)
    tl.store(parts + (programs + program) * columns + column, about, mask=inside)


@triton.jit
def _statistics(
    parts, counts, mean, scale, running_mean, running_var, rows, programs, eps, momentum,
    columns: tl.constexpr, running: tl.constexpr, block: tl.constexpr, height: tl.constexpr,
):  # fmt: skip
    column = tl.program_id(0) * block + tl.arange(0, block)
    inside = column < columns
    program = tl.arange(0, height)
    here = (program < programs)[:, None] & inside[None, :]
    place = program[:, None] * columns + column[None, :]
    size = tl.load(counts + program, mask=program < programs, other=0)[:, None]
    own = tl.load(parts + place, mask=here, other=0)
    about = tl.load(parts + programs * columns + place, mask=here, other=0)
    first = tl.load(parts + column, mask=inside, other=0)
    middle = first + tl.sum(size * (own - first[None, :]), 0) / rows
    far = own - middle[None, :]
    variance = tl.sum(size * far * far + about, 0) / rows
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
def _line(weight, bias, mean, scale, column, inside):
    """Return slope and intercept that normalise a column."""
    slope = tl.load(scale + column, mask=inside, other=0)
    slope *= tl.load(weight + column, mask=inside, other=0).to(tl.float32)
    level = tl.load(bias + column, mask=inside, other=0).to(tl.float32)
    return slope, level - tl.load(mean + column, mask=inside, other=0) * slope


@triton.jit
def _apply(
    x, context, has_context: tl.constexpr, y, weight, bias, mean, scale, rows, num, inner, alpha,
    activation: tl.constexpr, columns: tl.constexpr, height: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    column = tl.arange(0, width)
    inside = column < columns
    own, there, first = _first_rows(tl.program_id(0) * height, rows, num, inner, height)
    here = there[:, None] & inside[None, :]
    slope, level = _line(weight, bias, mean, scale, column, inside)
    added = level[None, :]
    if has_context:
        place = own[:, None] * columns + column[None, :]
        added += slope[None, :] * tl.load(context + place, mask=here, other=0).to(tl.float32)
    for n in range(num):
        place = (first + n * inner)[:, None] * columns + column[None, :]
        value = tl.load(x + place, mask=here, other=0).to(tl.float32) * slope[None, :] + added
        if activation == "relu":
            value = tl.where(value <= 0, 0, value)  # NaN stays NaN
        elif activation == "elu":
            value = tl.where(value <= 0, alpha * (tl.exp(value) - 1), value)
        tl.store(y + place, value, mask=here)


@triton.jit
def _before(grad, x, place, here, mu, slope, factor, shift, added, alpha, activation: tl.constexpr):
    """Return the gradient before the activation, and the normalised numbers."""
    value = tl.load(x + place, mask=here, other=0).to(tl.float32) + added
    value = (value - mu[None, :]) * slope[None, :]
    g = tl.load(grad + place, mask=here, other=0).to(tl.float32)
    if activation != "none":
        u = value * factor[None, :] + shift[None, :]
        if activation == "relu":
            g = tl.where(u <= 0, 0, g)
        elif activation == "elu":
            g = tl.where(u <= 0, g * alpha * tl.exp(u), g)
    return g, value


@triton.jit
def _gradient_sums(
    grad, x, context, has_context: tl.constexpr, weight, bias, mean, scale, sums, rows, num, inner,
    alpha, programs, activation: tl.constexpr, columns: tl.constexpr, height: tl.constexpr,
    width: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    column = tl.arange(0, width)
    inside = column < columns
    mu = tl.load(mean + column, mask=inside, other=0)
    slope = tl.load(scale + column, mask=inside, other=0)
    factor = tl.load(weight + column, mask=inside, other=0).to(tl.float32)
    shift = tl.load(bias + column, mask=inside, other=0).to(tl.float32)
    total = tl.zeros((height, width), tl.float32)
    products = tl.zeros((height, width), tl.float32)
    for start in range(program * height, rows // num, programs * height):
        own, there, first = _first_rows(start, rows, num, inner, height)
        here = there[:, None] & inside[None, :]
        added = tl.zeros((height, width), tl.float32)
        if has_context:
            place = own[:, None] * columns + column[None, :]
            added = tl.load(context + place, mask=here, other=0).to(tl.float32)
        for n in range(num):
            place = (first + n * inner)[:, None] * columns + column[None, :]
            g, value = _before(
                grad, x, place, here, mu, slope, factor, shift, added, alpha, activation
            )
            total += g
            products += g * value  # no gradient outside
    tl.store(sums + program * columns + column, tl.sum(total, 0), mask=inside)
    tl.store(sums + (programs + program) * columns + column, tl.sum(products, 0), mask=inside)


@triton.jit
def _gradient(
    grad, x, context, has_context: tl.constexpr, weight, bias, mean, scale, of_weight, of_bias, dx,
    dcontext, rows, num, inner, alpha, activation: tl.constexpr, columns: tl.constexpr,
    height: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    column = tl.arange(0, width)
    inside = column < columns
    own, there, first = _first_rows(tl.program_id(0) * height, rows, num, inner, height)
    here = there[:, None] & inside[None, :]
    mu = tl.load(mean + column, mask=inside, other=0)
    slope = tl.load(scale + column, mask=inside, other=0)
    factor = tl.load(weight + column, mask=inside, other=0).to(tl.float32)
    shift = tl.load(bias + column, mask=inside, other=0).to(tl.float32)
    along = tl.load(of_weight + column, mask=inside, other=0) / rows
    level = tl.load(of_bias + column, mask=inside, other=0) / rows
    owned = own[:, None] * columns + column[None, :]
    added = tl.zeros((height, width), tl.float32)
    if has_context:
        added = tl.load(context + owned, mask=here, other=0).to(tl.float32)
    total = tl.zeros((height, width), tl.float32)
    for n in range(num):
        place = (first + n * inner)[:, None] * columns + column[None, :]
        g, value = _before(grad, x, place, here, mu, slope, factor, shift, added, alpha, activation)
        result = (g - level[None, :] - value * along[None, :]) * (slope * factor)[None, :]
        tl.store(dx + place, result, mask=here)
        total += result
    if has_context:
        tl.store(dcontext + owned, total, mask=here)

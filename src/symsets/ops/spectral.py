r"""Circular convolution as matrix products: two transforms, one product, one transform back.

With the spectra :math:`X_f = \sum_l x_l e^{-i\theta_{fl}}` and
:math:`W_f = \sum_t w_t e^{i\theta_{ft}}`, where :math:`\theta_{fl} = 2\pi fl/L`, a circular
convolution is :math:`y_o = \frac1L \sum_f X_f W_f e^{i\theta_{fo}}`. Three real products replace
each complex one: they see both factors at the phases :math:`\varphi_j = \pi j/3`,

.. math:: \operatorname{Re}(X W e^{i\theta}) = \tfrac43 \sum_{j=0}^{2} \cos(\theta + 2\varphi_j)
    \operatorname{Re}(X e^{-i\varphi_j}) \operatorname{Re}(W e^{-i\varphi_j})

So the transforms of input and kernel and the transform back are real matrices of cosines, with a
row for each pair :math:`(f, j)`; the real frequencies :math:`0` and :math:`L/2` need one row each.
No real bilinear algorithm for circular convolution has fewer than these :math:`M \approx 1.5 L`
products (Winograd, 1980). Several axes take one transform each. One axis is transformed where it
lies in memory, first or last (see :mod:`symsets.ops.layout`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from symsets.ops._constants import constant
from symsets.ops._dispatch import switched_off
from symsets.ops.layout import entries_first

# Fitted to training steps on two CPU cores; benchmarks/circular_conv.py shows how well it chooses.
MEMORY_COST = 80  # multiply-adds that writing and reading a number of a spectrum is worth
CHANNEL_BLOCK = 16  # channels that the direct convolution works on at a time
TRACED_BATCH = 64  # a traced graph must not depend on the batch
ALIGNMENT = 8  # the fast products of a GPU want sizes along memory to be multiples of this


@dataclass(frozen=True)
class _Axis:
    """How one axis is convolved, from position ``-before`` on.

    A stride that divides the length is split off: every ``phases``-th position becomes a channel of
    its own, at ``1 / phases`` of the length. Zeros on both sides of the kernel align it.
    """

    phases: int
    length: int
    kernel: int
    zeros: tuple[int, int]
    before: int
    step: int

    @classmethod
    def plan(cls, length: int, kernel: int, stride: int) -> _Axis:
        if length % stride:
            return cls(1, length, kernel, (0, 0), kernel // 2, stride)
        before = -(-(kernel // 2) // stride)
        front = before * stride - kernel // 2
        taps = -(-(front + kernel) // stride)
        back = taps * stride - front - kernel
        return cls(stride, length // stride, taps, (front, back), before, 1)

    @property
    def num_products(self) -> int:
        return _num_products(self.length)

    @property
    def num_outputs(self) -> int:
        return -(-self.length // self.step)


def circular_conv(
    x: Tensor, weight: Tensor, stride: Sequence[int], bias: Tensor | None, method: str = "auto"
) -> Tensor:
    """Correlate ``x (B, C, *E)`` circularly with ``weight (O, C, *K)``, and add ``bias (O,)``.

    Args:
        x: Signals or images that wrap around.
        weight: A kernel with one or two axes, at most as long as those of ``x``.
        stride: Steps between the windows of neighbouring outputs, one for each axis.
        bias: Added to the channels.
        method: ``"direct"`` (plain), ``"spectral"`` (fast), or ``"auto"`` for the one with fewer
            multiply-adds.
    """
    if method == "auto":
        chosen = _prefers_spectral(x.shape, weight.shape, stride) and not switched_off("spectral")
        method = "spectral" if chosen else "direct"
    if method == "spectral":
        return _spectral_conv(x, weight, stride, bias)
    for dim, k in enumerate(weight.shape[2:], start=2):
        x = _wrap(x, dim, k)
    return (F.conv1d if x.ndim == 3 else F.conv2d)(x, weight, bias, stride)


def _wrap(x: Tensor, dim: int, kernel_size: int) -> Tensor:
    """Put the end of an axis before its beginning and its beginning after its end."""
    before, after = kernel_size // 2, (kernel_size - 1) // 2
    return torch.cat(
        [x.narrow(dim, x.shape[dim] - before, before), x, x.narrow(dim, 0, after)], dim
    )


def _spectral_conv(
    x: Tensor, weight: Tensor, stride: Sequence[int], bias: Tensor | None = None
) -> Tensor:
    """Correlate ``x (B, C, *E)`` circularly with ``weight (O, C, *K)``, and add ``bias (O,)``."""
    axes = _plan(x.shape, weight.shape, stride)
    if entries_first(x):
        return _entries_first_conv(x, weight, axes[0], bias)
    for dim, axis in enumerate(axes, start=2):
        if any(axis.zeros):
            weight = F.pad(weight, [0, 0] * (weight.ndim - 1 - dim) + list(axis.zeros))
    for dim, axis in enumerate(axes, start=2):
        x, weight = (_split(t, dim, axis.phases) for t in (x, weight))
    x = _analyse(x, [_waves(a.length, 0, a.length, 1, 1, x) for a in axes])  # (M, B, C)
    weight = _analyse(weight, [_waves(a.length, 0, a.kernel, 1, -1, weight) for a in axes])
    y = x @ weight.mT  # (M, B, O)
    y = _synthesise(y, [_waves(a.length, -a.before, a.num_outputs, a.step, 2, y) for a in axes])
    return y if bias is None else y + bias.to(y.dtype).unflatten(0, (-1, *[1] * len(axes)))


def _entries_first_conv(x: Tensor, weight: Tensor, axis: _Axis, bias: Tensor | None) -> Tensor:
    """Convolve along one axis, which lies first in the memory of ``x`` and of the result."""
    x = _split_first(x.movedim(-1, 0), axis.phases)
    waves = _waves(axis.length, 0, len(x), 1, 1, x)
    x = (waves @ x.flatten(1)).unflatten(1, x.shape[1:])  # (M, B, C)
    weight = _kernel_spectrum(weight, axis)  # (M, O, C)
    y = x @ weight.mT  # (M, B, O)
    back = _waves(axis.length, -axis.before, axis.num_outputs, axis.step, 2, y).mT
    if bias is None:
        out = back @ y.flatten(1)
    else:
        out = torch.addmm(bias.to(y.dtype).repeat(y.shape[1]), back, y.flatten(1))
    return out.unflatten(1, y.shape[1:]).movedim(0, -1)


def _kernel_spectrum(weight: Tensor, axis: _Axis) -> Tensor:
    """Transform a kernel ``(O, C, K)`` into ``(M, O, phases * C)``.

    Zeros and phases are in the matrix, so the kernel itself is read as it lies and moved once.
    """
    sizes = axis.length, axis.kernel, axis.phases, axis.zeros, weight.device.type == "cuda"
    matrix = constant(_kernel_waves, sizes, _product_type(weight), weight)  # (K, phases * M)
    spectrum = (weight.flatten(0, 1) @ matrix).unflatten(1, (axis.phases, -1))
    spectrum = spectrum.unflatten(0, weight.shape[:2])  # (O, C, phases, M)
    return spectrum.permute(3, 0, 2, 1).flatten(2)


def _kernel_waves(
    length: int,
    taps: int,
    phases: int,
    zeros: tuple[int, int],
    aligned: bool,
    device: torch.device,
) -> Tensor:
    waves = _make_waves(length, 0, taps, 1, -1, aligned, device).mT  # (taps, M)
    spread = waves.new_zeros(taps, phases, phases, waves.shape[1])
    for phase in range(phases):
        spread[:, phase, phase] = waves
    rows = spread.flatten(0, 1).flatten(1)  # (taps * phases, phases * M)
    return rows[zeros[0] : len(rows) - zeros[1]]


def _prefers_spectral(x: Sequence[int], weight: Sequence[int], stride: Sequence[int]) -> bool:
    """Return whether the spectral form is the faster way for the shapes of ``x`` and ``weight``."""
    if torch.compiler.is_compiling():
        return _is_cheaper.__wrapped__((TRACED_BATCH, *x[1:]), weight, stride)
    return _is_cheaper(tuple(x), tuple(weight), tuple(stride))


def spectral_cost(x: Sequence[int], weight: Sequence[int], stride: Sequence[int]) -> int:
    """Count the multiply-adds of the spectral form for the shapes of ``x`` and ``weight``."""
    axes = _plan(x, weight, stride)
    batch, out_channels = x[0], weight[0]
    in_channels = weight[1] * math.prod([a.phases for a in axes])
    counts = [a.num_products for a in axes]
    products = math.prod(counts)
    transforms = [
        (batch * in_channels, [a.length for a in axes]),
        (out_channels * in_channels, [a.kernel for a in axes]),
        (batch * out_channels, [a.num_outputs for a in axes]),
    ]
    cost = batch * in_channels * out_channels * products
    for rows, size in transforms:
        cost += MEMORY_COST * rows * products
        numbers = rows * math.prod(size)
        for count, n in zip(reversed(counts), reversed(size), strict=True):
            cost += numbers * count
            numbers = numbers // n * count
    return cost


def direct_cost(x: Sequence[int], weight: Sequence[int], stride: Sequence[int]) -> int:
    """Count the multiply-adds of the plain convolution, which works on blocks of 16 channels."""
    channels = [-(-c // CHANNEL_BLOCK) * CHANNEL_BLOCK for c in weight[:2]]
    outputs = [-(-n // step) for n, step in zip(x[2:], stride, strict=True)]
    return x[0] * math.prod([*channels, *weight[2:], *outputs])


@cache
def _is_cheaper(x: Sequence[int], weight: Sequence[int], stride: Sequence[int]) -> bool:
    return spectral_cost(x, weight, stride) < direct_cost(x, weight, stride)


def _num_products(length: int) -> int:
    """Return M: three products per complex frequency, one per real one."""
    return 1 + 3 * ((length - 1) // 2) + (length % 2 == 0)


def _plan(x: Sequence[int], weight: Sequence[int], stride: Sequence[int]) -> list[_Axis]:
    return [_Axis.plan(*sizes) for sizes in zip(x[2:], weight[2:], stride, strict=True)]


def _split(x: Tensor, dim: int, phases: int) -> Tensor:
    """Turn ``(B, C, …, L, …)`` into ``(B, phases * C, …, L / phases, …)``."""
    if phases == 1:
        return x
    x = x.unflatten(dim, (x.shape[dim] // phases, phases))
    return x.movedim(dim + 1, 1).flatten(1, 2)


def _split_first(x: Tensor, phases: int) -> Tensor:
    """Turn ``(L, B, C)`` into ``(L / phases, B, phases * C)``, contiguous in memory."""
    return x.unflatten(0, (-1, phases)).transpose(1, 2).flatten(2).contiguous()


def _analyse(x: Tensor, matrices: Sequence[Tensor]) -> Tensor:
    """Transform ``(B, C, *E)`` into ``(M, B, C)``, by products that move the last axis first."""
    for matrix in reversed(matrices):
        x = (matrix @ x.movedim(-1, 0).flatten(1)).unflatten(1, x.shape[:-1])
    return x.flatten(0, -3)


def _synthesise(y: Tensor, matrices: Sequence[Tensor]) -> Tensor:
    """Transform ``(M, B, O)`` into ``(B, O, *F)``, by products that move the first axis last."""
    y = y.unflatten(0, [len(matrix) for matrix in matrices])
    for matrix in matrices:
        y = (y.flatten(1).mT @ matrix).unflatten(0, y.shape[1:])
    return y


def _waves(length: int, start: int, num: int, step: int, turn: int, like: Tensor) -> Tensor:
    """Return the matrix ``(M, num)`` of cosines at the positions ``start, start + step, …``.

    ``turn`` multiplies the phases: 1 for the input, -1 for the kernel, 2 for the way back.
    """
    sizes = length, start, num, step, turn, like.device.type == "cuda"
    return constant(_make_waves, sizes, _product_type(like), like)


def _product_type(x: Tensor) -> torch.dtype:
    """Return the type in which autocast, if it is on, multiplies ``x``."""
    kind = x.device.type
    casts = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    return torch.get_autocast_dtype(kind) if casts and x.dtype == torch.float32 else x.dtype


def _make_waves(
    length: int, start: int, num: int, step: int, turn: int, aligned: bool, device: torch.device
) -> Tensor:
    row = torch.arange(_num_products(length), device=device)
    frequency = (row + 2) // 3
    phase = (row + 2) % 3 * (frequency > 0)
    position = start + step * torch.arange(num, device=device)
    # Integer angles, in units of 2π / 6L, keep all digits however large they get.
    angle = 6 * frequency[:, None] * position + turn * length * phase[:, None]
    waves = torch.cos(angle.remainder(6 * length).double() * (math.pi / (3 * length)))
    if turn == 2:
        real = (frequency == 0) | (2 * frequency == length)
        scale = (8 - 5 * real.double()) / (3 * length)  # 1 / L for real frequencies, or 2 · 4 / 3L
        waves = scale[:, None] * waves
    if aligned:  # further rows of zeros, and columns along memory: what a GPU multiplies fast
        return F.pad(waves.mT, (0, -len(waves) % ALIGNMENT)).contiguous().mT
    return waves

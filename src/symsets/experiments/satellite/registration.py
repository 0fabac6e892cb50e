"""Where pictures of one place lie against each other, to a fraction of a pixel."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from symsets.sets import Sets, add_to_elements, fold, pool, spread

REACH = 4.0  # px: shifts are looked for up to here
COARSE, FINE = 0.25, 0.02  # px: steps of the two searches
ROUNDS = 2
CUTOFF = 0.2  # cycles per pixel: what is finer is noise and aliasing


def find_shifts(pictures: Tensor, clear: Tensor, *, rounds: int = ROUNDS) -> Tensor:
    """Return where each picture of a set lies, ``(N, 2)``: rows and columns, in pixels.

    ``pictures[i]`` at ``p + shifts[i]`` shows what the others show; the mean of all shifts is zero,
    so no picture decides where the set is. Each picture is compared with the mean of all by phase
    correlation; the mean becomes sharper from round to round. Places need some fine detail: shifts
    of very smooth ones are found too small.

    Args:
        pictures: ``(N, H, W)``, the clearest first: the first round compares with that one.
        clear: ``(N, H, W)``; what is not clear is taken from the mean.
        rounds: How often to compare.

    Example:
        >>> scene = torch.rand(64, 64, generator=torch.Generator().manual_seed(0))
        >>> pictures = torch.stack([scene[4:52, 4:52], scene[5:53, 3:51]])
        >>> find_shifts(pictures, torch.ones_like(pictures, dtype=torch.bool)).round(decimals=1)
        tensor([[ 0.5000, -0.5000],
                [-0.5000,  0.5000]])
    """
    shifts = pictures.new_zeros(len(pictures), 2)
    reference = pictures[0]
    for _ in range(rounds):
        filled = torch.where(clear, pictures, reference)
        shifts = _correlate(reference, filled)
        shifts = shifts - shifts.mean(0)
        moved, seen = enlarge(pictures, shifts), enlarge(clear.to(pictures.dtype), shifts)
        reference = masked_mean(moved[None, :, None], seen[None, :, None] > 0.99)[0][0, 0]
    return shifts


def masked_mean(x: Sets, clear: Sets) -> tuple[Tensor, Sets]:
    """Return the mean of the clear pixels of each set, and each picture's own brightness.

    Where no picture is clear, it is the mean of all. Pictures differ in brightness, and clouds lie
    elsewhere in each, so each picture is first brought to the brightness of the others; else the
    edges of clouds would show.

    Args:
        x: Pictures.
        clear: 1 (or True) where they are clear, else 0.

    Shape:
        - x: ``(B, N, C, H, W)`` or ragged.
        - clear: ``(B, N, 1, H, W)`` or ragged.
        - mean: ``(B, C, H, W)``.
        - brightness: ``(B, N, 1, 1, 1)`` or ragged, by how much each picture is brighter.
    """
    values, unfold = fold(x)
    weight = fold(clear)[0].to(values.dtype)
    some = _weighted_mean(values, weight, unfold)
    rest = fold(add_to_elements(x, -spread(some, x)))[0]
    axes = (1, 2, 3)
    num = values.shape[1] * weight.sum(axes, keepdim=True)
    brightness = (rest * weight).sum(axes, keepdim=True) / num.clamp(min=1)
    return _weighted_mean(values - brightness, weight, unfold), unfold(brightness)


def _weighted_mean(values: Tensor, weight: Tensor, unfold: Callable[[Tensor], Sets]) -> Tensor:
    num = pool(unfold(weight), "sum")
    total = pool(unfold(values * weight), "sum")
    return torch.where(num > 0, total / num.clamp(min=1), pool(unfold(values), "mean"))


def enlarge(pictures: Tensor, shifts: Tensor, scale: int = 1) -> Tensor:
    """Return pictures as seen at ``p + shifts``, on a grid ``scale`` times as fine.

    Cubic interpolation (Keys, 1981), as products with two matrices of each picture; borders are
    continued.

    Shape:
        - pictures: ``(N, H, W)``.
        - shifts: ``(N, 2)``, rows and columns, in pixels of the input.
        - output: ``(N, scale H, scale W)``.
    """
    rows, columns = (
        _cubic(side, shift, scale)
        for side, shift in zip(pictures.shape[-2:], shifts.unbind(-1), strict=True)
    )
    return rows @ pictures @ columns.mT


def _cubic(side: int, shift: Tensor, scale: int) -> Tensor:
    """Return the weights of all input pixels in all output pixels, ``(N, scale · side, side)``."""
    place = torch.arange(scale * side, device=shift.device, dtype=shift.dtype)
    place = (place + 0.5) / scale - 0.5 + shift[:, None]  # (N, K)
    first = place.floor() - 1
    weights = shift.new_zeros(*place.shape, side)
    for k in range(4):
        distance = (place - (first + k)).abs()
        near = (1.5 * distance - 2.5) * distance.square() + 1
        far = ((2.5 - 0.5 * distance) * distance - 4) * distance + 2
        weight = torch.where(distance <= 1, near, far)
        pixel = (first + k).clamp(0, side - 1).long()
        weights.scatter_add_(2, pixel[..., None], weight[..., None])
    return weights


def _correlate(reference: Tensor, pictures: Tensor) -> Tensor:
    """Return the shifts ``(N, 2)`` of pictures against a reference by phase correlation."""
    window = _window(reference)
    product = torch.fft.fft2(_centred(pictures) * window) * (
        torch.fft.fft2(_centred(reference) * window).conj()
    )
    frequencies = [torch.fft.fftfreq(side, device=reference.device) for side in reference.shape]
    distance = (frequencies[0][:, None].square() + frequencies[1].square()).to(reference.dtype)
    low_pass = torch.exp(-0.5 * distance / CUTOFF**2)
    phase = product / product.abs().clamp(min=1e-12) * low_pass
    found = reference.new_zeros(len(pictures), 2)
    for reach, step in ((REACH, COARSE), (COARSE, FINE)):
        around = torch.arange(-reach, reach + step / 2, step, device=reference.device)
        found = _peak(phase, frequencies, found[:, None] + around[None, :, None].to(found.dtype))
    return found


def _peak(phase: Tensor, frequencies: list[Tensor], places: Tensor) -> Tensor:
    """Return the place ``(N, 2)`` of the largest correlation among ``places (N, K, 2)``."""
    rows, columns = (
        torch.exp(2j * math.pi * places[..., axis, None] * frequency.to(places.dtype))
        for axis, frequency in enumerate(frequencies)
    )  # (N, K, H), (N, K, W)
    values = (rows @ phase @ columns.mT).real
    best = values.flatten(1).argmax(1)
    num = places.shape[1]
    rows_at, columns_at = best // num, best % num
    each = torch.arange(len(places), device=places.device)
    return torch.stack([places[each, rows_at, 0], places[each, columns_at, 1]], dim=1)


def _centred(pictures: Tensor) -> Tensor:
    return pictures - pictures.mean((-2, -1), keepdim=True)


def _window(like: Tensor) -> Tensor:
    rows, columns = (
        torch.hann_window(side, periodic=False, device=like.device, dtype=like.dtype)
        for side in like.shape[-2:]
    )
    return rows[:, None] * columns

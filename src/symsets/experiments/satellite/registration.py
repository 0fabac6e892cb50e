"""Where pictures of one place lie against each other, to a fraction of a pixel."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from symsets.experiments.satellite.resampling import enlarge, is_clear
from symsets.sets import Sets, add_to_elements, fold, pool, spread

REACH = 4.0  # px: shifts are looked for up to here
COARSE, FINE = 0.25, 0.02  # px: steps of the two searches
CUTOFF = 0.2  # cycles per pixel: what is finer is noise and aliasing
STEPS = 4  # of least squares
DAMPING = 1e-4  # keeps places without detail where they are
ROUNDS = 2  # of weights
SMALLEST = 1e-6  # of what is divided by


def find_shifts(pictures: Tensor, clear: Tensor) -> Tensor:
    """Return where each picture of a set lies, ``(N, 2)``: rows and columns, in pixels.

    ``pictures[i]`` at ``p + shifts[i]`` shows what the others show; the mean of all shifts is zero,
    so no picture decides where the set is. Phase correlation with the clearest picture finds the
    shifts to about a tenth of a pixel, less well under clouds. From there, each picture is fitted
    to the mean of all, over pixels that are clear in both, by Gauss–Newton steps (Lucas and Kanade,
    1981); the mean becomes sharper from step to step.

    Shape:
        - pictures, clear: ``(N, H, W)``, the clearest first.

    Example:
        >>> scene = torch.rand(64, 64, generator=torch.Generator().manual_seed(0))
        >>> pictures = torch.stack([scene[4:52, 4:52], scene[5:53, 3:51]])
        >>> find_shifts(pictures, torch.ones_like(pictures, dtype=torch.bool)).round(decimals=1)
        tensor([[ 0.5000, -0.5000],
                [-0.5000,  0.5000]])
    """
    pictures = _without_clouds(pictures, clear)
    shifts = _centre(_correlate(pictures[0], torch.where(clear, pictures, pictures[0])))
    for _ in range(STEPS):
        shifts = _centre(shifts + _correction(*_register(pictures, clear, shifts)).clamp(-1, 1))
    return shifts


def find_weights(pictures: Tensor, clear: Tensor, shifts: Tensor) -> Tensor:
    r"""Return how far each picture of a set can be trusted, ``(N,)``, at most 1.

    .. math:: w_i = \min_j e_j / e_i

    :math:`e_i` is the root of the mean squared difference of registered picture :math:`i` from the
    mean of all. Snow, haze and clouds that no mask tells of make it large.

    Shape:
        - pictures, clear: ``(N, H, W)``.
        - shifts: ``(N, 2)``, from :func:`find_shifts`.
    """
    moved, seen, _ = _register(_without_clouds(pictures, clear), clear, shifts)
    weights = moved.new_ones(len(moved))
    for _ in range(ROUNDS):
        weight = weights[:, None, None] * seen
        mean, own = masked_mean(moved[None, :, None], weight[None, :, None])
        squares = (moved - mean[0] - fold(own)[0][:, 0]).square() * seen
        num = seen.sum((1, 2))
        error = (squares.sum((1, 2)) / num.clamp(min=1)).sqrt().clamp(min=SMALLEST)
        error = torch.where(num > 0, error, torch.inf)
        weights = (error.amin() / error).nan_to_num(1.0)  # a set without any clear pixel
    return weights


def _without_clouds(pictures: Tensor, clear: Tensor) -> Tensor:
    """Replace what is under clouds by the mean of what is clear in the same picture."""
    num = clear.sum((1, 2), keepdim=True).clamp(min=1)
    level = torch.where(clear, pictures, 0).sum((1, 2), keepdim=True) / num
    return torch.where(clear, pictures, level)


def _register(pictures: Tensor, clear: Tensor, shifts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return registered pictures, where they are clear, and their mean ``(H, W)``."""
    moved, seen = enlarge(pictures, shifts), is_clear(clear, shifts)
    return moved, seen, masked_mean(moved[None, :, None], seen[None, :, None])[0][0, 0]


def _correction(moved: Tensor, seen: Tensor, mean: Tensor) -> Tensor:
    r"""Return by how much shifts are wrong, ``(N, 2)``, by least squares.

    A registered picture is :math:`g \cdot mean + o - \delta \cdot \nabla mean`, with a contrast
    and a brightness of its own.
    """
    slopes = torch.gradient(mean)
    parts = torch.stack([-slopes[0], -slopes[1], mean, torch.ones_like(mean)], dim=-1).flatten(0, 1)
    scale = parts.square().mean(0).sqrt().clamp(min=SMALLEST)
    parts = parts / scale  # (H W, 4)
    weighted = parts.mT * seen.flatten(1)[:, None]  # (N, 4, H W)
    normal = weighted @ parts
    normal = normal + DAMPING * mean.numel() * torch.eye(4, device=mean.device, dtype=mean.dtype)
    found = torch.linalg.solve(normal, weighted @ moved.flatten(1)[..., None])[..., 0] / scale
    return found[:, :2] / found[:, 2:3].clamp(min=0.5)


def _centre(shifts: Tensor) -> Tensor:
    return shifts - shifts.mean(0)


def masked_mean(x: Sets, clear: Sets) -> tuple[Tensor, Sets]:
    """Return the mean of the clear pixels of each set, and each picture's own brightness.

    Where no picture is clear, it is the mean of all. Pictures differ in brightness, and clouds lie
    elsewhere in each, so each picture is first brought to the brightness of the others; else the
    edges of clouds would show.

    Args:
        x: Pictures.
        clear: 0 where they are not clear; else 1 (or True), or any weight.

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
    brightness = (rest * weight).sum(axes, keepdim=True) / num.clamp(min=SMALLEST)
    return _weighted_mean(values - brightness, weight, unfold), unfold(brightness)


def _weighted_mean(values: Tensor, weight: Tensor, unfold: Callable[[Tensor], Sets]) -> Tensor:
    num = pool(unfold(weight), "sum")
    total = pool(unfold(values * weight), "sum")
    return torch.where(num > 0, total / num.clamp(min=SMALLEST), pool(unfold(values), "mean"))


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

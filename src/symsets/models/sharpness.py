"""Classical measures of how sharp, clean or typical a shot of a scene is.

Each takes the shots of a scene ``(N, C, H, W)`` with values in [0, 1] and returns numbers ``(N,)``:
the larger, the better. Colours are averaged first.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

LAPLACIAN = ((0, 1, 0), (1, -4, 1), (0, 1, 0))
SOBEL = ((-1, 0, 1), (-2, 0, 2), (-1, 0, 1))
NOISE = ((1, -2, 1), (-2, 4, -2), (1, -2, 1))  # blind to edges and slopes
WINDOW = 7  # px on each side of what local contrast looks at
LITTLE = 1e-5  # a variance of noise below which it hardly counts: (0.8 / 255)²
FAINT = 1e-6  # keeps 0 / 0 away from black pictures
MEASURED = 12  # numbers that ``appearance`` gives


def laplacian(shots: Tensor) -> Tensor:
    """Return the variance of the Laplacian (Pech-Pacheco et al., 2000)."""
    return _filtered(_grey(shots), LAPLACIAN).flatten(1).var(1, correction=0)


def modified_laplacian(shots: Tensor) -> Tensor:
    """Return the mean of the modified Laplacian, |second slopes| (Nayar and Nakagawa, 1994)."""
    grey = _grey(shots)
    across, down = (
        (2 * grey.narrow(axis, 1, grey.shape[axis] - 2)
        - grey.narrow(axis, 0, grey.shape[axis] - 2)
        - grey.narrow(axis, 2, grey.shape[axis] - 2)).abs().mean((1, 2))
        for axis in (2, 1)
    )  # fmt: skip
    return across + down


def tenengrad(shots: Tensor) -> Tensor:
    """Return the mean of squared Sobel slopes (Tenenbaum, 1970)."""
    grey = _grey(shots)
    across, down = _filtered(grey, SOBEL), _filtered(grey, tuple(zip(*SOBEL, strict=True)))
    return (across.square() + down.square()).mean((1, 2))


def brenner(shots: Tensor) -> Tensor:
    """Return the mean squared difference of pixels two apart (Brenner et al., 1976)."""
    grey = _grey(shots)
    across, down = grey[..., 2:] - grey[..., :-2], grey[:, 2:] - grey[:, :-2]
    return across.square().mean((1, 2)) + down.square().mean((1, 2))


def normalised_laplacian(shots: Tensor) -> Tensor:
    """Return the variance of the Laplacian over the variance of the picture.

    It does not change with brightness and contrast.
    """
    return laplacian(shots) / _grey(shots).flatten(1).var(1, correction=0).clamp(min=FAINT)


def normalised_variance(shots: Tensor) -> Tensor:
    """Return the variance of a picture over its mean (Groen et al., 1985)."""
    grey = _grey(shots).flatten(1)
    return grey.var(1, correction=0) / grey.mean(1).clamp(min=FAINT)


def local_contrast(shots: Tensor) -> Tensor:
    """Return the mean over all places of the standard deviation around them over the mean there."""
    grey = _grey(shots)[:, None]
    mean = F.avg_pool2d(grey, WINDOW, 1)
    variance = F.avg_pool2d(grey.square(), WINDOW, 1) - mean.square()
    return (variance.clamp(min=0).sqrt() / (mean + 0.01)).mean((1, 2, 3))


def slopes(shots: Tensor) -> Tensor:
    """Return the mean squared slope after noise was smoothed away, over the squared brightness."""
    smooth = F.avg_pool2d(shots.mean(1, keepdim=True), 3, 1)
    # Brighter shots have steeper slopes, and are no sharper for it.
    smooth = smooth / smooth.mean((1, 2, 3), keepdim=True).clamp(min=FAINT)
    across, down = smooth.diff(dim=-1), smooth.diff(dim=-2)
    return across.square().mean((1, 2, 3)) + down.square().mean((1, 2, 3))


def noise_level(shots: Tensor) -> Tensor:
    """Return the standard deviation of the noise, as estimated by Immerkær (1996)."""
    return math.sqrt(math.pi / 2) / 6 * _filtered(_grey(shots), NOISE).abs().mean((1, 2))


def cleanness(shots: Tensor) -> Tensor:
    """Return the estimated level of noise, with a minus: noise alone decides."""
    return -noise_level(shots)


def tenengrad_without_noise(shots: Tensor) -> Tensor:
    r"""Return what Tenengrad would be without noise, over the variance of the picture.

    Noise of variance :math:`\sigma^2` adds :math:`24 \sigma^2` to the squared slopes, the squared
    weights of both Sobel filters, and :math:`\sigma^2` to the variance. Its level is estimated.
    """
    variance, detail = _noise_and_detail(shots)
    contrast = (_grey(shots).flatten(1).var(1, correction=0) - variance).clamp(min=FAINT)
    return detail / contrast


def detail_over_noise(shots: Tensor) -> Tensor:
    """Return squared slopes without those of noise over those of noise: both should be good."""
    variance, detail = _noise_and_detail(shots)
    return detail / (variance + LITTLE)


def _noise_and_detail(shots: Tensor) -> tuple[Tensor, Tensor]:
    """Return the estimated variance of noise, and squared Sobel slopes without it."""
    variance = noise_level(shots).square()
    return variance, (tenengrad(shots) - 24 * variance).clamp(min=0)


def consensus(shots: Tensor) -> Tensor:
    """Return the correlation of each shot with the mean of the others: the typical one is best."""
    pixels = shots.flatten(1)
    pixels = pixels - pixels.mean(1, keepdim=True)
    others = pixels.sum(0) - pixels
    norms = pixels.norm(dim=1) * others.norm(dim=1)
    return (pixels * others).sum(1) / norms.clamp(min=FAINT)


MEASURES: dict[str, Callable[[Tensor], Tensor]] = {
    "variance of the Laplacian": laplacian,
    "modified Laplacian": modified_laplacian,
    "Tenengrad": tenengrad,
    "Brenner": brenner,
    "normalised Laplacian": normalised_laplacian,
    "normalised variance": normalised_variance,
    "local contrast": local_contrast,
    "smoothed slopes": slopes,
    "Tenengrad without noise": tenengrad_without_noise,
    "detail over noise": detail_over_noise,
    "least noise": cleanness,
    "closest to the mean": consensus,
}


def appearance(shots: Tensor) -> Tensor:
    """Return what can be measured of each shot by itself, ``(N, MEASURED)``.

    Logarithms of its detail, its noise, its contrast, and what is left of detail and contrast
    without the noise; its brightness; and how much of it is black or white.
    """
    variance, detail = _noise_and_detail(shots)
    grey = _grey(shots).flatten(1)
    contrast = grey.var(1, correction=0)
    powers = [
        laplacian(shots),
        modified_laplacian(shots).square(),
        tenengrad(shots),
        brenner(shots),
        slopes(shots),
        variance,
        detail,
        contrast,
        (contrast - variance).clamp(min=0),
    ]
    dark, light = (shots < 1 / 255), (shots > 254 / 255)
    shares = [part.to(shots.dtype).flatten(1).mean(1) for part in (dark, light)]
    return torch.stack([*((power + FAINT).log() for power in powers), grey.mean(1), *shares], 1)


def _grey(shots: Tensor) -> Tensor:
    return shots.mean(1)


def _filtered(grey: Tensor, weights: tuple[tuple[int, ...], ...]) -> Tensor:
    """Correlate pictures ``(N, H, W)`` with 3×3 weights, where these fit in."""
    kernel = torch.tensor(weights, dtype=grey.dtype, device=grey.device)
    return F.conv2d(grey[:, None], kernel[None, None])[:, 0]

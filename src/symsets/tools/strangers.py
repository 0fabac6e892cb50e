"""Find shots of another scene among shots of which many may be spoilt."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from symsets.models.sharpness import noise_level, slopes
from symsets.tools.aligning import align, other_scenes, shrunk

SIDE = 64  # px of the longer side at which shots are compared
FINE, BROAD = 1.5, 6.0  # px: what is blurred away, and what is too broad for a detail
FAR = 4  # shots may be shifted by one part in so many
ALIKE = 0.62  # correlation of details from which on two shots show one scene
VISIBLE = 2.5 / 255  # contrast of details below which a shot shows nothing
CLEAN = 0.6  # and over the level of noise; 0.2 of white noise is left, 0.5 of that in JPEG


@torch.no_grad()
def strangers(shots: Tensor) -> dict[int, int]:
    """Return which shots ``(N, C, H, W)`` show another scene, each with a shot that it is unlike.

    The scene is what most shots show. Spoilt shots may be like no other one: so a shot is judged
    only by what is seen in it beside the noise, and belongs to the scene if it is like any of its
    shots, or like one that is, or can be laid over its sharpest one.
    """
    grey = shots.mean(1, keepdim=True) / shots.max().clamp(min=1e-4)
    small = shrunk(grey, min(1, SIDE / max(grey.shape[-2:])))
    details = _blurred(small, FINE) - _blurred(small, BROAD)
    linked = _correlations(details[:, 0]) >= ALIKE
    for _ in range(len(linked).bit_length()):  # what is linked to what is linked
        linked = (linked.float() @ linked.float()) > 0
    clear = _clear(small, details)
    main = linked[int((linked & clear).sum(1).argmax())]
    if not (clear & ~main).any() or not (clear & main).any():
        return {}
    number = int(torch.where(clear & main, slopes(shots), -1).argmax())
    maps, alike = align(shots, number)
    others = clear & ~main & other_scenes(shots, maps, alike, number)
    return dict.fromkeys(others.nonzero()[:, 0].tolist(), number)


def _clear(small: Tensor, details: Tensor) -> Tensor:
    """Return in which shots ``(N, 1, H, W)`` more is seen than white, black or noise.

    What JPEG makes of noise is coarser, and less of it is counted as noise: hence ``CLEAN``.
    """
    contrast = details.flatten(1).std(1)
    return (contrast >= VISIBLE) & (contrast >= CLEAN * noise_level(small))


def _correlations(details: Tensor) -> Tensor:
    """Return the correlation of all pairs ``(N, N)`` at the shift where it is largest."""
    height, width = details.shape[1:]
    rows, columns = (torch.hann_window(side, periodic=False).sqrt() for side in (height, width))
    window = rows[:, None] * columns
    faded = (details - details.mean((1, 2), keepdim=True)) * window
    faded = faded - faded.mean((1, 2), keepdim=True)
    faded = faded / faded.square().sum((1, 2), keepdim=True).sqrt().clamp(min=1e-9)
    waves = torch.fft.rfft2(faded)
    down, right = (torch.fft.fftfreq(side).abs() <= 1 / FAR for side in (height, width))
    near = down[:, None] & right
    found = [torch.fft.irfft2(waves * one.conj(), (height, width))[:, near] for one in waves]
    return torch.stack([each.amax(1) for each in found]).fill_diagonal_(1)


def _blurred(pictures: Tensor, width: float) -> Tensor:
    """Blur pictures ``(N, 1, H, W)`` by a Gaussian."""
    reach = math.ceil(3 * width)
    line = torch.exp(-torch.arange(-reach, reach + 1.0).square() / (2 * width**2))
    line = line / line.sum()
    padded = F.pad(pictures, [reach] * 4, mode="replicate")
    return F.conv2d(F.conv2d(padded, line.view(1, 1, 1, -1)), line.view(1, 1, -1, 1))

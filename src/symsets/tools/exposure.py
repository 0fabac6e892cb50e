"""Bring shots of one scene to the brightness and the colours of one of them."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from symsets.tools.aligning import sample, shrunk

SIDE = 256  # px of the longer side at which brightness is compared
DARK, WHITE = 0.02, 0.98  # values between which a pixel tells how bright a shot is
FEW = 0.01  # of the pixels, below which a shot stays as it is
NEAR = 1.4  # times as bright or as dark: so far the network evens it out by itself
CLIPPED, LESS = 0.995, 1 / 1.1  # what is as bright may have been brighter, if it is made darker


@torch.no_grad()
def as_bright(shots: Tensor, maps: Tensor, reference: int) -> tuple[Tensor, Tensor]:
    """Return shots ``(N, C, H, W)`` with the colours of the reference, and nearly as bright.

    Where a shot that is made darker is white, it does not say how bright it was: it gets NaN there.
    Also return by what shots are to be multiplied to become just as bright, ``(N, 1, 1, 1)``.
    """
    small, seen = sample(shrunk(shots, min(1, SIDE / max(shots.shape[-2:]))), maps)
    told = (small > DARK) & (small < WHITE)
    told = seen & told & told[reference]
    ratio = torch.where(told, (small[reference] / small).log(), torch.nan).flatten(2)
    known = (told.float().mean((2, 3)) > FEW).all(1, keepdim=True)
    gain = torch.where(known, ratio.nanmedian(2).values, 0)  # (N, C); what moves hardly counts
    exposure = gain.mean(1, keepdim=True)
    left = torch.where(exposure.abs() < math.log(NEAR), exposure, 0)
    gain = (gain - left).exp()[..., None, None]
    white = ((shots >= CLIPPED) & (gain < LESS)).any(1, keepdim=True)
    return torch.where(white, torch.nan, (shots * gain).clamp(max=1)), left.exp()[..., None, None]


def most_usual(shots: Tensor) -> Tensor:
    """Return which shots ``(N, C, H, W)`` are nearly as bright as most, ``(N,)``."""
    brightness = shots.mean((1, 2, 3)).clamp(min=1e-9).log()
    apart = (brightness - brightness.median()).abs()
    return apart <= math.log(NEAR) / 2

"""Find what moved between shots of one scene."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

AROUND, REACH = 7, 9  # px on each side: over what differences are averaged, and told of a place
SURE, LEAST = 5.0, 0.05  # of the deviation of such a mean by noise, and beside it, to count
WHITE = 0.9  # from where on noise, or a longer exposure, may have been cut off
SPREAD = 1.4826 / 2**0.5  # a deviation over the median of absolute steps, of Gaussian noise
EVERY = 4  # of so many rows one tells how much noise there is


def moved(found: Tensor, gain: Tensor, reference: int) -> Tensor:
    """Return where shots ``(N, C, H, W)`` show something else than the reference, ``(N, 1, H, W)``.

    They lie over each other; multiplied by their ``gain (N, 1, 1, 1)`` they are as bright. Noise,
    inexact alignment, and white that may have been brighter explain smaller differences.
    """
    apart = gain * found - found[reference]
    steps = apart[..., ::EVERY, 1:] - apart[..., ::EVERY, :-1]
    noise = SPREAD * steps.abs().flatten(1).median(1).values
    limit = (LEAST + SURE / AROUND * noise).view(-1, 1, 1, 1)
    apart = _mean(apart, AROUND)
    white = _largest(_mean(found, 3), AROUND) > WHITE  # each colour by itself
    darker = (apart < -limit) & ~(white & (gain < 1))
    brighter = (apart > limit) & ~(white[reference] & (gain > 1))
    far = (darker | brighter).any(1, keepdim=True)
    return _largest(far.to(found.dtype), REACH) > 0


def _mean(pictures: Tensor, side: int) -> Tensor:
    return F.avg_pool2d(pictures, side, 1, side // 2, count_include_pad=False)


def _largest(pictures: Tensor, side: int) -> Tensor:
    """Return the largest value around each pixel; in rows first, which takes less time."""
    rows = F.max_pool2d(pictures, (1, side), 1, (0, side // 2))
    return F.max_pool2d(rows, (side, 1), 1, (side // 2, 0))

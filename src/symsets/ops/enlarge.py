"""Bilinear enlarging of images."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from symsets.ops._constants import constant
from symsets.ops._dispatch import switched_off


def enlarge(x: Tensor, scale: int, *, align_corners: bool = False) -> Tensor:
    """Enlarge images ``x (T, C, H, W)`` bilinearly, as :class:`torch.nn.Upsample` does.

    The fast form multiplies rows and columns by one matrix each, in the memory order of the images.
    So the gradient is a product, too: it needs no atomic additions, and it may run in half
    precision, where autocast forces the library's into float32. Predictions on a GPU take the plain
    form, which is one call.

    Args:
        x: The images.
        scale: How many times higher and wider the images become.
        align_corners: Whether the outermost pixels keep their places.
    """
    if (x.is_cuda and not torch.is_grad_enabled()) or switched_off("enlarge"):
        return F.interpolate(x, scale_factor=scale, mode="bilinear", align_corners=align_corners)
    return by_products(x, scale, align_corners)


def by_products(x: Tensor, scale: int, align_corners: bool) -> Tensor:
    """Return the same by two matrix products."""
    rows, columns = (
        constant(_shares, (length, scale, align_corners), x.dtype, x) for length in x.shape[-2:]
    )
    pixels = x.permute(0, 2, 3, 1)  # (T, H, W, C)
    if x.is_contiguous() or not pixels.is_contiguous():
        return rows @ x @ columns.mT
    lines = rows @ pixels.flatten(2)
    return (columns @ lines.unflatten(2, pixels.shape[2:])).permute(0, 3, 1, 2)


def _shares(length: int, scale: int, align_corners: bool, device: torch.device) -> Tensor:
    """Return the shares ``(scale length, length)`` that old pixels have in new ones."""
    old = torch.arange(length, device=device, dtype=torch.float64)
    new = torch.arange(scale * length, device=device, dtype=torch.float64)
    if align_corners:
        place = new * ((length - 1) / max(1, scale * length - 1))
    else:
        place = ((new + 0.5) / scale - 0.5).clamp(0, length - 1)
    return (1 - (place[:, None] - old).abs()).clamp(min=0)

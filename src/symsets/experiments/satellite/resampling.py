"""Pictures between their pixels: cubic interpolation, and where it rests on clear pixels alone."""

import torch
from torch import Tensor

CLOUDED = 0.01  # weight of clouded pixels that a clear one may have


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


def is_clear(clear: Tensor, shifts: Tensor) -> Tensor:
    """Return where pictures as seen at ``p + shifts`` are clear, ``(N, H, W)`` as ``clear`` itself.

    That is where all pixels that :func:`enlarge` gives weight to are clear, and where there is a
    picture. Cubic weights may be negative, so an interpolated mask would not tell: clouds of
    opposite weights would cancel out.

    Example:
        >>> clear = torch.ones(1, 5, 5, dtype=torch.bool)
        >>> clear[0, 2, 2] = False
        >>> is_clear(clear, torch.tensor([[0.0, 0.6]])).int()
        tensor([[[1, 1, 1, 1, 0],
                 [1, 1, 1, 1, 0],
                 [0, 0, 0, 0, 0],
                 [1, 1, 1, 1, 0],
                 [1, 1, 1, 1, 0]]], dtype=torch.int32)
    """
    sides, moved = clear.shape[-2:], shifts.unbind(-1)
    rows, columns = (_cubic(side, s, 1).abs() for side, s in zip(sides, moved, strict=True))
    clouded = rows @ (~clear).to(shifts.dtype) @ columns.mT
    places = [_places(side, s, 1) for side, s in zip(sides, moved, strict=True)]
    above, beside = ((p >= -0.5) & (p <= n - 0.5) for p, n in zip(places, sides, strict=True))
    return (clouded < CLOUDED) & above[:, :, None] & beside[:, None, :]


def _cubic(side: int, shift: Tensor, scale: int) -> Tensor:
    """Return the weights of all input pixels in all output pixels, ``(N, scale · side, side)``."""
    place = _places(side, shift, scale)
    first = place.floor() - 1
    pixels = torch.arange(side, device=shift.device)
    weights = shift.new_zeros(*place.shape, side)
    for k in range(4):
        distance = (place - (first + k)).abs()
        near = (1.5 * distance - 2.5) * distance.square() + 1
        far = ((2.5 - 0.5 * distance) * distance - 4) * distance + 2
        weight = torch.where(distance <= 1, near, far)
        pixel = (first + k).clamp(0, side - 1)
        weights = weights + weight[..., None] * (pixel[..., None] == pixels)
    return weights


def _places(side: int, shift: Tensor, scale: int) -> Tensor:
    """Return where output pixels lie among those of the input, ``(N, scale · side)``."""
    place = torch.arange(scale * side, device=shift.device, dtype=shift.dtype)
    return (place + 0.5) / scale - 0.5 + shift[:, None]

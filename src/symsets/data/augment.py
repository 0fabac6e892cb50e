"""Crops, flips and quarter turns of whole sets, on the device."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from symsets._checks import check_choice, positive, shown


@dataclass(frozen=True)
class Augment:
    r"""Crop, flip and turn sets of pictures at random, as their symmetry allows.

    By default all elements of a set move together: the group is :math:`S_N \times H`, and pixels
    of different elements stay on top of each other. With ``per_element`` each element moves on
    its own, the wreath product :math:`H \wr S_N`.

    Args:
        crop: Height and width of the result.
        flip: Whether to mirror left and right in half of all cases.
        rotate: Whether to turn by a random multiple of 90°.
        per_element: Whether elements of a set move on their own.

    Shape:
        - x: ``(B, N, C, H, W)``, of any type.
        - output: ``(B, N, C, crop, crop)``.

    Example:
        >>> x = torch.rand(2, 1, 3, 80, 80).expand(2, 5, 3, 80, 80)  # five copies of a picture
        >>> y = Augment(64, rotate=True)(x)
        >>> y.shape, torch.equal(y[:, 0], y[:, 4])
        (torch.Size([2, 5, 3, 64, 64]), True)
    """

    crop: int
    flip: bool = True
    rotate: bool = False
    per_element: bool = False

    def __post_init__(self) -> None:
        positive("crop", self.crop)
        for name in ("flip", "rotate", "per_element"):
            check_choice(name, getattr(self, name), (True, False))

    def __call__(
        self, x: Tensor, *, generator: torch.Generator | None = None, move: bool = True
    ) -> Tensor:
        """Move sets at random, or return the middle of each picture without ``move``.

        A ``generator`` is on the device of ``x``.
        """
        if not isinstance(x, Tensor) or x.dim() != 5:
            got = tuple(x.shape) if isinstance(x, Tensor) else shown(x)
            raise ValueError(f"x must have the shape (B, N, C, H, W), got {got}")
        height, width = x.shape[-2:]
        if not 1 <= self.crop <= min(height, width):
            raise ValueError(f"crop must be in 1..{min(height, width)}, got {self.crop}")
        if not move:
            i, j = (height - self.crop) // 2, (width - self.crop) // 2
            return x[..., i : i + self.crop, j : j + self.crop]
        shape = (len(x), x.shape[1] if self.per_element else 1)

        def integers(high: int) -> Tensor:
            return torch.randint(high, shape, generator=generator, device=x.device)

        top, left = integers(height - self.crop + 1), integers(width - self.crop + 1)
        turns = integers(4) if self.rotate else torch.zeros_like(top)
        mirror = integers(2).bool() if self.flip else torch.zeros_like(top, dtype=torch.bool)
        index = self._index(top, left, turns, mirror, width)[:, :, None].flatten(3)
        moved = x.flatten(3).gather(3, index.expand(*x.shape[:3], -1))
        return moved.unflatten(3, (self.crop, self.crop))

    def _index(
        self, top: Tensor, left: Tensor, turns: Tensor, mirror: Tensor, width: int
    ) -> Tensor:
        """Return the input pixel of every output pixel, ``(*top.shape, crop, crop)``."""
        place = torch.arange(self.crop, device=top.device)
        last = self.crop - 1
        turns = turns[..., None, None]
        j = torch.where(mirror[..., None, None], last - place, place)  # (B, 1 or N, 1, crop)
        i = place[:, None].expand(*j.shape[:2], self.crop, 1)  # (B, 1 or N, crop, 1)
        # a turn by 90° against the clock takes (i, j) from (j, last - i)
        row = torch.where(turns % 2 == 0, i, j)
        row = torch.where((turns == 2) | (turns == 3), last - row, row)
        column = torch.where(turns % 2 == 0, j, i)
        column = torch.where((turns == 1) | (turns == 2), last - column, column)
        return (row + top[..., None, None]) * width + column + left[..., None, None]

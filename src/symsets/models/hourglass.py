"""Gated blocks at several resolutions, for sets of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch.nn.functional as F
from torch import nn

from symsets._checks import positive
from symsets.models._convolution import convolution
from symsets.models.restoration import GatedBlock
from symsets.nn import Sequential
from symsets.nn.base import SetModule
from symsets.sets import Sets, map_elements


class Hourglass(SetModule):
    """Gated blocks at several resolutions: down to the coarsest one, and up again.

    Args:
        scheme: How elements meet in every block, a name from :func:`symsets.schemes`.
        channels: At each resolution, the finest first.
        num_blocks: At each resolution; half of them before it becomes coarser, the others after
            it has become finer again.
        middle: The scheme at the coarsest resolution, if it is another.
        size: What sums over a set are divided by.

    Shape:
        - x: ``(B, N, C, H, W)`` or ragged, with H and W multiples of 2 for each halving; the output
          as well.

    Symmetry:
        Equivariant to :math:`S_N`, and to shifts of all pictures by such multiples, but for the
        border.

    Example:
        >>> import torch
        >>> Hourglass("dss-mean", [8, 16], [2, 1])(torch.randn(1, 3, 8, 12, 20)).shape
        torch.Size([1, 3, 8, 12, 20])
    """

    min_axes = 5

    def __init__(
        self,
        scheme: str,
        channels: Sequence[int],
        num_blocks: Sequence[int],
        *,
        middle: str | None = None,
        size: float = 1.0,
    ) -> None:
        super().__init__()
        checked_resolutions(channels=channels, num_blocks=num_blocks)

        def blocks(scheme: str, channels: int, num: int) -> Sequential:
            return Sequential(*(GatedBlock(scheme, channels, size=size) for _ in range(num)))

        *finer, coarsest = zip(channels, num_blocks, strict=True)
        self.down = nn.ModuleList(blocks(scheme, c, n // 2) for c, n in finer)
        self.up = nn.ModuleList(blocks(scheme, c, n - n // 2) for c, n in finer)
        self.middle = blocks(middle or scheme, *coarsest)
        steps = list(pairwise(channels))
        self.coarsen = nn.ModuleList(convolution(i, o, kernel_size=2, stride=2) for i, o in steps)
        self.refine = nn.ModuleList(convolution(o, 4 * i, kernel_size=1) for i, o in steps)

    def forward(self, x: Sets) -> Any:
        """Apply all blocks."""
        kept = []
        for blocks, coarsen in zip(self.down, self.coarsen, strict=True):
            x = blocks(x)
            kept.append(x)
            x = map_elements(x, coarsen)
        x = self.middle(x)
        for blocks, refine in zip(reversed(self.up), reversed(self.refine), strict=True):
            finer = map_elements(x, lambda rows, refine=refine: F.pixel_shuffle(refine(rows), 2))
            x = blocks(kept.pop() + finer)
        return x


def checked_resolutions(**given: Any) -> list[list[int]]:
    """Return two arguments; raise unless both have a number for each resolution."""
    first, second = ([positive(name, n) for n in numbers] for name, numbers in given.items())
    if len(first) != len(second) or not first:
        names = " and ".join(given)
        raise ValueError(
            f"{names} must have a number for each resolution, got {first} and {second}"
        )
    return [first, second]

"""The network that tells which shot of a scene is the best."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from symsets.models._blocks import image_size, in_full_precision
from symsets.models._convolution import convolution
from symsets.models.hourglass import checked_resolutions
from symsets.models.registry import RegisteredNetwork, register_network
from symsets.models.restoration import GatedBlock, in_cells
from symsets.models.sharpness import MEASURED, appearance
from symsets.nn import Select, Sequential, Siamese
from symsets.sets import Sets, fold, map_elements

CELL = 2  # pixels on each side of what the first layer reads
ENLARGED = 4.0  # what detail is multiplied by: noise and blur are small beside edges
SMALLEST = 5  # pixels on each side: with fewer there are no slopes to measure
FAINT = 1e-4  # added to variances, which may be zero


@register_network("best")
class BestNetwork(RegisteredNetwork):
    r"""Give every shot of a scene a score: the higher, the better it shows the scene.

    Beside its colours a picture gets their fine detail, enlarged, and cells of 2×2 pixels become
    channels. Gated blocks follow at several resolutions, each half as fine as the one before; shots
    meet in all of them by a scheme, so each is compared with the others pixel by pixel. What a shot
    has at each resolution becomes the mean of each channel over all pixels, and the logarithm of
    its variance. A DeepSets block makes scores of these, and of classical measures of detail,
    noise, contrast and brightness (:func:`~symsets.models.sharpness.appearance`): where shots
    differ in one thing alone, such a measure is hard to beat.

    The logarithm and the detail are there since traces of noise and blur are small beside the
    scene: with plain squares of channels the network hardly learnt, and without the detail slower.

    Scores say how much better a shot is than others of its set: only differences count.

    Args:
        scheme: How shots meet, a name from :func:`symsets.schemes`.
        colors: Channels of a picture.
        channels: At each resolution, the finest first.
        num_blocks: At each resolution.
        hidden: Widths of the DeepSets block.

    Shape:
        - x: ``(B, N, colors, H, W)`` or ragged, of 5 pixels or more on each side, with values in
          [0, 1].
        - output: scores ``(B, N)``, or ragged with elements ``(T,)``.

    Symmetry:
        Equivariant to :math:`S_N`. Shifts of all pictures together change the scores only through
        the borders and the strides: the symmetry is approximate.

    Example:
        >>> net = BestNetwork(channels=(8, 16), num_blocks=(1, 1))
        >>> net(torch.rand(2, 5, 3, 21, 30)).shape
        torch.Size([2, 5])
    """

    def __init__(
        self,
        scheme: str = "dss-mean",
        *,
        colors: int = 3,
        channels: Sequence[int] = (32, 64, 96),
        num_blocks: Sequence[int] = (2, 2, 2),
        hidden: Sequence[int] = (128, 64),
    ) -> None:
        super().__init__()
        checked_resolutions(channels=channels, num_blocks=num_blocks)
        self.stride = CELL * 2 ** (len(channels) - 1)  # of pixels: what height and width become
        self.first = Siamese(
            convolution(CELL**2 * 2 * colors, channels[0], kernel_size=3, padding=1)
        )
        self.blocks = nn.ModuleList(
            Sequential(*(GatedBlock(scheme, width) for _ in range(num)))
            for width, num in zip(channels, num_blocks, strict=True)
        )
        self.coarsen = nn.ModuleList(
            convolution(i, o, kernel_size=2, stride=2) for i, o in pairwise(channels)
        )
        self.scores = Select(MEASURED + 2 * sum(channels), hidden=hidden, pool="mean")

    def forward(self, x: Sets) -> Any:
        """Return one score per shot."""
        image_size(x, self.arguments["colors"], smallest=SMALLEST)
        found = [in_full_precision(self.scores, map_elements, x, _measured)]
        x = self.first(map_elements(x, self._cells))
        for level, blocks in enumerate(self.blocks):
            if level:
                x = map_elements(x, self.coarsen[level - 1])
            x = blocks(x)
            found.append(map_elements(x, _summary))
        rows, unfolds = zip(*map(fold, found), strict=True)
        return in_full_precision(self.scores, self.scores, unfolds[0](torch.cat(rows, dim=-1)))

    def _cells(self, rows: Tensor) -> Tensor:
        detail = rows - F.avg_pool2d(rows, 3, 1, padding=1, count_include_pad=False)
        return in_cells(torch.cat([rows, ENLARGED * detail], dim=1), CELL, self.stride)


def _measured(rows: Tensor) -> Tensor:
    """Return classical measures of pictures ``(T, C, H, W)``."""
    return appearance(rows) if rows.shape[0] else rows.new_zeros(0, MEASURED)


def _summary(rows: Tensor) -> Tensor:
    """Return the mean of each channel over all pixels, and the logarithm of its variance."""
    if not rows.shape[0]:  # torch would warn of a variance of nothing
        return rows.new_zeros(0, 2 * rows.shape[1])
    rows = rows.float() if rows.dtype != torch.float64 else rows
    variance, mean = torch.var_mean(rows, (2, 3), correction=0)
    return torch.cat([mean, (variance + FAINT).log()], dim=1)  # (T, 2 C)

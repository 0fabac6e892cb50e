"""One fine picture of a set of coarse ones."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from symsets.experiments.satellite.registration import masked_mean
from symsets.experiments.satellite.scenes import SCALE
from symsets.experiments.satellite.sets import CHANNELS, CLEAR, FINE, RAW, SEEN, SHIFT
from symsets.models._blocks import image_size, in_full_precision
from symsets.models._convolution import convolution
from symsets.models.registry import RegisteredNetwork, register_network
from symsets.models.restoration import WeightedMerge, restoration_trunk
from symsets.sets import Sets, fold, pool, spread


@register_network("satellite")
class SatelliteNetwork(RegisteredNetwork):
    r"""Merge coarse pictures of one place into one that is three times as fine.

    A trunk of gated blocks in which elements meet by a scheme; a merge with learned weights for
    every pixel and channel; a second trunk for the merged picture; and nine channels that become
    3×3 pixels, added to the mean of the clear pixels of the registered set. At first the output is
    that mean.

    What a picture shows under clouds is replaced by that mean, all pictures are brought to one
    brightness, and the mean itself is given to every element: an early aggregation that also the
    network whose elements do not meet in the trunk has.

    Args:
        model: A scheme; ``"siamese"`` lets elements meet in the mean and in the merge only.
        channels: Of the trunk.
        num_blocks: Of the trunk.
        merged_channels: Of the merged picture.
        merged_blocks: Of the trunk for the merged picture.
        num_elements: Set size of training, which sums are divided by.
        contrast: What pictures are divided by: how much places differ in brightness.
        gives_mean: Whether the mean of the set is an input; if not, what is under clouds becomes
            the mean of its own picture, and elements meet for the first time in the trunk.
        drop: In training, the share of sets that skip a block.

    Shape:
        - x: ``(B, N, 14, H, W)`` or ragged, elements as :class:`~.sets.SceneSets` makes them.
        - output: ``(B, 1, 3 H, 3 W)``.

    Symmetry:
        Invariant to :math:`S_N`. A constant added to all pictures of a set is added to the output.

    Example:
        >>> net = SatelliteNetwork("dss-mean", channels=8, num_blocks=1, merged_channels=8)
        >>> net(torch.rand(2, 5, 14, 16, 16)).shape
        torch.Size([2, 1, 48, 48])
    """

    def __init__(
        self,
        model: str,
        *,
        channels: int = 64,
        num_blocks: int = 6,
        merged_channels: int = 128,
        merged_blocks: int = 6,
        num_elements: int = 16,
        contrast: float = 0.02,
        gives_mean: bool = True,
        drop: float = 0.0,
    ) -> None:
        super().__init__()
        self.contrast = contrast
        self.gives_mean = gives_mean
        given = CHANNELS + (SCALE**2 + 1 if gives_mean else 0)
        self.trunk = restoration_trunk(
            model, given, channels, num_blocks, size=num_elements, drop=drop
        )
        self.merge = WeightedMerge(channels, merged_channels)
        self.merged = restoration_trunk(
            "siamese", merged_channels, merged_channels, merged_blocks, drop=drop
        )
        self.last = convolution(merged_channels, SCALE**2, kernel_size=3, padding=1)
        for parameter in self.last.parameters():
            nn.init.zeros_(parameter)

    def forward(self, x: Sets) -> Tensor:
        image_size(x, CHANNELS)
        with torch.autocast(x.device.type, enabled=False):
            mean, given = self._prepare(x)
        merged: Tensor = self.merge(self.trunk(given))  # type: ignore[assignment]
        detail = self.merged(merged.unsqueeze(1)).squeeze(1)
        detail = in_full_precision(self.last, self.last, detail)
        return F.pixel_shuffle(mean + self.contrast * detail, SCALE)

    def _prepare(self, x: Sets) -> tuple[Tensor, Sets]:
        """Return the mean of each set ``(B, 9, H, W)``, and what the trunk is given."""
        rows, unfold = fold(x)
        fine, seen, clear = rows[:, FINE], rows[:, SEEN], rows[:, CLEAR]
        mean, brightness = masked_mean(unfold(fine), unfold(seen))
        level = mean.mean((1, 2, 3), keepdim=True)
        own = fold(brightness)[0] + _rows(level, x)
        centred = (mean - level) / self.contrast
        around = _rows(centred, x) if self.gives_mean else torch.zeros_like(fine)
        fine = torch.where(seen > 0, (fine - own) / self.contrast, around)
        middle = SCALE**2 // 2
        raw = torch.where(
            clear > 0, (rows[:, RAW] - own) / self.contrast, around[:, middle : middle + 1]
        )
        parts = [raw, clear, rows[:, SHIFT], seen, fine]
        if self.gives_mean:
            parts += [around, _rows(pool(unfold(seen), "mean"), x)]
        return mean, unfold(torch.cat(parts, dim=1).contiguous(memory_format=torch.channels_last))


def _rows(summary: Tensor, x: Sets) -> Tensor:
    """Return the summary ``(B, *F)`` of its set for each element, as rows ``(T, *F)``."""
    spread_out = spread(summary, x)
    if isinstance(x, Tensor):
        return spread_out.expand(-1, x.shape[1], *summary.shape[1:]).flatten(0, 1)
    return spread_out

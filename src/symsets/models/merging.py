"""One clean picture from several shots of a scene."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from symsets._checks import positive
from symsets.models._blocks import image_size, in_full_precision
from symsets.models._convolution import convolution
from symsets.models.registry import register_network
from symsets.models.restoration import GatedBlock, WeightedMerge, in_cells, restoration_trunk
from symsets.nn import Sequential
from symsets.sets import RaggedSets, Sets, fold, map_elements, pool

FINEST = 2  # pixels on each side of a cell that the first layer reads


def with_reference(x: Sets, which: int | Sequence[int] = 0) -> Any:
    """Add a channel that is 1 in one element of each set and 0 in the others.

    It distinguishes an element, such as the shot whose place and exposure the result should have,
    and leaves the symmetry of the others: a set may still come in any order.

    Args:
        x: ``(B, N, C, *E)`` or ragged.
        which: The element, in all sets or in each of them.

    Example:
        >>> with_reference(torch.zeros(1, 3, 1, 1, 1), 2)[..., 0, 0]
        tensor([[[0., 0.],
                 [0., 0.],
                 [0., 1.]]])
    """
    rows, unfold = fold(x)
    sizes = x.sizes if isinstance(x, RaggedSets) else torch.full((len(x),), x.shape[1])
    places = torch.as_tensor(which).expand(len(sizes))
    if bool(((places < 0) | (places >= sizes.cpu())).any()):
        raise ValueError(f"which must be an element of each set, got {which}")
    first = sizes.cpu().cumsum(0) - sizes.cpu()
    flag = rows.new_zeros(len(rows), 1, *rows.shape[2:])
    flag[(first + places).to(rows.device)] = 1
    return unfold(torch.cat([rows, flag], dim=1))


@register_network("merge")
class MergeNetwork(nn.Module):
    r"""Merge shots of one scene into the picture that one of them, the reference, should show.

    .. math:: x_r + \operatorname{shuffle}\Bigl(G\bigl(\textstyle\sum_i
        \operatorname{softmax}_i(A h_i) \cdot B h_i\bigr)\Bigr), \qquad
        h = \operatorname{trunk}(\operatorname{unshuffle} X)

    Cells of 2×2 pixels become channels. A trunk of gated blocks, in which shots meet by a scheme,
    then a merge with learned weights for every cell and channel. :math:`G` looks at the merged
    picture at several resolutions, each half as fine as the one before, and ends in what is added
    to the reference: at first nothing.

    Args:
        scheme: How shots meet, a name from :func:`symsets.schemes`.
        colors: Channels of a picture.
        channels: Of the trunk.
        num_blocks: Of the trunk.
        merged_channels: Of the merged picture, at each resolution.
        merged_blocks: At each resolution (see :class:`Hourglass`).

    Shape:
        - x: ``(B, N, colors + 1, H, W)`` or ragged, of any height and width; the last channel is 1
          in the reference and 0 elsewhere (see :func:`with_reference`).
        - output: ``(B, colors, H, W)``.

    Symmetry:
        Invariant to :math:`S_N`.

    Example:
        >>> net = MergeNetwork(channels=8, merged_channels=(8, 16), merged_blocks=(2, 1))
        >>> x = with_reference(torch.rand(2, 5, 3, 21, 30))
        >>> torch.equal(net(x), x[:, 0, :3])
        True
    """

    def __init__(
        self,
        scheme: str = "dss-mean",
        *,
        colors: int = 3,
        channels: int = 48,
        num_blocks: int = 5,
        merged_channels: Sequence[int] = (64, 96, 128),
        merged_blocks: Sequence[int] = (4, 4, 4),
    ) -> None:
        super().__init__()
        wide, deep = (
            [positive(name, number) for number in numbers]
            for name, numbers in (
                ("merged_channels", merged_channels),
                ("merged_blocks", merged_blocks),
            )
        )
        if len(wide) != len(deep) or not wide:
            raise ValueError(
                "merged_channels and merged_blocks must have a number for each resolution, got "
                f"{list(merged_channels)} and {list(merged_blocks)}"
            )
        self.arguments: dict[str, Any] = {
            "scheme": scheme,
            "colors": positive("colors", colors),
            "channels": positive("channels", channels),
            "num_blocks": positive("num_blocks", num_blocks),
            "merged_channels": wide,
            "merged_blocks": deep,
        }
        self.colors = colors
        self.stride = FINEST * 2 ** (len(wide) - 1)  # of pixels: what height and width become
        self.trunk = restoration_trunk(scheme, FINEST**2 * (colors + 1), channels, num_blocks)
        self.merge = WeightedMerge(channels, wide[0])
        self.hourglass = Hourglass(wide, deep)
        self.last = convolution(wide[0], FINEST**2 * colors, kernel_size=3, padding=1)
        nn.init.zeros_(self.last.weight)
        assert self.last.bias is not None
        nn.init.zeros_(self.last.bias)

    def extra_repr(self) -> str:
        """Show what the network was made from."""
        return ", ".join(f"{name}={value}" for name, value in self.arguments.items())

    def forward(self, x: Sets) -> Tensor:
        """Return a picture for every set."""
        height, width = image_size(x, self.colors + 1)
        reference = pool(map_elements(x, self._only_reference), "sum")
        cells = map_elements(x, lambda rows: in_cells(rows, FINEST, self.stride))
        merged = self.hourglass(self.merge(self.trunk(cells)))
        detail = in_full_precision(self.last, self.last, merged)
        return reference + F.pixel_shuffle(detail, FINEST)[..., :height, :width]

    def _only_reference(self, rows: Tensor) -> Tensor:
        return rows[:, : self.colors] * rows[:, self.colors :]


class Hourglass(nn.Module):
    """Gated blocks at several resolutions: down to the coarsest one, and up again.

    Args:
        channels: At each resolution, the finest first.
        num_blocks: At each resolution; half of them before it becomes coarser, the others after
            it has become finer again.

    Shape:
        - x: ``(B, C, H, W)`` with H and W multiples of 2 for each halving; the output as well.

    Symmetry:
        Equivariant to shifts by such multiples, but for the border.

    Example:
        >>> Hourglass([8, 16], [2, 1])(torch.randn(1, 8, 12, 20)).shape
        torch.Size([1, 8, 12, 20])
    """

    def __init__(self, channels: Sequence[int], num_blocks: Sequence[int]) -> None:
        super().__init__()
        *finer, coarsest = zip(channels, num_blocks, strict=True)
        self.down = nn.ModuleList(_blocks(c, n // 2) for c, n in finer)
        self.up = nn.ModuleList(_blocks(c, n - n // 2) for c, n in finer)
        self.middle = _blocks(*coarsest)
        steps = list(pairwise(channels))
        self.coarsen = nn.ModuleList(convolution(i, o, kernel_size=2, stride=2) for i, o in steps)
        self.refine = nn.ModuleList(convolution(o, 4 * i, kernel_size=1) for i, o in steps)

    def forward(self, x: Tensor) -> Tensor:
        """Apply all blocks."""
        kept = []
        for blocks, coarsen in zip(self.down, self.coarsen, strict=True):
            x = _each(blocks, x)
            kept.append(x)
            x = coarsen(x)
        x = _each(self.middle, x)
        for blocks, refine in zip(reversed(self.up), reversed(self.refine), strict=True):
            x = _each(blocks, kept.pop() + F.pixel_shuffle(refine(x), 2))
        return x


def _blocks(channels: int, num: int) -> Sequential:
    return Sequential(*(GatedBlock("siamese", channels) for _ in range(num)))


def _each(blocks: nn.Module, x: Tensor) -> Tensor:
    """Apply blocks to single pictures, as sets of one."""
    pictures: Tensor = blocks(x.unsqueeze(1)).squeeze(1)
    return pictures

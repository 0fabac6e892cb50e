"""One clean picture from several shots of a scene."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from symsets._checks import positive, shown
from symsets.models._blocks import image_size, in_full_precision
from symsets.models._convolution import zero_convolution
from symsets.models.hourglass import Hourglass, checked_resolutions
from symsets.models.registry import RegisteredNetwork, register_network
from symsets.models.restoration import WeightedMerge, in_cells, restoration_trunk
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
    if not isinstance(rows, Tensor) or rows.ndim < 2:
        raise ValueError(f"x must be sets of elements with channels, got {shown(x)}")
    sizes = x.sizes.cpu() if isinstance(x, RaggedSets) else torch.full((len(x),), x.shape[1])
    given = [which] * len(sizes) if isinstance(which, int) else list(which)
    if len(given) != len(sizes):
        raise ValueError(f"which must be one number, or one for each set, got {shown(which)}")
    places = torch.tensor([operator.index(place) for place in given], dtype=torch.int64)
    if bool(((places < 0) | (places >= sizes)).any()):
        raise ValueError(f"which must be an element of each set, got {shown(which)}")
    flag = rows.new_zeros(len(rows), 1, *rows.shape[2:])
    if isinstance(x, Tensor) and isinstance(which, int):
        unfold(flag)[:, which] = 1  # to copy places to a GPU would wait for it
    else:
        first = sizes.cumsum(0) - sizes
        flag[(first + places).to(rows.device)] = 1
    return unfold(torch.cat([rows, flag], dim=1))


@register_network("merge")
class MergeNetwork(RegisteredNetwork):
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
        merged_blocks: At each resolution (see :class:`~.hourglass.Hourglass`).

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
        wide, deep = checked_resolutions(
            merged_channels=merged_channels, merged_blocks=merged_blocks
        )
        self.arguments = {
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
        self.hourglass = Hourglass("siamese", wide, deep)
        self.last = zero_convolution(wide[0], FINEST**2 * colors)

    def forward(self, x: Sets) -> Tensor:
        """Return a picture for every set."""
        height, width = image_size(x, self.colors + 1)
        reference = pool(map_elements(x, self._only_reference), "sum")
        cells = map_elements(x, lambda rows: in_cells(rows, FINEST, self.stride))
        merged = self.merge(self.trunk(cells)).unsqueeze(1)  # sets of one
        merged = self.hourglass(merged).squeeze(1)
        detail = in_full_precision(self.last, self.last, merged)
        return reference + F.pixel_shuffle(detail, FINEST)[..., :height, :width]

    def _only_reference(self, rows: Tensor) -> Tensor:
        return rows[:, : self.colors] * rows[:, self.colors :]

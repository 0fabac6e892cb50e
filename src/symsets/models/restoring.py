"""The U-Net of the paper's experiments on pictures, as one would build it today."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from symsets._checks import check_choice
from symsets.models._blocks import check_model, image_size, in_full_precision
from symsets.models._convolution import convolution, zero_convolution
from symsets.models.hourglass import Hourglass
from symsets.models.registry import RegisteredNetwork, register_network
from symsets.models.restoration import WeightedMerge
from symsets.nn import Siamese
from symsets.sets import Sets, map_elements, pool

TASKS = ("transform", "merge")
BLOCKS = (2, 2, 2, 2)
WIDTHS = {  # about 5.2 M parameters, as many as the paper's networks have
    "transform": {
        "dss": (40, 80, 120, 176),
        "siamese": (56, 112, 168, 208),
        "sridhar": (56, 112, 168, 208),
        "siamese-ds": (48, 88, 136, 192),
        "aittala": (64, 128, 200, 256),
        "attention": (32, 64, 96, 128),
        "isab": (32, 64, 96, 128),
        "wreath": (56, 112, 168, 200),
    },
    "merge": {
        "dss": (32, 64, 112, 128),
        "siamese": (40, 80, 112, 152),
        "sridhar": (40, 80, 112, 152),
        "siamese-ds": (32, 64, 96, 152),
        "aittala": (40, 80, 136, 160),
        "attention": (24, 48, 80, 120),
        "isab": (24, 48, 80, 120),
        "wreath": (40, 80, 120, 144),
    },
}


@register_network("restoring")
class RestoringNetwork(RegisteredNetwork):
    r"""Map a set of pictures to new pictures, or to one, by gated blocks at several resolutions.

    .. math:: h = \operatorname{hourglass}(K x_i), \qquad
        y_i = x_i + L h_i \quad \text{or} \quad
        y = \operatorname{mean}_j x_j +
            L\,G\bigl(\textstyle\sum_i \operatorname{softmax}_i(A h_i) \cdot B h_i\bigr)

    There is no batch normalisation. Elements meet in every block by the scheme; ``"siamese-ds"``
    lets them meet at the coarsest resolution only. :math:`G` is a second hourglass, for the merged
    picture. At first nothing is added to the input, or to the mean of the set.

    Args:
        model: A scheme from :func:`symsets.schemes`, or ``"siamese-ds"``.
        task: ``"transform"`` (a picture of each element) or ``"merge"`` (one of the set).
        channels: At each resolution, the finest first; if left out, as many as give every model
            about the same number of parameters.
        num_blocks: At each resolution.
        in_channels: Of a picture.
        out_channels: Of a new one.
        num_elements: Set size of training, which sums are divided by.

    Shape:
        - x: ``(B, N, C, H, W)`` or ragged; height and width are multiples of 2 for each halving.
        - output: ``(B, N, C', H, W)`` or ragged; ``(B, C', H, W)`` to merge.

    Symmetry:
        Equivariant (transform) or invariant (merge) to :math:`S_N`.

    Example:
        >>> import torch
        >>> net = RestoringNetwork("dss-mean", task="merge", channels=(8, 16), num_blocks=(2, 1))
        >>> x = torch.randn(2, 5, 3, 16, 24)
        >>> torch.allclose(net(x), x.mean(1), atol=1e-6)
        True
    """

    def __init__(
        self,
        model: str,
        *,
        task: str = "transform",
        channels: Sequence[int] | None = None,
        num_blocks: Sequence[int] = BLOCKS,
        in_channels: int = 3,
        out_channels: int = 3,
        num_elements: int = 5,
    ) -> None:
        super().__init__()
        check_model(model)
        check_choice("task", task, TASKS)
        if channels is None:
            channels = WIDTHS[task].get(model, WIDTHS[task]["dss"])
        self.keep("channels", channels)
        self.stride = 2 ** (len(channels) - 1)
        late = model == "siamese-ds"
        self.first = Siamese(convolution(in_channels, channels[0], kernel_size=3, padding=1))
        self.hourglass = Hourglass(
            "siamese" if late else model,
            channels,
            num_blocks,
            middle="dss-max" if late else None,
            size=float(num_elements),
        )
        self.merge = None
        if task == "merge":
            self.merge = WeightedMerge(channels[0], channels[0])
            self.merged = Hourglass("siamese", channels, num_blocks)
        self.last = zero_convolution(channels[0], out_channels)

    def forward(self, x: Sets) -> Any:
        """Return a new picture for every element, or for every set."""
        image_size(x, self.arguments["in_channels"], stride=self.stride)
        features = self.hourglass(self.first(x))
        same = self.arguments["in_channels"] == self.arguments["out_channels"]
        if self.merge is None:
            detail = map_elements(features, self._ended)
            return x + detail if same else detail
        merged: Tensor = self.merge(features)  # type: ignore[assignment]
        detail = self._ended(self.merged(merged.unsqueeze(1)).squeeze(1))
        return pool(x, "mean") + detail if same else detail

    def _ended(self, rows: Tensor) -> Any:
        return in_full_precision(self.last, self.last, rows)

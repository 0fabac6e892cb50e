"""U-Nets for sets of images: a new image for every element, or one for the whole set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from symsets import ops
from symsets._checks import check_choice
from symsets.models._blocks import (
    RECIPES,
    Layers,
    check_model,
    default_widths,
    image_size,
    in_full_precision,
)
from symsets.models._convolution import Conv2d, MaxPool2d
from symsets.models.registry import RegisteredNetwork, register_network
from symsets.nn import Merge, Sequential
from symsets.nn._explain import check_type
from symsets.nn.base import SetModule
from symsets.nn.registry import dss_pool
from symsets.ops.layout import pixel_rows
from symsets.sets import Sets, fold, map_elements, pool

TASKS = ("transform", "merge")
LAST_STRIDE = 8  # of the pooling before the bottleneck; all others have stride 2
WIDTHS: dict[int, dict[str, dict[str, tuple[int, ...]]]] = {
    64: {
        "published": {
            "siamese": (64, 128, 200, 300),
            "dss": (50, 100, 150, 200),
            "aittala": (75, 100, 150, 160),
        },
        "ours": {  # multiples of 8, as many parameters within 5 %
            "siamese": (64, 128, 200, 304),
            "dss": (48, 96, 152, 200),
            "aittala": (80, 96, 152, 160),
            "attention": (32, 72, 104, 144),
            "wreath": (64, 128, 192, 280),
        },
    },
    128: {
        "published": {
            "siamese": (48, 64, 128, 200, 300),
            "dss": (48, 50, 100, 150, 200),
            "aittala": (75, 100, 110, 125, 125),
        },
        "ours": {
            "siamese": (48, 64, 128, 200, 304),
            "dss": (48, 48, 96, 152, 200),
            "aittala": (72, 96, 112, 128, 128),
            "attention": (32, 40, 72, 104, 144),
            "wreath": (48, 64, 128, 192, 280),
        },
    },
}


@register_network("unet")
class UNet(RegisteredNetwork):
    r"""Map a set of images to new images through several resolutions.

    The encoder has a block of two 3×3 convolutions (padding 1, batch normalisation, ReLU,
    dropout) per resolution, each followed by max-pooling, at last by 8. Three DeepSets layers with
    maxima look at what is left, one pixel at the size of training. The decoder enlarges
    bilinearly, joins what the encoder had at that resolution, and convolves twice. All models but
    ``"siamese"`` let elements meet in the DeepSets layers; ``"siamese-ds"`` only there.

    With task ``"transform"`` a 1×1 layer (a set layer for DSS, a Siamese one otherwise) ends the
    network; with ``"merge"`` the maximum over the set, two 3×3 convolutions and a clamp to
    [−1, 1], before which recipe ``"ours"`` adds the mean of the set: it learns what the mean lacks.

    The published form has the released numbers of parameters: for ``"siamese-ds"`` and
    ``"sridhar"``, DSS, and ``"aittala"`` 5,243,673, 5,252,418 and 5,144,644 (64 px, transform)
    and 5,152,035, 5,192,307 and 5,227,278 (128 px, merge).

    Args:
        model: ``"siamese"``, ``"siamese-ds"``, ``"dss-sum"``, ``"dss-mean"``, ``"dss-max"``,
            ``"dss-median"``, ``"aittala"``, ``"sridhar"``, ``"attention"``, ``"wreath"``, or
            another scheme (see :func:`symsets.schemes`).
        size: Pixels of an image in training, 64 (four resolutions) or 128 (five).
        recipe: ``"published"`` follows the released code: batch normalisation on each branch of
            DSS (the context after it is pooled), plain sums, a last pooling that sees the 2×2
            corner of each 8×8 window, enlarging with aligned corners, and batch normalisation
            after the last layer of ``"transform"``. ``"ours"`` divides sums by the set size,
            normalises once after the branches are added, pools all of the 8×8 window, leaves the
            output of ``"transform"`` as it is, and adds the mean of the set to that of ``"merge"``
            if both have as many channels.
        widths: Channels per resolution; those of the recipe if left out. For ``"aittala"`` they
            are those of its map, doubled by concatenation.
        task: ``"transform"`` or ``"merge"``.
        num_elements: Set size of training.
        in_channels: Channels of an image.
        out_channels: Channels of an image of the output.
        dropout: Rate of dropout of whole channels. The released code leaves it to its caller.

    Shape:
        - x: ``(B, N, C, H, W)`` or ragged, with H and W multiples of ``size``. In training, batch
          normalisation of one pixel needs B ≥ 2 (recipe ``"published"``) or T ≥ 2.
        - output: ``(B, N, C', H, W)`` or ragged (transform); ``(B, C', H, W)`` (merge).

    Symmetry:
        Equivariant (transform) or invariant (merge) to :math:`S_N`. Shifts of all images together
        are an approximate symmetry only: zero padding and enlarging see the borders, and pooling
        windows allow multiples of ``size`` alone.

    Example:
        >>> net = UNet("dss-sum", size=64, recipe="published")
        >>> sum(p.numel() for p in net.parameters())
        5252418
        >>> net = UNet("aittala", size=128, widths=(2, 2, 4, 4, 4), task="merge")
        >>> net(torch.randn(1, 3, 3, 128, 128)).shape
        torch.Size([1, 3, 128, 128])
    """

    def __init__(
        self,
        model: str,
        *,
        size: int = 64,
        recipe: str = "ours",
        widths: Sequence[int] | None = None,
        task: str = "transform",
        num_elements: int = 6,
        in_channels: int = 3,
        out_channels: int = 3,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_model(model)
        check_choice("recipe", recipe, RECIPES)
        check_choice("size", size, tuple(WIDTHS))
        check_choice("task", task, TASKS)
        defaults = default_widths(WIDTHS[size], model, recipe)
        widths = defaults if widths is None else widths
        if len(widths) != len(defaults):
            raise ValueError(
                f"widths must hold {len(defaults)} numbers of channels for size {size}, "
                f"got {list(widths)}"
            )
        self.keep("widths", widths)
        self.stride = size
        layers = Layers(
            model, recipe, num_elements=num_elements, activation=nn.ReLU, dropout=dropout
        )
        channels = [layers.channels(width) for width in widths]
        self._make_encoder(layers, in_channels, channels)
        self.bottleneck = layers.bottleneck(channels[-1])
        # As released: before the 1×1 layer the last block keeps the second width.
        last = channels[1] if task == "transform" else channels[0]
        self._make_decoder(layers, channels, last)
        head = _transform_head if task == "transform" else _merge_head
        self.head = head(layers, last + channels[0], out_channels)
        merges = task == "merge"
        self.clamp = nn.Hardtanh(-1, 1) if merges else nn.Identity()
        self.adds_mean = merges and not layers.published and in_channels == out_channels

    def _make_encoder(self, layers: Layers, in_channels: int, channels: list[int]) -> None:
        inputs = [in_channels, *channels[:-1]]
        self.encoder = nn.ModuleList(
            layers.block([i, o, o], padding=1) for i, o in zip(inputs, channels, strict=True)
        )
        window = 2 if layers.published else LAST_STRIDE
        self.pools = nn.ModuleList(
            [*(MaxPool2d(2) for _ in inputs[1:]), MaxPool2d(window, LAST_STRIDE)]
        )

    def _make_decoder(self, layers: Layers, channels: list[int], last: int) -> None:
        outputs = [*channels[-2:0:-1], last]
        self.decoder = nn.ModuleList(
            layers.block([2 * skip, o, o], padding=1)
            for skip, o in zip(channels[:0:-1], outputs, strict=True)
        )
        self.joins = nn.ModuleList(
            _Join(scale, align_corners=layers.published)
            for scale in (LAST_STRIDE, *(2 for _ in outputs))
        )

    def forward(self, x: Sets) -> Sets:
        """Return a new image for every element, or for every set."""
        image_size(x, self.arguments["in_channels"], stride=self.stride)
        mean = pool(x, "mean") if self.adds_mean else None
        skips = []
        for block, shrink in zip(self.encoder, self.pools, strict=True):
            x = block(x)
            skips.append(x)
            x = map_elements(x, shrink)
        x = self.bottleneck(x)
        *joins, last = self.joins
        for join, block in zip(joins, self.decoder, strict=True):
            x = block(join(x, skips.pop()))
        y = self.head(last(x, skips.pop()))
        return self.clamp(y if mean is None else y + mean)


class _Join(SetModule):
    """Enlarge images bilinearly and put what the encoder had at that size beside them."""

    def __init__(self, scale: int, *, align_corners: bool) -> None:
        super().__init__()
        self.scale = scale
        self.align_corners = align_corners

    def extra_repr(self) -> str:
        return f"{self.scale}" + (", align_corners=True" if self.align_corners else "")

    def forward(self, x: Sets, skip: Sets) -> Sets:
        small, _ = fold(x)
        rows, unfold = fold(skip)
        large = ops.enlarge(small, self.scale, align_corners=self.align_corners)
        if small.shape[2:].numel() == 1 and pixel_rows(rows):
            # What was one pixel has no layout of its own, and cat would fall back to the other.
            large = large.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
        return unfold(torch.cat([large, rows], dim=1))


class Pictures(Sequential):
    """Layers that end in pictures."""

    def forward(self, x: Sets, *args: Any) -> Any:
        return _as_pictures(self, super().forward, x, *args)


class OnePicture(nn.Sequential):
    """Layers that end in one picture of a whole set."""

    def check_input(self, x: Tensor) -> None:
        """Raise TypeError or ValueError unless ``x`` has the type of the weights."""
        check_type(x, self[0])

    def forward(self, x: Tensor) -> Tensor:
        return _as_pictures(self, super().forward, x)


def _as_pictures(module: nn.Module, fn: Callable[..., Any], x: Sets, *args: Any) -> Any:
    """Apply a function that makes pictures, with digits enough for their grey levels.

    Float16 has eleven; bfloat16 has eight, so there the precision of the weights is used.
    """
    kind = x.device.type
    autocast = kind != "meta" and torch.is_autocast_enabled(kind)
    if autocast and torch.get_autocast_dtype(kind) == torch.float16:
        return fn(x, *args).to(next(module.parameters()).dtype)
    return in_full_precision(module, fn, x, *args)


def _transform_head(layers: Layers, in_channels: int, out_channels: int) -> Sequential:
    scheme = layers.scheme if dss_pool(layers.scheme) else "siamese"
    return Pictures(*layers.conv(scheme, in_channels, out_channels, 1, norm=layers.published))


def _merge_head(layers: Layers, in_channels: int, out_channels: int) -> Merge:
    inner = in_channels // 2
    picture = OnePicture(
        Conv2d(in_channels, inner, 3, padding=1),
        nn.ReLU(),
        Conv2d(inner, out_channels, 3, padding=1),
    )
    return Merge(picture, pool="max")

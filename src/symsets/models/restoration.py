"""A network of today for sets of pictures: gated residual blocks that hear their set."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from symsets import ops
from symsets._checks import check_number, positive
from symsets.models._convolution import Conv2d, convolution, zero_convolution
from symsets.nn import DSS, Sequential, SetModule, Siamese, set_layer
from symsets.nn._explain import explained
from symsets.ops._dispatch import kernel
from symsets.sets import Sets, map_elements, pool, spread
from symsets.sets.folding import add_to_elements, check_message


class ChannelNorm(nn.Module):
    """Give the channels of every pixel mean 0 and variance 1.

    It has no weights: the convolution that follows can scale and shift by itself.

    Args:
        eps: Added to the variance. What has less of it, such as flat areas, is left small instead
            of being blown up.

    Shape:
        - x: ``(B, C, H, W)``; the output as well.

    Symmetry:
        Equivariant to every permutation of the pixels.

    Example:
        >>> y = ChannelNorm()(3 + 7 * torch.randn(2, 64, 5, 5))
        >>> bool(y.mean(1).abs().max() < 1e-5), bool((y.var(1, correction=0) - 1).abs().max() < 0.1)
        (True, True)
    """

    def __init__(self, eps: float = 1e-3) -> None:
        super().__init__()
        self.eps = eps

    def extra_repr(self) -> str:
        """Show what is added to the variance."""
        return f"eps={self.eps:g}"

    def forward(self, x: Tensor) -> Tensor:
        """Normalise."""
        if x.device.type == "meta" or not torch.is_autocast_enabled(x.device.type):
            return ops.channel_norm(x, self.eps)
        # Autocast would take it to float32; sums are in float32 by themselves.
        with torch.autocast(x.device.type, enabled=False):
            return ops.channel_norm(x, self.eps)


class GatedBlock(SetModule):
    r"""Add to every element what two convolutions with a gate between them make of it.

    .. math:: x_i + L\bigl(a_i \cdot \sigma(b_i)\bigr), \qquad
        (a_i, b_i) = S(\operatorname{norm} X)_i

    :math:`S` is a set layer of 3×3 convolutions by any scheme, so every block hears its set;
    :math:`L` is a 3×3 convolution of each element that starts at zero: a new block changes nothing.
    The gate has a sigmoid, which NAFNet's plain product has not: with it, gradients were shorter
    and steadier. In captured steps it also adds the context of DSS, whose convolution is then not
    called as a module.

    Args:
        scheme: A name from :func:`symsets.schemes`.
        channels: Of an element.
        size: What sums over a set are divided by.
        drop: In training, this share of all sets skips the block, and others change by as much more
            (stochastic depth).

    Shape:
        - x: ``(B, N, C, H, W)`` or ragged; the output as well.

    Symmetry:
        Equivariant to :math:`S_N`. Shifts of all pictures together are a symmetry but for the
        border, where zeros are padded.

    Example:
        >>> block, x = GatedBlock("dss-mean", 8), torch.randn(2, 3, 8, 10, 12)
        >>> torch.equal(block(x), x)
        True

    Reference:
        Chen, Chu, Zhang, Sun: Simple Baselines for Image Restoration. ECCV 2022.
    """

    min_axes = 5

    def __init__(self, scheme: str, channels: int, *, size: float = 1.0, drop: float = 0.0) -> None:
        super().__init__()
        check_number("drop", drop)
        if drop >= 1:
            raise ValueError(f"drop must be below 1, got {drop}")
        self.drop = drop
        make = partial(convolution, kernel_size=3, padding=1)
        self.norm = ChannelNorm()
        self.hear = set_layer(scheme, make, channels, 2 * channels, size=size)
        self.last = zero_convolution(channels, channels)

    def extra_repr(self) -> str:
        """Show the formula."""
        return "x_i + last(a_i · σ(b_i)), (a_i, b_i) = hear(norm(X))_i"

    def check_input(self, x: Sets) -> None:
        self.hear.check_input(x)

    @explained
    def forward(self, x: Sets) -> Any:
        """Apply the block."""
        change = map_elements(self._gated(map_elements(x, self.norm)), self.last)
        if self.drop and self.training:
            change = _dropped(change, self.drop)
        return x + change

    def _gated(self, x: Sets) -> Any:
        """Let elements hear their set, and weight one half of the channels by the other."""
        hear: Any = self.hear
        if isinstance(x, Tensor) and x.numel() and kernel("gate", x) and _is_convolution(hear):
            return self._of_sum(x, hear.element, hear.summary(x))
        return map_elements(hear(x), ops.gate)

    def _of_sum(self, x: Tensor, element: nn.Conv2d, context: Tensor) -> Tensor:
        """Return the same for DSS: the gate adds the context, and the bias with it."""
        given: Any = element.stride, element.padding
        rows = ops.conv2d(x.flatten(0, 1), element.weight, None, *given)
        check_message(rows.shape[1:], context.shape[1:], 1)
        if element.bias is not None:
            context = ops.add_bias(context, element.bias)  # smaller than the elements
        return ops.gate(rows, context).unflatten(0, x.shape[:2])


def _is_convolution(hear: nn.Module) -> bool:
    """Whether a layer is DSS of our own convolutions; schemes may have other maps in it."""
    return type(hear) is DSS and type(hear.element) is Conv2d


def _dropped(change: Sets, share: float) -> Any:
    """Set a share of all sets to zero, drawn at random, and enlarge the others."""
    num_sets = len(change)
    kept = torch.rand(num_sets, 1, 1, 1, device=change.device) >= share
    factor = kept.to(change.dtype) / (1 - share)
    if isinstance(change, Tensor):
        return change * factor[:, None]
    return change.with_elements(change.elements * spread(factor, change))


def in_cells(rows: Tensor, cell: int, stride: int) -> Tensor:
    """Make channels of cells of pixels, after pictures were filled up by their last pixels.

    Args:
        rows: ``(T, C, H, W)``.
        cell: Pixels on each side of a cell.
        stride: What height and width become multiples of.

    Example:
        >>> in_cells(torch.zeros(1, 3, 10, 12), 2, 8).shape
        torch.Size([1, 12, 8, 8])
    """
    down, right = (-side % stride for side in rows.shape[-2:])
    if not rows.shape[0]:  # torch would return them as they are
        height, width = rows.shape[2] + down, rows.shape[3] + right
        return rows.new_zeros(0, cell**2 * rows.shape[1], height // cell, width // cell)
    filled = F.pad(rows, [0, right, 0, down], mode="replicate") if right or down else rows
    return F.pixel_unshuffle(filled, cell).contiguous(memory_format=torch.channels_last)


def restoration_trunk(
    scheme: str,
    in_channels: int,
    channels: int,
    num_blocks: int,
    *,
    size: float = 1.0,
    drop: float = 0.0,
) -> Sequential:
    """Make a trunk in the manner of NAFNet for sets of pictures of any size.

    A 3×3 convolution of each element, then :class:`GatedBlock` after :class:`GatedBlock`, in all of
    which elements meet by the same scheme.

    Args:
        scheme: A name from :func:`symsets.schemes`.
        in_channels: Of a picture.
        channels: Of all blocks.
        num_blocks: How many.
        size: What sums over a set are divided by.
        drop: Of :class:`GatedBlock`.

    Example:
        >>> trunk = restoration_trunk("dss-max", 3, 16, num_blocks=2)
        >>> trunk(torch.randn(1, 5, 3, 20, 24)).shape
        torch.Size([1, 5, 16, 20, 24])
    """
    channels = positive("channels", channels)
    first = convolution(positive("in_channels", in_channels), channels, kernel_size=3, padding=1)
    blocks = [GatedBlock(scheme, channels, size=size, drop=drop) for _ in range(num_blocks)]
    return Sequential(Siamese(first), *blocks)


class WeightedMerge(SetModule):
    r"""Merge every set into one element, with learned weights for every pixel and channel.

    .. math:: \sum_i \operatorname{softmax}_i(s(x_i)) \cdot v(x_i)

    Args:
        in_channels: Of an element.
        out_channels: Of the merged element.

    Shape:
        - x: ``(B, N, C, H, W)`` or ragged.
        - output: ``(B, C', H, W)``.

    Symmetry:
        Invariant to :math:`S_N`; equivariant to every permutation of the pixels.

    Example:
        >>> WeightedMerge(8, 16)(torch.randn(2, 5, 8, 10, 12)).shape
        torch.Size([2, 16, 10, 12])
    """

    returns_sets = False
    min_axes = 5

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        make: Callable[..., nn.Module] = partial(convolution, kernel_size=1)
        # A bias would shift all scores of a set alike, which no softmax sees.
        self.score = make(in_channels, out_channels, bias=False)
        self.value = make(in_channels, out_channels)

    def extra_repr(self) -> str:
        """Show the formula."""
        return "Σ_i softmax_i(score(x_i)) · value(x_i)"

    def forward(self, x: Sets) -> Any:
        """Return one element per set."""
        scores, values = map_elements(x, self.score), map_elements(x, self.value)
        highest = pool(map_elements(scores, Tensor.detach), "max")
        weights = map_elements(add_to_elements(scores, -spread(highest, scores)), torch.exp)
        if isinstance(values, Tensor):
            weighted = weights * values
        else:
            weighted = values.with_elements(weights.elements * values.elements)
        # The highest score has weight 1, so only empty sets have less: these become zeros.
        return pool(weighted, "sum") / pool(weights, "sum").clamp(min=1)

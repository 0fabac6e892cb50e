"""The network that says of every pixel of every view which point of the object it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from symsets._checks import check_choice
from symsets.models._blocks import RECIPES, Layers, check_model, image_size
from symsets.models.registry import RegisteredNetwork, register_network
from symsets.nn import DSS, Sequential, SetAttention, Siamese, set_layer
from symsets.nn.base import SetModule
from symsets.nn.registry import Make, dss_pool
from symsets.sets import Sets, fold
from symsets.sets.pooling import power_degree

AGGREGATES = ("block", "layer")
WIDTHS = {"published": (64, 128, 256, 512, 512), "ours": (32, 64, 128, 192, 256)}
DEPTHS = {"published": (2, 2, 3, 3, 3), "ours": (2, 2, 2, 2, 2)}  # convolutions of a block
OUT_CHANNELS = 7  # mask, front, back


@register_network("views")
class ViewsNetwork(RegisteredNetwork):
    r"""Predict the mask, the visible surface and the hidden back surface in every view.

    An encoder after VGG (blocks of 3×3 convolutions, batch normalisation, ReLU, then max-pooling
    by 2) and a decoder that mirrors it, as in SegNet, with what the encoder had at each resolution
    put beside it. With ``aggregate="block"`` views meet after every block, after its pooling in
    the encoder and but for the last one in the decoder:

    ============ ============================================================
    sridhar      x_i − mean_j x_j
    dss-*        x_i + C(pool_j x_j), C a 3×3 convolution, normalised, ReLU
    aittala      [x_i, max_j x_j]
    attention    x_i + Σ_j α_ij h(x_j)
    wreath       x_i + β Σ_j Σ_k x_jk
    siamese      x_i: never
    siamese-ds   as dss-max, at the coarsest resolution only
    ============ ============================================================

    With ``aggregate="layer"`` every convolution is a layer of the scheme instead. Skips are taken
    before views meet, so that ``"sridhar"`` sees something in a single view. All models have the
    same widths; a meeting of DSS adds a convolution.

    ``"sridhar"`` and ``"dss-sum"`` are the two networks of the paper. Where they differ from the
    released network of Sridhar et al., which this follows: it predicts a second mask and the
    colour of the back, which exact data do not need, and ends in a ReLU, which keeps logits from
    being negative.

    Args:
        model: ``"siamese"``, ``"siamese-ds"``, ``"dss-sum"``, ``"dss-mean"``, ``"dss-max"``,
            ``"dss-median"``, ``"aittala"``, ``"sridhar"``, ``"attention"``, ``"wreath"``, or
            another scheme (see :func:`symsets.schemes`).
        recipe: ``"published"`` has VGG16's blocks of 2, 2, 3, 3 and 3 convolutions, goes back up
            by putting maxima where they were, and sums as they are. ``"ours"`` has two
            convolutions in every block, enlarges bilinearly, and divides sums by the set size.
        widths: Channels per resolution, two to five of them; those of the recipe if left out.
        num_elements: Number of views in training.
        aggregate: ``"block"`` or ``"layer"``.
        in_channels: Channels of an image.

    Shape:
        - x: ``(B, N, C, H, W)`` or ragged, with H and W multiples of 2 to the number of widths.
          In training, batch normalisation of one pixel needs B ≥ 2.
        - output: ``(B, N, 7, H, W)`` or ragged: a logit for the mask, then front and back
          coordinates.

    Symmetry:
        Equivariant to :math:`S_N`. Shifts of all images together are an approximate symmetry
        only, because of zero padding and pooling windows.

    Example:
        >>> net = ViewsNetwork("dss-sum", widths=(8, 16, 16))
        >>> net(torch.rand(2, 5, 3, 32, 32)).shape
        torch.Size([2, 5, 7, 32, 32])

    Reference:
        Sridhar, Rempe, Valentin, Bouaziz, Guibas: Multiview Aggregation for Learning
        Category-Specific Shape Reconstruction. NeurIPS 2019.
    """

    def __init__(
        self,
        model: str,
        *,
        recipe: str = "ours",
        widths: Sequence[int] | None = None,
        num_elements: int = 3,
        aggregate: str = "block",
        in_channels: int = 3,
    ) -> None:
        super().__init__()
        check_model(model)
        check_choice("recipe", recipe, RECIPES)
        check_choice("aggregate", aggregate, AGGREGATES)
        widths = WIDTHS[recipe] if widths is None else tuple(widths)
        self.keep("widths", widths)
        depths = DEPTHS[recipe]
        if not 2 <= len(widths) <= len(depths):
            raise ValueError(
                f"widths must hold 2 to {len(depths)} numbers of channels, got {list(widths)}"
            )
        self.stride = 2 ** len(widths)
        in_blocks = model if aggregate == "layer" else "siamese"
        layers = Layers(
            in_blocks, recipe, num_elements=num_elements, activation=nn.ReLU, dropout=0.0
        )
        # Aittala's layers are made with half of the channels: concatenation doubles them again.
        sizes = [layers.channels(-(-w // 2)) if in_blocks == "aittala" else w for w in widths]
        in_meetings = model if aggregate == "block" or model == "siamese-ds" else "siamese"
        meet = _meeting(in_meetings, layers)
        self._make_encoder(layers, meet, in_channels, sizes, depths)
        self._make_decoder(layers, meet, sizes, depths)
        self.head = Sequential(*layers.conv("siamese", sizes[0], OUT_CHANNELS, 1, norm=False))
        with torch.no_grad():  # coordinates start in the middle of the unit cube
            last = next(p for name, p in self.head.named_parameters() if name.endswith("bias"))
            last.zero_()
            last[1:] = 0.5

    def _make_encoder(
        self,
        layers: Layers,
        meet: _Meet,
        in_channels: int,
        sizes: Sequence[int],
        depths: Sequence[int],
    ) -> None:
        blocks, meetings = [], []
        inputs = in_channels
        for k, (size, depth) in enumerate(zip(sizes, depths, strict=False)):
            blocks.append(layers.block([inputs, *(depth * [size])], padding=1))
            layer, inputs = meet(size, k == len(sizes) - 1)
            meetings.append(layer)
        self.encoder, self.down_meetings = nn.ModuleList(blocks), nn.ModuleList(meetings)
        self.pool = _Pool()
        self.coarse = inputs  # channels after the last meeting

    def _make_decoder(
        self, layers: Layers, meet: _Meet, sizes: Sequence[int], depths: Sequence[int]
    ) -> None:
        unpool = layers.published and self.coarse == sizes[-1]
        blocks, meetings, rises = [], [], []
        inputs = self.coarse
        for k in reversed(range(len(sizes))):
            size, out = sizes[k], sizes[max(k - 1, 0)]
            middle = (depths[k] - 1) * [2 * size if layers.published else size]
            blocks.append(layers.block([inputs + size, *middle, out], padding=1))
            rises.append(_Rise(unpool=unpool and inputs == size))
            layer, inputs = meet(out, False) if k else (Siamese(nn.Identity()), out)
            meetings.append(layer)
        self.decoder, self.rises = nn.ModuleList(blocks), nn.ModuleList(rises)
        self.up_meetings = nn.ModuleList(meetings)

    def forward(self, x: Sets) -> Sets:
        image_size(x, self.arguments["in_channels"], stride=self.stride)
        kept = []
        for block, meeting in zip(self.encoder, self.down_meetings, strict=True):
            fine = block(x)
            x, where = self.pool(fine)
            kept.append((fine, where))
            x = meeting(x)
        for rise, block, meeting in zip(self.rises, self.decoder, self.up_meetings, strict=True):
            x = meeting(block(rise(x, *kept.pop())))
        return self.head(x)


_Meet = Callable[[int, bool], tuple[SetModule, int]]


def _meeting(model: str, layers: Layers) -> _Meet:
    """Return what makes the layers in which views meet, and says how many channels they give."""

    def meet(width: int, is_coarsest: bool) -> tuple[SetModule, int]:
        scheme, stay = model, nn.Identity()
        if model == "siamese-ds":
            scheme = "dss-max" if is_coarsest else "siamese"
        if pool := dss_pool(scheme):
            conv = nn.Conv2d((power_degree(pool) or 1) * width, width, 3, padding=1, bias=False)
            context = nn.Sequential(conv, nn.BatchNorm2d(width), nn.ReLU())
            return DSS(stay, context, pool=pool, size=layers.size), width
        if scheme == "attention":
            inner = max(8, width // 4)
            value, query, key = (nn.Conv2d(width, n, 1) for n in (width, inner, inner))
            return SetAttention(stay, value, query, key), width
        out = 2 * width if scheme == "aittala" else width
        keeps = scheme in ("aittala", "siamese", "sridhar", "wreath")  # elements as they are
        convolve = partial(nn.Conv2d, kernel_size=3, padding=1)
        make: Make = (lambda i, o: stay) if keeps else convolve
        return set_layer(scheme, make, width, out, size=layers.size), out

    return meet


class _Pool(SetModule):
    """Halve images, and remember where the maxima were."""

    def forward(self, x: Sets) -> tuple[Sets, Tensor]:
        rows, unfold = fold(x)
        small, where = nn.functional.max_pool2d(rows, 2, return_indices=True)
        return unfold(small), where


class _Rise(SetModule):
    """Double images, and put what the encoder had at that size beside them.

    Args:
        unpool: Whether values go where the maxima were, with zeros around them.
    """

    def __init__(self, *, unpool: bool) -> None:
        super().__init__()
        self.unpool = unpool

    def forward(self, x: Sets, fine: Sets, where: Tensor) -> Sets:
        small, _ = fold(x)
        rows, unfold = fold(fine)
        if self.unpool:
            large = nn.functional.max_unpool2d(small, where, (2, 2))
        else:
            large = nn.functional.interpolate(small, scale_factor=2.0, mode="bilinear")
        return unfold(torch.cat([large, rows], dim=1))

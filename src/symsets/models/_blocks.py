"""What the networks for sets of images are made of: layers that all follow one recipe."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from symsets._checks import check_choice, check_number
from symsets.models._convolution import convolution
from symsets.nn import DSS, NormAct, Sequential, SetModule, set_layer
from symsets.nn.registry import Make, Scheme, dss_pool, is_scheme, schemes
from symsets.sets import Sets, fold, map_elements
from symsets.sets.pooling import power_degree

MODELS = ("siamese", "siamese-ds", *get_args(Scheme)[1:])
RECIPES = ("ours", "published")
Widths = TypeVar("Widths")


def check_model(model: Any, known: Collection[str] = MODELS) -> None:
    """Raise one sentence unless ``model`` is a word for a network, or the name of a scheme."""
    if model not in known and not is_scheme(model):
        check_choice("model", model, [*known, *(name for name in schemes() if name not in known)])


def default_widths(table: dict[str, dict[str, Widths]], model: str, recipe: str) -> Widths:
    """Look up the widths of a model; what was never published has ours, or those of DSS."""
    alike = {"siamese-ds": "siamese", "sridhar": "siamese", "isab": "attention"}  # in maps
    family = alike.get(model, model)
    family = family if family in table["ours"] else "dss"
    return table[recipe].get(family) or table["ours"][family]


def image_size(x: Sets, channels: int, *, stride: int = 1, smallest: int = 0) -> tuple[int, int]:
    """Return height and width of the images of ``x``, which ``stride`` must divide.

    Raise ValueError saying what ``x`` must be if these are none to take.
    """
    rows, _ = fold(x)
    if not isinstance(rows, Tensor) or rows.ndim != 4:
        got = f"elements of shape {tuple(rows.shape[1:])}" if isinstance(rows, Tensor) else rows
        raise ValueError(
            "x must be sets of images of one size, (B, N, C, H, W) or ragged of (T, C, H, W), "
            f"got {got}"
        )
    if rows.shape[1] != channels:
        raise ValueError(
            f"x must have images with {channels} channels, (B, N, {channels}, H, W), "
            f"got elements of shape {tuple(rows.shape[1:])}"
        )
    if not rows.is_floating_point():
        raise ValueError(f"x must hold floating-point numbers, such as x / 255, got {rows.dtype}")
    height, width = rows.shape[2:]
    if stride > 1 and (height % stride or width % stride or not height * width):
        raise ValueError(
            f"x must have images whose height and width {stride} divides, got {height}×{width}"
        )
    if min(height, width) < smallest:
        raise ValueError(
            f"x must have images of at least {smallest}×{smallest} pixels, got {height}×{width}"
        )
    return height, width


class Scores(Sequential):
    """Layers that end in one score per element, computed in the precision of their weights."""

    def forward(self, x: Sets, *args: Any) -> Any:
        """Return scores ``(B, N)``, or ragged ``(T,)``."""
        scores = in_full_precision(self, super().forward, x, *args)
        return map_elements(scores, lambda rows: rows.squeeze(-1))


def in_full_precision(module: nn.Module, fn: Callable[..., Any], x: Sets, *args: Any) -> Any:
    """Apply a function in the precision of a module's weights, whatever autocast says."""
    if x.device.type == "meta" or not torch.is_autocast_enabled(x.device.type):
        return fn(x, *args)
    dtype = next(module.parameters()).dtype
    with torch.autocast(x.device.type, enabled=False):
        return fn(x.to(dtype), *args)


class Layers:
    """Make set layers that all follow one recipe, each with its normalisation.

    ``"published"`` normalises both branches of DSS, the context after it is pooled, before they
    are added; the other schemes once, after they aggregate. Every map has a bias, and weights
    start as Xavier's. ``"ours"`` normalises once after the layer and divides sums by the set size
    of training.

    Args:
        model: A word from :data:`MODELS`, or a scheme.
        recipe: A word from :data:`RECIPES`.
        num_elements: Set size of training.
        activation: Makes the nonlinearity.
        dropout: Rate of dropout: of whole channels after convolutions, of features after linear
            maps.
    """

    def __init__(
        self,
        model: str,
        recipe: str,
        *,
        num_elements: int,
        activation: Callable[[], nn.Module],
        dropout: float,
    ) -> None:
        self.published = recipe == "published"
        self.scheme = "siamese" if model == "siamese-ds" else model
        self.late_scheme = "siamese" if model == "siamese" else "dss-max"
        self.num_elements = num_elements
        self.size = 1.0 if self.published else float(num_elements)
        self.activation = activation
        check_number("dropout", dropout)
        self.dropout = dropout

    def channels(self, width: int) -> int:
        """Return the channels of a layer: the width of its map, doubled by concatenation."""
        return 2 * width if self.scheme == "aittala" else width

    def block(self, channels: Sequence[int], *, padding: int) -> Sequential:
        """Chain 3×3 convolutions."""
        parts: list[nn.Module] = []
        for i, o in pairwise(channels):
            parts += self.conv(self.scheme, i, o, 3, padding=padding, act=self.activation())
            parts += self._drop(nn.Dropout2d)
        return Sequential(*parts)

    def bottleneck(self, channels: int) -> Sequential:
        """Chain three DeepSets layers that look at every pixel of a small image on its own."""
        norm = partial(RepeatedBatchNorm2d, copies=self.num_elements)
        parts: list[nn.Module] = []
        for _ in range(3):
            act = self.activation()
            parts += self.conv(self.late_scheme, channels, channels, 1, act=act, context_norm=norm)
        return Sequential(*parts)

    def scores(self, widths: Sequence[int]) -> Scores:
        """Chain DeepSets layers, without normalisation, that end in one score per element.

        A context or a bias in the last layer would shift all scores of a set alike, which no
        softmax sees. Its gradient is zero but for rounding, and Adam makes steps of full length of
        that: scores drift away from zero until their differences are lost. Only the published form
        has them.
        """
        parts: list[nn.Module] = []
        *inner, last = pairwise(widths)
        for i, o in inner:
            parts += self._layer(self.late_scheme, nn.Linear, i, o)
            parts += [self.activation(), *self._drop(nn.Dropout)]
        if self.published:
            return Scores(*parts, *self._layer(self.late_scheme, nn.Linear, *last))
        return Scores(*parts, *self._layer("siamese", partial(nn.Linear, bias=False), *last))

    def conv(
        self,
        scheme: str,
        i: int,
        o: int,
        kernel_size: int,
        *,
        padding: int = 0,
        norm: bool = True,
        act: nn.Module | None = None,
        context_norm: Callable[[int], nn.Module] = nn.BatchNorm2d,
    ) -> list[nn.Module]:
        """Make a convolutional set layer, with its normalisation and activation.

        In the published form of DSS, the context may have a normalisation of its own.
        """
        # A bias that batch normalisation removes again is left out, but for the published form.
        bias = self.published or not norm
        make = partial(convolution, kernel_size=kernel_size, padding=padding, bias=bias)
        norms = (nn.BatchNorm2d, context_norm) if norm else None
        return self._layer(scheme, make, i, o, norms=norms, act=act)

    def _layer(
        self,
        scheme: str,
        make: Make,
        i: int,
        o: int,
        *,
        norms: Sequence[Callable[[int], nn.Module]] | None = None,
        act: nn.Module | None = None,
    ) -> list[nn.Module]:
        def branch(i: int, which: int) -> nn.Module:
            return nn.Sequential(make(i, o), norms[which](o)) if norms else make(i, o)

        if self.published and (pool := dss_pool(scheme)):
            context = branch((power_degree(pool) or 1) * i, 1)
            layer: SetModule = DSS(branch(i, 0), context, pool=pool)  # both have biases
            norms = None
        else:
            layer = set_layer(scheme, make, i, o, size=self.size)
        if self.published:
            _xavier(layer)
        if norms is not None:
            return [NormAct(layer, norms[0](o), act)]
        return [layer] if act is None else [layer, act]

    def _drop(self, kind: Callable[[float], nn.Module]) -> list[nn.Module]:
        return [kind(self.dropout)] if self.dropout else []


class RepeatedBatchNorm2d(nn.BatchNorm2d):
    """Normalise as if everything occurred several times, as the released code does.

    It repeats the context over the set first. In training that changes nothing but the running
    variance, whose estimate counts copies as observations.

    Args:
        num_features: Channels.
        copies: How often everything occurs: the set size of training.
    """

    def __init__(self, num_features: int, *, copies: int) -> None:
        super().__init__(num_features)
        self.copies = copies

    def forward(self, input: Tensor) -> Tensor:
        """Normalise rows ``(B, C, H, W)``."""
        if not self.training:
            return super().forward(input)
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        seen, momentum = input.numel() // max(input.shape[1], 1), self.momentum or 0.0
        moved = self.running_var.clone()  # by torch, which counts everything once
        y = batch_norm(
            input, self.running_mean, moved, self.weight, self.bias, True, momentum, self.eps
        )
        share = (seen - 1) * self.copies / (seen * self.copies - 1)
        self.running_var.mul_((1 - share) * (1 - momentum)).add_(moved, alpha=share)
        self.num_batches_tracked.add_(1)
        return y


def _xavier(module: nn.Module) -> None:
    """Draw the weights of all maps as the released code does."""
    for part in module.modules():
        if isinstance(part, nn.Conv2d | nn.Linear):
            nn.init.xavier_normal_(part.weight)

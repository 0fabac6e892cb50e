"""The networks that classify sets of signals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from torch import Tensor, nn

from symsets._checks import check_choice, positive
from symsets.experiments.signals.standardise import Standardise
from symsets.models._blocks import RECIPES, check_model
from symsets.models.registry import register_network
from symsets.nn import (
    DSS,
    CircularConv1d,
    Classify,
    ConcatPool,
    NormAct,
    RemoveMean,
    Sequential,
    Siamese,
    set_layer,
)
from symsets.nn.base import SetModule
from symsets.nn.registry import dss_pool
from symsets.ops import to_fast_layout
from symsets.sets import Sets
from symsets.sets.pooling import power_degree

__all__ = ["MODELS", "RECIPES", "SignalNetwork", "default_widths"]

NUM_CLASSES = 3
DEEPSETS = {"deepsets": "dss-sum", "deepsets-max": "dss-max"}  # on plain vectors
DSS_WIDTHS = (160, 160, 80)
MODELS = {  # the published widths
    "mlp": (840, 840, 420),
    "deepsets": (1000, 1000, 500),
    "deepsets-max": (1000, 1000, 500),
    "siamese": (220, 220, 110),
    "siamese-ds": (200, 200, 100),
    "dss-sum": DSS_WIDTHS,
    "dss-max": DSS_WIDTHS,
    "aittala": DSS_WIDTHS,
    "sridhar": (220, 220, 110),
    "dss-mean": DSS_WIDTHS,
    "attention": (110, 110, 56),
}


def default_widths(model: str) -> tuple[int, ...]:
    """Return the channels of the three layers; schemes that were never published take those of DSS.

    Example:
        >>> default_widths("siamese"), default_widths("dss-power2")
        ((220, 220, 110), (160, 160, 80))
    """
    return MODELS.get(model, DSS_WIDTHS)


@register_network("signals")
class SignalNetwork(nn.Module):
    r"""Classify sets of periodic signals: three layers, sum over set and time, one linear map.

    The layers are circular convolutions as long as the signal, with stride 2. ``"mlp"`` sees the
    set as one long vector, ``"deepsets"`` every signal as a vector; ``"siamese-ds"`` lets elements
    talk in the last layer only. As released, that layer sees vectors and hears their maximum; in
    recipe ``"ours"`` it is a convolution that hears the sum.

    Args:
        model: A word from :data:`MODELS`, or any other scheme (see :func:`symsets.schemes`).
        recipe: ``"published"`` follows the released code: batch normalisation on each branch, for
            every element's context before it is summed, sums over set and time, and Xavier's
            initialisation. ``"ours"`` standardises every set (amplitude and offset say nothing),
            divides sums by the set size, normalises once after the branches are added, and takes
            means over set and time.
        widths: Channels of the three layers; the published ones if left out. For ``"aittala"``
            they are those of its map, doubled by concatenation.
        num_elements: Set size of training.
        length: Length of a signal.

    Shape:
        - x: ``(B, N, 1, L)`` or ragged; ``"mlp"`` takes dense sets of ``num_elements`` only.
        - output: ``(B, 3)``.

    Symmetry:
        Invariant to :math:`S_N` (all but ``"mlp"``). Invariant to circular shifts by 8 if 8
        divides the length, and nearly so at length 100 (100, 50, 25, 13), for convolutions.

    Example:
        >>> net = SignalNetwork("dss-sum", recipe="published")
        >>> sum(p.numel() for p in net.parameters())
        3234643
    """

    def __init__(
        self,
        model: str,
        *,
        recipe: str = "ours",
        widths: Sequence[int] | None = None,
        num_elements: int = 25,
        length: int = 100,
    ) -> None:
        super().__init__()
        check_model(model, MODELS)
        check_choice("recipe", recipe, RECIPES)
        widths = default_widths(model) if widths is None else tuple(widths)
        if len(widths) != 3:
            raise ValueError(f"widths must hold the channels of three layers, got {list(widths)}")
        self.arguments = {
            "model": model,
            "recipe": recipe,
            "widths": [positive("widths", width) for width in widths],
            "num_elements": positive("num_elements", num_elements),
            "length": positive("length", length),
        }
        convolves = model != "mlp" and model not in DEEPSETS
        self._entries_first = recipe == "ours" and convolves
        self.net = _Builder(recipe, num_elements, length).network(model, widths)
        if recipe == "published":
            for part in self.net.modules():
                if isinstance(part, CircularConv1d | nn.Linear):
                    nn.init.xavier_uniform_(part.weight)

    def forward(self, x: Sets) -> Tensor:
        """Return the scores of the classes."""
        if self.arguments["model"] == "mlp":
            self._check_whole(x)
        # The published form normalises inside of maps, where torch expects the entries last.
        if self._entries_first and isinstance(x, Tensor):
            x = to_fast_layout(x)
        return self.net(x)

    def _check_whole(self, x: Sets) -> None:
        """Raise ValueError unless all sets are as large as those that an MLP was made for."""
        wanted = self.arguments["num_elements"], 1, self.arguments["length"]
        if not isinstance(x, Tensor) or x.shape[1:] != wanted:
            shown = ", ".join(map(str, wanted))
            got = tuple(x.shape) if isinstance(x, Tensor) else x
            raise ValueError(f"x must have shape (B, {shown}) for 'mlp', got {got}")


class _Flatten(nn.Module):
    """See every element as a vector of channels ``(C L,)``; with the set, too, for an MLP."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self.start = start

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(self.start)


class _Builder:
    """Make layers that all follow one recipe."""

    def __init__(self, recipe: str, num_elements: int, length: int) -> None:
        self.published = recipe == "published"
        self.num_elements = num_elements
        self.lengths = [length, -(-length // 2), -(-length // 4)]

    def network(self, model: str, widths: tuple[int, ...]) -> nn.Module:
        if model == "mlp":
            return self._mlp(widths)
        layers: list[nn.Module] = [] if self.published else [Standardise()]
        if model in DEEPSETS:
            layers.append(_Flatten(1))
            in_channels = self.lengths[0]
        else:
            in_channels = 1
        for depth, (i, o) in enumerate(pairwise((in_channels, *widths))):
            i = 2 * i if model == "aittala" and depth else i
            if self.published and model == "siamese-ds" and depth == 2:
                layers += [_Flatten(1), _vector_layer(i * self.lengths[2], o), nn.ReLU()]
            else:
                layers += self._layer(model, depth, i, o)
        out = 2 * widths[-1] if model == "aittala" else widths[-1]
        return Sequential(*layers, self._head(out))

    def _mlp(self, widths: tuple[int, ...]) -> nn.Module:
        layers: list[nn.Module] = [] if self.published else [Standardise()]
        layers.append(_Flatten(1))
        for i, o in pairwise((self.num_elements * self.lengths[0], *widths)):
            layers += [nn.Linear(i, o), nn.BatchNorm1d(o), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(widths[-1], NUM_CLASSES))

    def _head(self, in_channels: int) -> Classify:
        if self.published:
            return Classify(in_channels, NUM_CLASSES, pool="sum", entries="sum")
        return Classify(
            in_channels, NUM_CLASSES, pool="sum", entries="mean", size=self.num_elements
        )

    def _layer(self, model: str, depth: int, i: int, o: int) -> list[nn.Module]:
        """Return a set layer with its normalisation and activation."""

        def conv(i: int, o: int) -> nn.Module:
            if model in DEEPSETS:
                return nn.Linear(i, o)
            return CircularConv1d(i, o, self.lengths[depth], stride=2)

        def normed(i: int, o: int) -> nn.Module:
            return nn.Sequential(conv(i, o), nn.BatchNorm1d(o))

        scheme = _scheme(model, depth)
        if not self.published:
            width = 2 * o if scheme == "aittala" else o
            layer = set_layer(scheme, conv, i, width, size=self.num_elements)
            return [NormAct(layer, nn.BatchNorm1d(width), nn.ReLU())]
        return [_published_layer(scheme, normed, i, o), nn.ReLU()]


def _scheme(model: str, depth: int) -> str:
    if model == "siamese-ds":
        return "dss-sum" if depth == 2 else "siamese"
    return DEEPSETS.get(model, model)


def _vector_layer(i: int, o: int) -> SetModule:
    """Return the DeepSets layer that ends the released Siamese+DS: it pools before it maps."""
    element, context = (nn.Sequential(nn.Linear(i, o), nn.BatchNorm1d(o)) for _ in range(2))
    return DSS(element, context, pool="max")


def _published_layer(scheme: str, normed: Any, i: int, o: int) -> SetModule:
    """Return the layer of the released code, whose maps end in batch normalisation."""
    if scheme == "siamese":
        return Siamese(normed(i, o))
    if scheme == "sridhar":
        return RemoveMean(normed(i, o))
    if scheme == "aittala":
        return ConcatPool(normed(i, o))
    pool = dss_pool(scheme)
    if pool is None or power_degree(pool):  # of which there is no released code
        return set_layer(scheme, normed, i, o)
    return DSS(normed(i, o), normed(i, o), pool=pool, pool_last=True)

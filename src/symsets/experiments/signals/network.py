"""The networks that classify sets of signals."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from symsets._checks import check_choice
from symsets.models._blocks import RECIPES, check_model
from symsets.models.registry import RegisteredNetwork, register_network
from symsets.nn import DSS, CircularConv1d, Classify, NormAct, Sequential, set_layer
from symsets.nn.base import SetModule
from symsets.nn.registry import dss_pool
from symsets.ops import to_fast_layout
from symsets.sets import RaggedSets, Sets, map_elements, pool, spread
from symsets.sets.pooling import power_degree
from symsets.sets.ragged import common_rows, expand_as

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
    return MODELS.get("attention" if model == "isab" else model, DSS_WIDTHS)  # as many maps


@register_network("signals")
class SignalNetwork(RegisteredNetwork):
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
        self.keep("widths", widths)
        convolves = model != "mlp" and model not in DEEPSETS
        self._entries_first = recipe == "ours" and convolves
        self.net = _Builder(recipe, num_elements, length).network(model, widths)
        if recipe == "published":
            for part in self.net.modules():
                if isinstance(part, CircularConv1d | nn.Linear):
                    nn.init.xavier_uniform_(part.weight)

    def forward(self, x: Sets) -> Tensor:
        # The published form normalises inside of maps, where torch expects the entries last.
        if self._entries_first and isinstance(x, Tensor):
            x = to_fast_layout(x)
        return self.net(x)


class Standardise(SetModule):
    r"""Subtract the mean of all entries of a set and divide by their standard deviation.

    .. math:: x_i \mapsto \frac{x_i - \mu(X)}{\sigma(X) + \varepsilon}

    All elements of a set are treated alike, so how they compare is kept.

    Args:
        eps: Added to the standard deviation.

    Shape:
        - x: ``(B, N, *E)`` or ragged; the output has the same shape.

    Symmetry:
        Equivariant to :math:`S_N` and to every permutation of the entries of an element.

    Example:
        >>> y = Standardise()(100 + 5 * torch.randn(2, 10, 1, 50))
        >>> y.std((1, 2, 3)).round(decimals=2)
        tensor([1., 1.])
    """

    def __init__(self, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: Sets) -> Sets:
        centred = self._combine(x, self._mean(x), torch.sub)
        squares = map_elements(centred, torch.square)
        variance = self._mean(squares)
        # The root has no gradient at zero: sets whose entries are all alike have a scale of eps.
        scale = variance.clamp(min=torch.finfo(variance.dtype).tiny).sqrt() + self.eps
        return self._combine(centred, scale, torch.div)

    @staticmethod
    def _mean(x: Sets) -> Tensor:
        return pool(map_elements(x, lambda rows: rows.flatten(1).mean(1)), "mean")

    @staticmethod
    def _combine(x: Sets, per_set: Tensor, how: Callable[[Tensor, Tensor], Tensor]) -> Sets:
        values = spread(per_set, x)
        if isinstance(x, RaggedSets):
            rows = common_rows(x)
            return x.with_elements(how(rows, expand_as(values, rows)))
        return how(x, expand_as(values, x))


class _Builder:
    """Make layers that all follow one recipe."""

    def __init__(self, recipe: str, num_elements: int, length: int) -> None:
        self.published = recipe == "published"
        self.num_elements = num_elements
        self.lengths = [length, -(-length // 2), -(-length // 4)]

    def network(self, model: str, widths: tuple[int, ...]) -> nn.Module:
        layers: list[nn.Module] = [] if self.published else [Standardise()]
        if model == "mlp":  # nn.Sequential gives it whole sets
            layers.append(nn.Flatten())
            for i, o in pairwise((self.num_elements * self.lengths[0], *widths)):
                layers += [nn.Linear(i, o), nn.BatchNorm1d(o), nn.ReLU()]
            return nn.Sequential(*layers, nn.Linear(widths[-1], NUM_CLASSES))
        if model in DEEPSETS:
            layers.append(nn.Flatten())
        channels = self.lengths[0] if model in DEEPSETS else 1
        for depth, o in enumerate(widths):
            if self.published and model == "siamese-ds" and depth == 2:
                layers.append(nn.Flatten())  # this layer sees vectors, and pools before it maps
                i = channels * self.lengths[2]
                maps = (nn.Sequential(nn.Linear(i, o), nn.BatchNorm1d(o)) for _ in range(2))
                layers += [DSS(*maps, pool="max"), nn.ReLU()]
            else:
                layers += self._layer(model, depth, channels, o)
            channels = 2 * o if model == "aittala" else o
        entries, size = ("sum", 1) if self.published else ("mean", self.num_elements)
        head = Classify(channels, NUM_CLASSES, pool="sum", entries=entries, size=size)
        return Sequential(*layers, head)

    def _layer(self, model: str, depth: int, i: int, o: int) -> list[nn.Module]:
        """Return a set layer with its normalisation and activation."""

        def conv(i: int, o: int) -> nn.Module:
            if model in DEEPSETS:
                return nn.Linear(i, o)
            return CircularConv1d(i, o, self.lengths[depth], stride=2)

        def normed(i: int, o: int) -> nn.Module:
            return nn.Sequential(conv(i, o), nn.BatchNorm1d(o))

        scheme = DEEPSETS.get(model, model)
        if model == "siamese-ds":
            scheme = "dss-sum" if depth == 2 else "siamese"
        width = 2 * o if scheme == "aittala" else o
        pool = dss_pool(scheme)
        if self.published and pool and not power_degree(pool):
            return [DSS(normed(i, width), normed(i, width), pool=pool, pool_last=True), nn.ReLU()]
        if self.published:  # of power sums, and of schemes of one's own, there is no released code
            return [set_layer(scheme, normed, i, width), nn.ReLU()]
        layer = set_layer(scheme, conv, i, width, size=self.num_elements)
        return [NormAct(layer, nn.BatchNorm1d(width), nn.ReLU())]

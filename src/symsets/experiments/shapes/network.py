"""The networks that select one shape of a set: points, or nodes of a graph."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from symsets._checks import check_choice
from symsets.experiments.shapes.maps import MaxOverPoints, Points
from symsets.models._blocks import RECIPES, Layers, check_model, default_widths
from symsets.models.registry import RegisteredNetwork, register_network
from symsets.nn import DSS, Exchangeable, Graph, GraphConv, NormAct, Sequential, set_layer
from symsets.nn._maps import Chain
from symsets.nn.registry import Make, dss_pool
from symsets.ops import to_fast_layout
from symsets.sets import Sets
from symsets.sets.pooling import power_degree

KINDS: dict[str, Callable[..., nn.Module]] = {  # the map of single shapes
    "points": Points,
    "full-points": partial(Exchangeable, pool="mean"),
    "graphs": GraphConv,
}
HIDDEN = (128, 128)  # of the DeepSets block
Three = tuple[int, int, int]
WIDTHS: dict[str, dict[str, Three]] = {  # by recipe; what one does not name, it has from ours
    "published": {},
    "ours": {  # as many parameters as DSS within 5 % where nothing was published
        "siamese": (64, 256, 128),
        "dss": (64, 256, 128),
        "aittala": (64, 256, 64),
        "attention": (40, 152, 128),
        "wreath": (64, 256, 128),
    },
}


@register_network("shapes")
class ShapeNetwork(RegisteredNetwork):
    r"""Give every shape of a set a score: three layers, the maximum over points, then DeepSets.

    The layers have 64, 256 and 128 channels, each followed by batch normalisation and ReLU. The
    maximum over the points (or nodes) makes a vector of every shape, and a DeepSets block with
    maxima, ELU and outputs (128, 128, 1) scores it. All models but ``"siamese"`` have that block;
    elements of ``"siamese-ds"`` meet only there.

    The published form has the released numbers of parameters, on points and on graphs alike:
    116,994 (``"siamese-ds"``, ``"sridhar"``), 167,682 (``"dss-sum"``, ``"dss-max"``), 133,954
    (``"aittala"``). All maps have biases, both branches of a layer their own batch normalisation,
    and Aittala normalises what it concatenates.

    On the published mesh of 6,890 nodes, 12 sets of 7, in single precision, a training step of
    ``"dss-sum"`` on graphs keeps 2.6 GB for its backward pass and one of ``"aittala"`` 4.9 GB.

    Args:
        model: A word of :class:`~symsets.models.SelectionNetwork`.
        kind: What maps a single shape. ``"points"`` maps every point alone; ``"full-points"``
            adds the mean over all points, so that with ``"dss-sum"`` a layer has all 4 linear
            maps with the symmetry :math:`S_N \times S_P` instead of 2. ``"graphs"`` is a graph
            convolution with :math:`\hat A = A + 2 I`.
        recipe: ``"published"`` follows the released code: batch normalisation on each branch of
            DSS, the context after it is pooled, and plain sums. ``"ours"`` divides sums by the
            set size and normalises once, after the branches are added.
        widths: Channels of the three layers; those of the model if left out. For ``"aittala"``
            they are those of its map, doubled by concatenation.
        num_elements: Set size of training.
        in_channels: Channels of a point.

    Attributes:
        graph: What ``graph`` is where a call does not give one; follows the input from device to
            device, and is not saved.
        needs_graph: Whether the kind is ``"graphs"``.

    Shape:
        - x: ``(B, N, C, V)``, or ragged with shapes ``(C, V)``.
        - graph: A :class:`~symsets.nn.Graph` of V nodes, for ``"graphs"``.
        - output: scores ``(B, N)``, or ragged with elements ``(T,)``.

    Symmetry:
        Equivariant to :math:`S_N`; invariant to :math:`S_P`, which permutes the points of all
        shapes alike, on graphs together with their edges.

    Example:
        >>> net = ShapeNetwork("dss-sum", kind="graphs", recipe="published")
        >>> sum(p.numel() for p in net.parameters())
        167682
        >>> graph = Graph.from_faces(torch.tensor([[0, 1, 2], [2, 1, 3]]), num_nodes=4)
        >>> net(torch.randn(2, 7, 3, 4), graph).shape
        torch.Size([2, 7])
    """

    def __init__(
        self,
        model: str,
        *,
        kind: str = "points",
        recipe: str = "ours",
        widths: Sequence[int] | None = None,
        num_elements: int = 7,
        in_channels: int = 3,
    ) -> None:
        super().__init__()
        check_model(model)
        check_choice("kind", kind, list(KINDS))
        check_choice("recipe", recipe, RECIPES)
        widths = default_widths(WIDTHS, model, recipe) if widths is None else widths
        if len(widths) != 3:
            raise ValueError(f"widths must hold the channels of three layers, got {widths!r}")
        self.keep("widths", widths)
        self.needs_graph = kind == "graphs"
        self.graph: Graph | None = None
        maker = Layers(model, recipe, num_elements=num_elements, activation=nn.ELU, dropout=0.0)
        parts: list[nn.Module] = []
        channels = in_channels
        for width in widths:
            out = maker.channels(width)
            parts += _layer(maker, kind, channels, out)
            channels = out
        self.features = Sequential(*parts, MaxOverPoints())
        self.scores = maker.scores([channels, *HIDDEN, 1])

    def forward(self, x: Sets, graph: Graph | None = None) -> Sets:
        if self.needs_graph and graph is None and self.graph is not None:
            if self.graph.device != x.device:
                self.graph = self.graph.to(x.device)
            graph = self.graph
        if self.arguments["kind"] != "full-points" and isinstance(x, Tensor):
            x = to_fast_layout(x)
        return self.scores(self.features(x, *(() if graph is None else (graph,))))


def _layer(maker: Layers, kind: str, i: int, o: int) -> list[nn.Module]:
    """Return a set layer with its normalisation and activation, after the recipe."""
    # A bias that batch normalisation removes again is left out, but for the published form.
    make: Make = partial(KINDS[kind], bias=maker.published)
    pool = dss_pool(maker.scheme)
    if not (maker.published and pool):
        layer: Any = set_layer(maker.scheme, make, i, o, size=maker.size)
        parts: list[nn.Module] = [NormAct(layer, nn.BatchNorm1d(o), nn.ReLU())]
    else:
        heard = (power_degree(pool) or 1) * i
        branches = (_normed(make(channels, o), o) for channels in (i, heard))
        layer = DSS(*branches, pool=pool)
        parts = [layer, nn.ReLU()]
    if maker.published:
        _xavier(layer)
    return parts


def _normed(element: nn.Module, channels: int) -> nn.Module:
    """Normalise what a map gives; the names are those in weights that were saved before."""
    norm = nn.Sequential(OrderedDict(module=nn.BatchNorm1d(channels)))
    return Chain(OrderedDict(element=element, norm=norm))


@torch.no_grad()
def _xavier(module: nn.Module) -> None:
    """Draw the weights of all maps as the released code does; all end in ``(out, in)``."""
    for part in module.modules():
        if isinstance(part, Points | Exchangeable | GraphConv):
            for weight in part.weight.reshape(-1, *part.weight.shape[-2:]):
                nn.init.xavier_normal_(weight)

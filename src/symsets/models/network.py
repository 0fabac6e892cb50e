"""A network for any task on sets of any kind of elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from symsets._checks import check_choice, positive, shown
from symsets.models._blocks import Scores
from symsets.models._trunks import (
    LENGTH,
    GraphVectors,
    Jitter,
    Shift,
    Standardise,
    cloud_trunk,
    halving_trunk,
    load_pretrained,
    timm_trunk,
    vector_trunk,
)
from symsets.models.card import KINDS, TASKS, Card
from symsets.models.registry import RegisteredNetwork, register_network
from symsets.models.restoration import WeightedMerge, restoration_trunk
from symsets.nn import AttentionPool, Classify, Merge, Sequential, SetModule, Siamese, set_layer
from symsets.nn._explain import check_channels, explained
from symsets.sets import Sets, fold, map_elements
from symsets.sets.pooling import check_pool

TIMM = "timm:"
PER_SET, PER_ELEMENT = ("classify", "labels", "regress"), ("select", "score")
MOVED = ("pictures", "signals")  # at random in training: kinds of elements with a size
NAMED = ("classify", "labels")  # tasks with an output for each class
MERGE_BLOCKS = 4
WIDTHS = {"pictures": 16, "signals": 16, "vectors": 128, "clouds": 128, "graphs": 64}


@register_network("network")
class SetNetwork(RegisteredNetwork, SetModule):
    r"""Answer one of six questions about sets of pictures, vectors, signals, clouds or graphs.

    A trunk makes a vector of every element, the vectors meet, and a head answers. Pictures and
    signals pass residual convolutions that halve them until 4 entries are left on the shorter
    axis. These are kept in their places, since averaging over them loses what lies where. Vectors
    pass residual blocks with :class:`~symsets.nn.SetNorm`. Clouds and graphs become vectors one by
    one, since they have no points in common. Merging has no vectors: pictures keep their size.

    :func:`network_for` reads all but the last few arguments off a dataset.

    Args:
        task: ``"classify"``, ``"labels"``, ``"regress"``, ``"select"``, ``"score"`` or ``"merge"``
            (see :class:`Card`).
        kind: Of elements: ``"pictures"``, ``"vectors"``, ``"signals"``, ``"clouds"`` or
            ``"graphs"``.
        channels: Of an element; of a point or a node.
        outputs: How many classes, labels or numbers; channels of a merged element.
        size: Height and width of pictures, length of signals.
        scheme: How elements meet, a name from :func:`symsets.schemes`.
        backbone: ``"small"``, or ``"timm:NAME"`` for a network of timm, lifted.
        width: Channels of the first layer; a good one for the kind if left out.
        pool: How the head summarises a set (see :func:`symsets.pool`), or ``"attention"``, whose
            weights :meth:`weights` returns.
        early: Whether elements meet in every block of the trunk, entry by entry, as they should
            where they show one scene (bursts, scans); otherwise they meet as vectors. If left out:
            for ``"select"``, ``"score"``, and networks of timm.
        shift: By how many entries each picture or signal is moved at random in training; pictures
            are turned and stretched a little, too. If left out, one in sixteen where a set gets
            labels or numbers and elements do not meet early.
        standardise: Whether vectors are standardised first, by the mean and deviation that
            :meth:`learn_scale` finds.

    Shape:
        - x: ``(B, N, C, *E)`` or ragged; ragged with elements ``(P, C)`` for clouds;
          :class:`~symsets.sets.GraphSets` for graphs.
        - output: ``(B, outputs)``; scores ``(B, N)`` or ragged ``(T,)`` for ``"select"`` and
          ``"score"``; ``(B, outputs, *E)`` for ``"merge"``.

    Symmetry:
        Invariant to :math:`S_N`, or equivariant for ``"select"`` and ``"score"``.

    Example:
        >>> import torch
        >>> net = SetNetwork("classify", "pictures", channels=3, outputs=5, size=(64, 64))
        >>> net(torch.randn(2, 6, 3, 64, 64)).shape
        torch.Size([2, 5])
    """

    card: Card | None = None

    def __init__(
        self,
        task: str,
        kind: str,
        *,
        channels: int,
        outputs: int = 1,
        size: Sequence[int] | None = None,
        scheme: str = "dss-mean",
        backbone: str = "small",
        width: int | None = None,
        pool: str = "max",
        early: bool | None = None,
        shift: int | None = None,
        standardise: bool = False,
    ) -> None:
        super().__init__()
        check_choice("task", task, TASKS)
        check_choice("kind", kind, KINDS)
        if size is not None:
            size = [positive("size", length) for length in size]
            if kind not in MOVED:
                raise ValueError(f"size must be left out for {kind}, got {shown(size)}")
        if early is None:
            early = task in PER_ELEMENT or backbone != "small"
        if shift is None:
            fits = size is not None and task in PER_SET and not early
            shift = max(1, min(size) // 16) if fits and size else 0
        width = positive("width", WIDTHS[kind] if width is None else width)
        if pool != "attention":
            check_pool(pool)
        self.arguments = {
            "task": task,
            "kind": kind,
            "channels": positive("channels", channels),
            "outputs": positive("outputs", outputs),
            "size": size,
            "scheme": scheme,
            "backbone": backbone,
            "width": width,
            "pool": pool,
            "early": early,
            "shift": shift,
            "standardise": standardise,
        }
        if standardise and kind != "vectors":
            raise ValueError(f"standardise must be left out for {kind}")
        self.scale = (
            Standardise(torch.zeros(channels), torch.ones(channels)) if standardise else None
        )
        self.returns_sets = task in PER_ELEMENT
        if task == "merge":
            self.trunk, self.head = self._merging()
            return
        self.trunk, features = self._trunk()
        if shift:
            if kind not in MOVED:
                raise ValueError(f"shift must be 0 for {kind}, got {shift}")
            moves = Jitter if kind == "pictures" else Shift
            self.trunk = Sequential(moves(positive("shift", shift)), self.trunk)
        self.meet = Sequential(set_layer(scheme, nn.Linear, features, features), nn.ReLU())
        self.head = self._head(features)

    @explained
    def forward(self, x: Sets) -> Any:
        """Return the answer for each set, or for each element."""
        return self.head(self.features(x))

    def features(self, x: Sets) -> Any:
        """Return what the head sees: a vector for each element, that has met the others."""
        y = self.trunk(x if self.scale is None else map_elements(x, self._scaled))
        return y if self.arguments["task"] == "merge" else self.meet(y)

    def learn_scale(self, x: Sets) -> None:
        """Standardise vectors by the mean and deviation of those in some sets."""
        if self.scale is not None:
            rows, _ = fold(x)
            check_channels(rows, self.arguments["channels"], self)
            if not len(rows):
                raise ValueError(f"x must have at least one vector, got {shown(x)}")
            self.scale.learn(rows)

    def _scaled(self, rows: Tensor) -> Tensor:
        assert self.scale is not None
        check_channels(rows, self.arguments["channels"], self)  # one number would fit to all
        return self.scale(rows)

    def weights(self, x: Sets) -> Any:
        """Return how much each element counts, with ``pool="attention"`` (see AttentionPool)."""
        if self.arguments["pool"] != "attention" or not isinstance(self.head, Classify):
            raise ValueError(
                f"pool must be 'attention' for weights of elements, got {self.arguments['pool']!r}"
            )
        return self.head.pool.weights(self.features(x))  # type: ignore[union-attr]

    def _trunk(self) -> tuple[Sequential, int]:
        """Return the trunk, and the length of its vectors."""
        known = self.arguments
        kind, channels, width = known["kind"], known["channels"], known["width"]
        if known["backbone"] != "small":
            return self._lifted()
        inner = known["scheme"] if known["early"] else "siamese"
        if kind in ("pictures", "signals"):
            axes = 2 if kind == "pictures" else 1
            size = known["size"]
            if size is None or len(size) != axes:
                raise ValueError(f"size must be {axes} numbers for {kind}, got {shown(size)}")
            return halving_trunk(channels, size, width, inner), LENGTH * width
        if kind == "vectors":
            return vector_trunk(channels, width, known["scheme"]), width
        if kind == "clouds":
            return cloud_trunk(channels, width), width
        # Graphs have no common nodes: a vector of every one on its own.
        return Sequential(GraphVectors(channels, width), nn.ReLU()), width

    def _lifted(self) -> tuple[Sequential, int]:
        known = self.arguments
        name = known["backbone"]
        if not isinstance(name, str) or not name.startswith(TIMM) or known["kind"] != "pictures":
            raise ValueError(
                "backbone must be 'small', or 'timm:NAME' for pictures, "
                f"got {shown(name)} for {known['kind']}"
            )
        scheme = known["scheme"] if known["early"] else "siamese"
        return timm_trunk(name.removeprefix(TIMM), known["channels"], scheme)

    def _head(self, features: int) -> SetModule:
        known = self.arguments
        if known["task"] in PER_ELEMENT:
            # A bias would shift all scores of a set alike, which no softmax sees.
            last = nn.Linear(features, 1, bias=known["task"] == "score")
            return Scores(Siamese(nn.Linear(features, features)), nn.ReLU(), Siamese(last))
        pool = AttentionPool(features) if known["pool"] == "attention" else known["pool"]
        return Classify(features, known["outputs"], hidden=(features,), pool=pool)

    def _merging(self) -> tuple[Sequential, SetModule]:
        known = self.arguments
        channels, width, outputs = known["channels"], known["width"], known["outputs"]
        if known["kind"] == "pictures":
            wide = 2 * width
            trunk = restoration_trunk(known["scheme"], channels, wide, MERGE_BLOCKS)
            last = nn.Conv2d(wide, outputs, 3, padding=1)
            return trunk, Sequential(WeightedMerge(wide, wide), nn.ReLU(), last)
        if known["kind"] == "vectors":
            trunk = vector_trunk(channels, width, known["scheme"])
            return trunk, Merge(nn.Linear(width, outputs), pool="mean")
        raise ValueError(f"kind must be 'pictures' or 'vectors' for merging, got {known['kind']!r}")


def network_for(
    about: Any,
    *,
    scheme: str = "dss-mean",
    backbone: str = "small",
    width: int | None = None,
    pool: str = "max",
    early: bool | None = None,
    shift: int | None = None,
) -> SetNetwork:
    """Make a network that fits a dataset: its task, the kind of its elements, its classes.

    The network has the card (``net.card``), so that :func:`~symsets.train.fit` knows the task and
    the names of the classes whatever it is given to train on; what was measured is left out.
    Vectors are standardised, once ``net.learn_scale(x)`` has seen some sets.

    Args:
        about: A dataset with a card, such as ``symsets.data.SetFolder``, or a :class:`Card`.
        scheme: As in :class:`SetNetwork`, like all others.
        backbone: With ``"timm:NAME"``, a network of timm (extra ``vision``) with trained weights
            where timm has them, and otherwise random ones, with a warning.
        width: Channels of the first layer.
        pool: How the head summarises a set.
        early: Whether elements meet entry by entry.
        shift: By how many entries elements are moved in training.

    Example:
        >>> import torch
        >>> from symsets.models import Card
        >>> card = Card("classify", "vectors", ("cat", "dog"), {"channels": 16})
        >>> network_for(card)(torch.randn(2, 5, 16)).shape
        torch.Size([2, 2])
    """
    card = getattr(about, "card", about)
    try:
        task, kind, classes, element = card.task, card.kind, card.classes, card.element
        channels = element["channels"]
    except (AttributeError, KeyError, TypeError) as error:
        raise TypeError(
            "about must be a Card, or have one, that says task, kind, classes and the channels of "
            f"an element, got {shown(about)}"
        ) from error
    if task is None:
        raise ValueError("about must have a task, got sets without labels")
    if task in NAMED and not classes:
        raise ValueError(
            f"about must name classes for {task!r}, got none: Card({task!r}, {kind!r}, "
            'classes=("cat", "dog"), …)'
        )
    size = element.get("size") or (element.get("length") and [element["length"]])
    net = SetNetwork(
        task,
        kind,
        channels=channels,
        outputs=channels if task == "merge" else max(1, len(classes)),
        size=size or None,
        scheme=scheme,
        backbone=backbone,
        width=width,
        pool=pool,
        early=early,
        shift=shift,
        standardise=kind == "vectors",
    )
    if isinstance(card, Card):
        net.card = replace(card, metrics={}, target={})
    if backbone != "small":
        load_pretrained(net.trunk, backbone.removeprefix(TIMM), channels)
    return net

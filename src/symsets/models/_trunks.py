"""From sets of elements of any kind to sets of vectors, for :class:`SetNetwork`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from symsets._extras import require
from symsets.lift import lift
from symsets.lift.network import Lifted
from symsets.models._convolution import convolution
from symsets.nn import Classify, Residual, Sequential, SetModule, SetNorm, Siamese, set_layer
from symsets.nn.registry import Make
from symsets.sets import RaggedSets, pool

GRID = 4  # entries on each side at which pictures and signals are no longer halved
WIDEST = 8  # channels, times the width of the first layer
LENGTH = 8  # of the vector of a picture or signal, times that width
STRETCH = 0.15  # of pictures, at random
DEPTH = 2  # residual blocks of networks for vectors, layers of those for clouds and graphs


def vector_trunk(channels: int, width: int, scheme: str) -> Sequential:
    """Residual blocks that normalise whole sets."""
    return Sequential(
        nn.Linear(channels, width),
        *(
            Residual(
                SetNorm(width),
                nn.ReLU(),
                set_layer(scheme, nn.Linear, width, width),
                nn.ReLU(),
                nn.Linear(width, width),
            )
            for _ in range(DEPTH)
        ),
        SetNorm(width),
        nn.ReLU(),
    )


def cloud_trunk(channels: int, width: int) -> Sequential:
    """Make a vector of every cloud on its own: points have no common order."""
    layers: list[nn.Module] = []
    for i in (channels, *[width] * (DEPTH - 1)):
        layers += [set_layer("dss-max", nn.Linear, i, width), nn.LayerNorm(width), nn.ReLU()]
    points = Sequential(*layers, Classify(width, width, pool="max"))
    return Sequential(Siamese(points), nn.ReLU())


def halving_trunk(channels: int, size: Sequence[int], width: int, scheme: str) -> Sequential:
    """Halve pictures or signals of a size until at most 4 entries are left on the shorter side.

    What is left keeps its place.
    """
    axes = len(size)
    conv: Callable[..., nn.Module] = convolution if axes == 2 else nn.Conv1d
    norm: Callable[[int], nn.Module] = nn.BatchNorm2d if axes == 2 else nn.BatchNorm1d
    average: Callable[..., nn.Module] = nn.AdaptiveAvgPool2d if axes == 2 else nn.AdaptiveAvgPool1d
    make: Make = partial(conv, kernel_size=3, padding=1, bias=False)
    times = max(1, math.ceil(math.log2(max(min(size), 1) / GRID)))
    grid = [math.ceil(n / 2**times) for n in size]
    wide = [width * min(2**k, WIDEST) for k in range(times + 1)]
    parts: list[nn.Module] = [make(channels, width), norm(width), nn.ReLU()]
    for i, o in pairwise(wide):
        parts += [
            conv(i, o, kernel_size=3, stride=2, padding=1),
            Residual(
                norm(o),
                nn.ReLU(),
                set_layer(scheme, make, o, o),
                norm(o),
                nn.ReLU(),
                make(o, o),
            ),
        ]
    last = LENGTH * width
    parts += [norm(wide[-1]), nn.ReLU(), average(grid), nn.Flatten()]
    return Sequential(*parts, nn.Linear(wide[-1] * math.prod(grid), last), nn.ReLU())


class Standardise(nn.Module):
    """Subtract a mean from elements and divide by a deviation.

    Args:
        mean: Numbers that broadcast to an element.
        std: As many.

    Example:
        >>> layer = Standardise(torch.zeros(2), torch.ones(2))
        >>> layer.learn(torch.tensor([[300.0, 7.0], [302.0, 7.0]]))
        >>> layer(torch.tensor([[303.0, 7.0]]))
        tensor([[2., 0.]])
    """

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Tensor, std: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)

    def learn(self, rows: Tensor) -> None:
        """Take mean and deviation of vectors ``(T, C)``; what never changes is divided by one."""
        rows = rows.double()
        std = rows.std(0, correction=0)
        self.mean.copy_(rows.mean(0))
        self.std.copy_(std.where(std > 1e-9 * rows.abs().amax(0), 1.0))

    def forward(self, x: Tensor) -> Tensor:
        """Return elements ``(T, C, …)``."""
        return (x - self.mean) / self.std


class GraphVectors(SetModule):
    r"""Make a vector of every graph: nodes hear their neighbours, then all nodes are pooled.

    .. math:: h_v \leftarrow h_v + m\Bigl(n(h_v) + \sum_{u \to v} n(h_u)\Bigr), \qquad
        y = L\bigl[\operatorname{mean}_v h_v, \max_v h_v\bigr]

    :math:`n` normalises a node before sums are taken: after them, it would lose how many neighbours
    there are.

    Args:
        channels: Of a node.
        width: Of the vectors.

    Shape:
        - x: :class:`~symsets.sets.GraphSets` with nodes ``(C,)``.
        - output: ragged, with elements ``(width,)``.

    Symmetry:
        Equivariant to :math:`S_N`, invariant to renumbering the nodes of each graph.

    Reference:
        Xu, Hu, Leskovec, Jegelka: How Powerful are Graph Neural Networks? ICLR 2019.
    """

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(channels, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(DEPTH))
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
            for _ in range(DEPTH)
        )
        self.last = nn.Linear(2 * width, width)

    def forward(self, x: Any) -> RaggedSets:
        source, target = x.edge_index
        nodes: Tensor = self.first(x.elements.elements)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            own = norm(nodes)
            nodes = nodes + layer(own.index_add(0, target, own[source]))
        of_graphs = x.elements.with_elements(nodes)
        pooled = [pool(of_graphs, how) for how in ("mean", "max")]
        return x.with_elements(self.last(torch.cat(pooled, dim=1)))


class Shift(nn.Module):
    """Move every signal by up to some entries at random, in training only.

    Args:
        most: How far; what comes in is zero.

    Example:
        >>> x = torch.randn(2, 1, 8)
        >>> Shift(1)(x).shape, torch.equal(Shift(1).eval()(x), x)
        (torch.Size([2, 1, 8]), True)
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def extra_repr(self) -> str:
        return str(self.most)

    def forward(self, x: Tensor) -> Tensor:
        """Move rows ``(T, C, L)``."""
        if not self.training:
            return x
        size = x.shape[2]
        steps = torch.randint(-self.most, self.most + 1, (len(x), 1), device=x.device)
        places = torch.arange(size, device=x.device) + steps  # (T, L)
        inside = ((places >= 0) & (places < size)).to(x.dtype)
        index = places.clamp(0, size - 1)[:, None].expand(x.shape)
        return x.gather(2, index) * inside[:, None]


class Jitter(Shift):
    r"""Move every picture a little at random, in training only: shift, turn, stretch and shear it.

    A pixel at :math:`p`, counted from the middle, comes from :math:`(I + A) p + t`. Entries of
    :math:`A` are uniform in [−0.15, 0.15].

    Args:
        most: Pixels of a shift, on each axis; what comes in is zero.

    Example:
        >>> x = torch.randn(2, 1, 8, 8)
        >>> Jitter(1)(x).shape, torch.equal(Jitter(1).eval()(x), x)
        (torch.Size([2, 1, 8, 8]), True)
    """

    def forward(self, x: Tensor) -> Tensor:
        """Move rows ``(T, C, H, W)``."""
        if not self.training:
            return x
        drawn = 2 * torch.rand(len(x), 2, 3, device=x.device, dtype=x.dtype) - 1
        shift = [2 * self.most / side for side in (x.shape[3], x.shape[2])]  # pictures are 2 wide
        matrix = torch.eye(2, 3, device=x.device, dtype=x.dtype) + STRETCH * drawn
        matrix[:, :, 2] = drawn[:, :, 2] * matrix.new_tensor(shift)
        grid = F.affine_grid(matrix, list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)


def timm_trunk(name: str, channels: int, scheme: str) -> tuple[Sequential, int]:
    """Return a network of timm with random weights, and the length of its vectors."""
    model = _create(name, channels, pretrained=False)
    trunk = Sequential(Standardise(*_pixels_of(model, channels)), lift(model, scheme))
    return trunk, int(model.num_features)


def load_pretrained(trunk: nn.Module, name: str, channels: int) -> None:
    """Give a trunk the trained weights of timm, or warn that there are none."""
    try:
        model = _create(name, channels, pretrained=True)
    except Exception as error:
        warnings.warn(
            f"no trained weights of {name} could be had ({error}): they are random", stacklevel=3
        )
        return
    lifted = next(part for part in trunk.modules() if isinstance(part, Lifted))
    lifted.load_element_state_dict(model.state_dict())


def _create(name: str, channels: int, *, pretrained: bool) -> Any:
    timm = require("timm", "vision")
    return timm.create_model(name, pretrained=pretrained, num_classes=0, in_chans=channels)


def _pixels_of(model: nn.Module, channels: int) -> list[Tensor]:
    """Return mean and deviation of the pictures that a network of timm was trained with."""
    known: Any = getattr(model, "pretrained_cfg", None) or {}
    found = []
    for name in ("mean", "std"):
        values = torch.tensor(known.get(name, (0.5,)))
        values = values if len(values) == channels else values.mean().expand(channels)
        found.append(values.reshape(-1, 1, 1).clone())
    return found

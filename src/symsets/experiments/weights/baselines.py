"""Other networks that read weights: equivariant linear layers, Deep Sets and MLPs."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from symsets.experiments.weights.action import DROPOUT, classifier
from symsets.experiments.weights.space import WeightSpace
from symsets.nn import EquivariantLinear, Exchangeable

DEPTH = 3  # layers before weights are pooled


class _NormOfParts(nn.Module):
    """Normalise every part of the weights over all networks of a batch.

    Not over the entries of one network: how large its weights are tells what it draws.
    """

    def __init__(self, space: WeightSpace, channels: int) -> None:
        super().__init__()
        self.sizes = space.sizes
        self.norms = nn.ModuleList([nn.BatchNorm1d(channels) for _ in self.sizes])

    def forward(self, x: Tensor) -> Tensor:
        parts = x.split(self.sizes, dim=-1)
        return torch.cat([norm(part) for norm, part in zip(self.norms, parts, strict=True)], dim=-1)


class _Pointwise(nn.Module):
    """Stack maps of all entries, with normalisation, ReLU and residuals, and pool every part."""

    def __init__(
        self, space: WeightSpace, num_classes: int, channels: int, make: Callable[[int], nn.Module]
    ) -> None:
        super().__init__()
        self.space = space
        self.maps = nn.ModuleList([make(k) for k in range(DEPTH)])
        self.norms = nn.ModuleList([_NormOfParts(space, channels) for _ in range(DEPTH)])
        self.head = classifier(len(space.sizes) * channels, 4 * channels, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        for k, (layer, norm) in enumerate(zip(self.maps, self.norms, strict=True)):
            y = norm(layer(x)).relu()  # (B, C, D)
            x = x + y if k else y
        means = [part.mean(-1) for part in x.split(self.space.sizes, dim=-1)]
        return self.head(torch.cat(means, dim=1))


def dws(space: WeightSpace, num_classes: int, channels: int) -> nn.Module:
    """Stack the most general linear layers that know of the order of neurons, as DWSNets does."""
    make = partial(EquivariantLinear, space.group, out_channels=channels)
    return _Pointwise(space, num_classes, channels, lambda k: make(channels if k else 1))


class _NameParts(nn.Module):
    """Add channels that say which part of a network each entry is from."""

    def __init__(self, space: WeightSpace) -> None:
        super().__init__()
        self.space = space

    def forward(self, x: Tensor) -> Tensor:
        parts = torch.block_diag(*(x.new_ones(1, size) for size in self.space.sizes))
        return torch.cat([x, parts.expand(len(x), -1, -1)], dim=1)


def deep_sets(space: WeightSpace, num_classes: int, channels: int) -> nn.Module:
    """Take all weights for one set, each a number that knows which part it is from."""

    def make(k: int) -> nn.Module:
        if k:
            return Exchangeable(channels, channels, pool="mean")
        first = Exchangeable(1 + len(space.sizes), channels, pool="mean")
        return nn.Sequential(_NameParts(space), first)

    return _Pointwise(space, num_classes, channels, make)


class Reorder(nn.Module):
    """Reorder neurons at random while training; change nothing in evaluation."""

    def __init__(self, space: WeightSpace) -> None:
        super().__init__()
        self.space = space

    def forward(self, x: Tensor) -> Tensor:
        return self.space.reorder(x, self.space.random_orders(x)) if self.training else x


def mlp(space: WeightSpace, num_classes: int, channels: int) -> nn.Module:
    """Take the vector as it is."""
    widths = 8 * channels
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(space.size, widths),
        nn.GELU(),
        nn.Dropout(DROPOUT),
        nn.Linear(widths, widths),
        nn.GELU(),
        nn.Dropout(DROPOUT),
        nn.Linear(widths, num_classes),
    )


def mlp_reordered(space: WeightSpace, num_classes: int, channels: int) -> nn.Module:
    """Take the vector, with the neurons in another order each time it is seen in training."""
    return nn.Sequential(Reorder(space), mlp(space, num_classes, channels))

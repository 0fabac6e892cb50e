"""Networks that classify networks by their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from symsets._checks import check_choice, positive
from symsets.experiments.weights.action import WeightAction
from symsets.experiments.weights.space import WIDTHS, WeightSpace
from symsets.models.registry import register_network
from symsets.nn import EquivariantLinear, Exchangeable

DROPOUT = 0.2
DEPTH = 3  # of the networks that are not shaped like what they read
GROUPS = 4  # of channels that are normalised together


def _head(in_channels: int, hidden: int, num_classes: int) -> nn.Sequential:
    return nn.Sequential(
        nn.LayerNorm(in_channels),
        nn.Dropout(DROPOUT),
        nn.Linear(in_channels, hidden),
        nn.GELU(),
        nn.Dropout(DROPOUT),
        nn.Linear(hidden, num_classes),
    )


class Acting(nn.Module):
    r"""Let the weights act on learned features, layer by layer, as in the network they come from.

    .. math:: h^{k} = \sin\bigl(\operatorname{action}_k(h^{k-1}, W^k, c^k)\bigr)

    with a :class:`WeightAction` for each layer, and a one for each input as the first features.
    An MLP reads what arrives at the outputs, and the mean of the squared features of the last
    hidden layer. All maps but the last are odd, so signs of neurons say nothing, either.

    Symmetry:
        Invariant to reordering the neurons of hidden layers, and to sign flips: a hidden neuron
        of a sine network computes the negative if its weights and bias do, and the weights that
        read it undo that.
    """

    def __init__(self, space: WeightSpace, num_classes: int, channels: int) -> None:
        super().__init__()
        self.space = space
        inputs, *_, outputs = space.widths
        widths = [inputs, *[channels] * len(space.shapes)]
        self.actions = nn.ModuleList(map(WeightAction, widths[:-1], widths[1:]))
        self.head = _head((outputs + 1) * channels, 2 * channels, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores of the classes."""
        weights, biases = self.space.split(x.squeeze(1))
        *hidden, last = zip(self.actions, weights, biases, strict=True)
        inputs = self.space.widths[0]
        h = torch.eye(inputs, dtype=x.dtype, device=x.device).expand(len(x), -1, -1)
        for action, weight, bias in hidden:
            h = action(h, weight, bias).sin()  # (B, n, C)
        action, weight, bias = last
        drawn = action(h, weight, bias)  # (B, outputs, C)
        scores: Tensor = self.head(torch.cat([drawn.flatten(1), h.square().mean(1)], dim=1))
        return scores


class _Pointwise(nn.Module):
    """Stack maps of all entries, with normalisation, ReLU and residuals, and pool every part."""

    def __init__(
        self, space: WeightSpace, num_classes: int, channels: int, make: Callable[[int], nn.Module]
    ) -> None:
        super().__init__()
        self.space = space
        self.maps = nn.ModuleList([make(k) for k in range(DEPTH)])
        self.norms = nn.ModuleList([nn.GroupNorm(GROUPS, channels) for _ in range(DEPTH)])
        self.head = _head(len(space.sizes) * channels, 4 * channels, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        for k, (layer, norm) in enumerate(zip(self.maps, self.norms, strict=True)):
            y = norm(layer(x)).relu()  # (B, C, D)
            x = x + y if k else y
        means = [part.mean(-1) for part in x.split(self.space.sizes, dim=-1)]
        scores: Tensor = self.head(torch.cat(means, dim=1))
        return scores


def dws(space: WeightSpace, num_classes: int, channels: int) -> nn.Module:
    """Stack the most general linear layers that know of the order of neurons, as DWSNets does."""
    group = space.group

    def make(k: int) -> nn.Module:
        return EquivariantLinear(group, channels if k else 1, channels)

    return _Pointwise(space, num_classes, channels, make)


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
        """Return the same networks, in training with other vectors."""
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


MODELS: dict[str, tuple[Callable[[WeightSpace, int, int], nn.Module], int]] = {  # and channels
    "acting": (Acting, 64),
    "dws": (dws, 16),
    "deepsets": (deep_sets, 16),
    "mlp": (mlp, 64),
    "mlp-reordered": (mlp_reordered, 64),
}


@register_network("weights")
class WeightNetwork(nn.Module):
    r"""Classify what a network represents, given nothing but its weights.

    Args:
        model: ``"acting"``, ``"dws"``, ``"deepsets"``, ``"mlp"`` or ``"mlp-reordered"``.
        widths: Of the represented networks: inputs, neurons of each hidden layer, outputs.
        num_classes: Of what they represent.
        channels: Of the layers; those of :data:`MODELS` if left out.

    Shape:
        - x: ``(B, 1, D)``, vectors of a :class:`WeightSpace`.
        - output: ``(B, num_classes)``

    Symmetry:
        Invariant to reordering the neurons of hidden layers, but for the two MLPs.

    Example:
        >>> net = WeightNetwork("acting").eval()
        >>> space, x = WeightSpace(WIDTHS), torch.randn(2, 1, 1185)
        >>> moved = space.reorder(x, space.random_orders(x))
        >>> torch.allclose(net(moved), net(x), atol=1e-4)
        True

    Reference:
        Navon, Shamsian, Achituve, Fetaya, Chechik, Maron: Equivariant Architectures for Learning
        in Deep Weight Spaces. ICML 2023.
    """

    def __init__(
        self,
        model: str,
        *,
        widths: Sequence[int] = WIDTHS,
        num_classes: int = 10,
        channels: int | None = None,
    ) -> None:
        super().__init__()
        check_choice("model", model, list(MODELS))
        make, usual = MODELS[model]
        channels = usual if channels is None else positive("channels", channels)
        self.arguments = {
            "model": model,
            "widths": list(widths),
            "num_classes": num_classes,
            "channels": channels,
        }
        self.space = WeightSpace(widths)
        self.net = make(self.space, num_classes, channels)

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores of the classes."""
        if x.shape[1:] != (1, self.space.size):
            raise ValueError(f"x must have shape (B, 1, {self.space.size}), got {tuple(x.shape)}")
        scores: Tensor = self.net(x)
        return scores

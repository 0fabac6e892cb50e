"""The weights of a small network as one vector, and how reordering neurons moves it."""

import math
from collections.abc import Sequence
from itertools import pairwise
from string import ascii_lowercase

import torch
from torch import Tensor

from symsets import groups
from symsets._checks import positive

WIDTHS = (2, 32, 32, 1)  # of the published networks: a place in, a grey level out


class WeightSpace:
    r"""Know where the weights of a network of fully connected layers lie in one vector.

    First come the matrices, then the biases, each from the input to the output. Reordering the
    neurons of hidden layers changes nothing of what a network computes: the symmetry is
    :math:`S_{n_1} \times S_{n_2} \times \dots`, which acts on the direct sum of all parts.

    Args:
        widths: Inputs, neurons of each hidden layer, outputs.

    Example:
        >>> space = WeightSpace((2, 32, 32, 1))
        >>> space
        WeightSpace(2 → 32 → 32 → 1, 1185 entries)
        >>> print(space.group)
        I2 × S32[a] + S32[a] × S32[b] + S32[b] + S32[a] + S32[b] + I1
        >>> weights, biases = space.split(torch.randn(5, 1185))
        >>> [tuple(w.shape) for w in weights], [tuple(b.shape) for b in biases]
        ([(5, 2, 32), (5, 32, 32), (5, 32, 1)], [(5, 32), (5, 32), (5, 1)])
    """

    def __init__(self, widths: Sequence[int]) -> None:
        self.widths = tuple(positive("widths", width) for width in widths)
        if len(self.widths) < 3:
            raise ValueError(f"widths must hold inputs, hidden neurons and outputs, got {widths}")
        self.shapes = list(pairwise(self.widths))
        self.sizes = [*map(math.prod, self.shapes), *self.widths[1:]]
        self.size = sum(self.sizes)

    @property
    def hidden(self) -> tuple[int, ...]:
        """The neurons of each hidden layer."""
        return self.widths[1:-1]

    @property
    def group(self) -> groups.PermutationGroup:
        """Reorderings of the neurons of every hidden layer."""
        named = zip(self.hidden, ascii_lowercase, strict=False)
        inputs, *others = f"I{self.widths[0]}", *(f"S{n}[{a}]" for n, a in named)
        outputs = f"I{self.widths[-1]}"
        matrices = [" x ".join(pair) for pair in pairwise((inputs, *others))]
        last = others[-1] if outputs == "I1" else f"{others[-1]} x {outputs}"
        return groups.parse(" + ".join([*matrices, last, *others, outputs]))

    def split(self, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Return the matrices ``(*, n, m)`` and the biases ``(*, m)`` of vectors ``(*, D)``."""
        parts = x.split(self.sizes, dim=-1)
        matrices = zip(parts, self.shapes, strict=False)
        weights = [part.unflatten(-1, shape) for part, shape in matrices]
        return weights, list(parts[len(weights) :])

    def join(self, weights: Sequence[Tensor], biases: Sequence[Tensor]) -> Tensor:
        """Return vectors ``(*, D)`` from matrices and biases: the inverse of :meth:`split`."""
        return torch.cat([*(weight.flatten(-2) for weight in weights), *biases], dim=-1)

    def reorder(self, x: Tensor, orders: Sequence[Tensor]) -> Tensor:
        """Reorder the neurons of every hidden layer, in each network by an order of its own.

        Shape:
            - x: ``(*, D)``
            - orders: ``(*, n)`` for each hidden layer.
            - output: ``(*, D)``
        """
        weights, biases = self.split(x)
        for k, order in enumerate(orders):
            weights[k] = weights[k].take_along_dim(order.unsqueeze(-2), dim=-1)
            biases[k] = biases[k].take_along_dim(order, dim=-1)
            weights[k + 1] = weights[k + 1].take_along_dim(order.unsqueeze(-1), dim=-2)
        return self.join(weights, biases)

    def random_orders(self, x: Tensor, generator: torch.Generator | None = None) -> list[Tensor]:
        """Draw an order of the neurons for each network and hidden layer."""
        device = x.device if generator is None else generator.device
        return [
            torch.rand(*x.shape[:-1], n, generator=generator, device=device)
            .argsort(-1)
            .to(x.device)
            for n in self.hidden
        ]

    def __repr__(self) -> str:
        return f"WeightSpace({' → '.join(map(str, self.widths))}, {self.size} entries)"

"""Direct products: every factor moves its own index axes."""

import math
from collections.abc import Hashable, Sequence
from functools import cached_property

import numpy as np

from symsets.groups._arrays import IntArray, kronecker
from symsets.groups.permutation import PermutationGroup, checked_group

__all__ = ["Product"]


class Product(PermutationGroup):
    r"""The direct product of groups, each moving its own index axes; usually written ``G * H``.

    .. math:: ((g, h) \cdot X)_{g(i)\,h(j)} = X_{ij}

    Products of products are flattened. The factors are kept as they are: whatever can be said of
    a product from its factors is never worked out on the large index set.

    Args:
        parts: The factors, outermost index axes first.

    Example:
        >>> from symsets.groups import Cyclic, Symmetric
        >>> G = Symmetric(5) * Cyclic(4)
        >>> G, G.order
        (S5 × C4 acting on 5×4, 480)
    """

    def __init__(self, *parts: PermutationGroup) -> None:
        groups = [checked_group("parts", part) for part in parts]
        if not groups:
            raise ValueError("parts must hold at least one group, got none; see Trivial")
        self._factors = tuple(factor for group in groups for factor in group.factors)
        self.shape = tuple(size for factor in self._factors for size in factor.shape)

    @property
    def factors(self) -> tuple[PermutationGroup, ...]:
        """The factors, outermost first."""
        return self._factors

    @cached_property
    def _group(self) -> PermutationGroup | None:
        if all(factor.group is factor for factor in self._factors):
            return None  # not self: a group that holds itself is never freed by counting
        return Product(*(factor.group for factor in self._factors))

    @property
    def group(self) -> PermutationGroup:
        """The product of the groups whose elements act."""
        return self._group or self

    def _generators(self) -> Sequence[IntArray]:
        if self.group is not self:
            return [self.image(g) for g in self.group.generators]
        identity = [np.arange(factor.degree) for factor in self._factors]
        return [
            kronecker([*identity[:i], g, *identity[i + 1 :]])
            for i, factor in enumerate(self._factors)
            for g in factor.generators
        ]

    def _image(self, element: IntArray) -> IntArray:
        if self.group is self:
            return element
        moves = element.reshape([factor.group.degree for factor in self._factors])
        images = []
        for axis, factor in enumerate(self._factors):
            line = np.moveaxis(moves, axis, 0).reshape(factor.group.degree, -1)[:, 0]
            images.append(factor.image(np.unravel_index(line, moves.shape)[axis]))
        return kronecker(images)

    def _on(self, axes: tuple[int, ...]) -> PermutationGroup:
        parts, start = [], 0
        for factor in self._factors:
            stop = start + len(factor.shape)
            parts.append(factor.on(*(axis - start for axis in axes if start <= axis < stop)))
            start = stop
        return Product(*parts)

    def _order(self) -> int:
        return math.prod(factor.order for factor in self._factors)

    def log10_order(self) -> float:
        """Return the decimal logarithm of the order."""
        return math.fsum(factor.log10_order() for factor in self._factors)

    def _orbits(self) -> IntArray:
        labels = np.zeros(1, dtype=np.int64)
        for factor in self._factors:
            labels = (labels[:, None] * factor.num_orbits + factor.orbits).ravel()
        return labels

    def _random(self, rng: np.random.Generator) -> IntArray:
        return kronecker([factor.random_element(rng) for factor in self._factors])

    def _key(self) -> Hashable:
        return self._factors

    def __str__(self) -> str:
        return " × ".join(map(str, self._factors))

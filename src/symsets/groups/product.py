"""Direct products: every factor permutes its own index axes."""

import math
from collections.abc import Hashable, Sequence

import numpy as np

from symsets.groups._arrays import IntArray, kronecker
from symsets.groups.permutation import PermutationGroup

__all__ = ["Product"]


class Product(PermutationGroup):
    r"""The direct product of groups, each permuting its own index axes; written ``G * H``.

    .. math:: ((g, h) \cdot X)_{g(i)\,h(j)} = X_{ij}

    Products of products are flattened, outermost axes first. Orders, orbits and dimensions are
    computed from the factors, never on the large index set.

    Example:
        >>> from symsets.groups import Cyclic, Symmetric
        >>> G = Symmetric(5) * Cyclic(4)
        >>> G, G.order
        (S5 × C4 acting on 5×4, 480)
    """

    def __init__(self, *parts: PermutationGroup) -> None:
        self._factors = tuple(factor for part in parts for factor in part.factors)
        self.shape = tuple(size for factor in self._factors for size in factor.shape)
        if any(factor.group is not factor for factor in self._factors):
            self._acting_group = Product(*(factor.group for factor in self._factors))

    def _generators(self) -> Sequence[IntArray]:
        identity = [np.arange(factor.degree) for factor in self._factors]
        return [
            kronecker([*identity[:i], g, *identity[i + 1 :]])
            for i, factor in enumerate(self._factors)
            for g in factor.generators
        ]

    def _image(self, element: IntArray) -> IntArray:
        if self.group is self:
            return element
        table = element.reshape([factor.group.degree for factor in self._factors])
        images = []
        for axis, factor in enumerate(self._factors):
            line = np.moveaxis(table, axis, 0).reshape(factor.group.degree, -1)[:, 0]
            images.append(factor.image(np.unravel_index(line, table.shape)[axis]))
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

    def _log10_order(self) -> float:
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

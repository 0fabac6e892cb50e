"""Groups made from other groups: products, wreath products, actions on axes and tuples."""

import math
from collections.abc import Hashable, Sequence

import numpy as np

from symsets._checks import positive
from symsets.groups._arrays import IntArray, by_first_appearance, cycles, kronecker, quotient
from symsets.groups.named import Symmetric
from symsets.groups.pairs import basis, dimension
from symsets.groups.permutation import PermutationGroup, checked_group


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
        named = [factor.group for factor in self._factors if factor.group.name is not None]
        if double := next((group for group in named if named.count(group) > 1), None):
            raise ValueError(
                f"factors of a product must have different names, got {double} twice: "
                f"{double}^2 acts on both axes alike"
            )
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

    def _text(self) -> str:
        return " × ".join(f"({f})" if len(f.parts) > 1 else str(f) for f in self._factors)


def wreath(group: PermutationGroup, copies: int) -> PermutationGroup:
    r"""Return the symmetry of a set in which H acts on each element separately: :math:`H \wr S_n`.

    It acts on an n×d matrix by :math:`((h_1, …, h_n, q) \cdot X)_{q(i)\,h_i(j)} = X_{ij}`:
    every row is permuted by its own element of H, and then the rows are permuted. If H is
    transitive, the equivariant maps are those of H on every row, plus the sum of all entries.

    Args:
        group: H, the symmetry of one element.
        copies: n, the number of elements in the set.

    Example:
        >>> from symsets.groups import Cyclic, dimension
        >>> G = wreath(Cyclic(4), 5)
        >>> G, G.order, dimension(G)
        (C4 wr S5 acting on 5×4, 122880, 5)

    Reference:
        Maron et al., On Learning Sets of Symmetric Elements, ICML 2020, appendix C.
    """
    return _Wreath(group, copies)


class _Wreath(PermutationGroup):
    def __init__(self, base: PermutationGroup, copies: int) -> None:
        self.base, self.copies = checked_group("group", base), positive("copies", copies)
        self.shape = (self.copies, *base.shape)

    def _generators(self) -> Sequence[IntArray]:
        d, points = self.base.degree, np.arange(self.degree)
        first = [np.r_[g, points[d:]] for g in self.base.generators]
        table = points.reshape(self.copies, d)
        return [*first, *(table[g].ravel() for g in Symmetric(self.copies).generators)]

    def _order(self) -> int:
        return self.base.order**self.copies * math.factorial(self.copies)

    def _log10_order(self) -> float:
        return self.copies * self.base.log10_order() + Symmetric(self.copies).log10_order()

    def _orbits(self) -> IntArray:
        return np.tile(self.base.orbits, self.copies)

    def _random(self, rng: np.random.Generator) -> IntArray:
        blocks = rng.permutation(self.copies) * self.base.degree
        return np.concatenate([start + self.base.random_element(rng) for start in blocks])

    def _pair_labels(self) -> IntArray:
        own, orbits = basis(self.base), self.base.orbits
        other = own.max() + 1 + orbits[:, None] * self.base.num_orbits + orbits
        same = np.eye(self.copies, dtype=bool)[:, None, :, None]
        labels = np.where(same, own[:, None], other[:, None])  # (n, d, n, d)
        return by_first_appearance(labels.reshape(self.degree, self.degree))

    def _num_pair_labels(self) -> int:
        return dimension(self.base) + (self.base.num_orbits**2 if self.copies > 1 else 0)

    def _key(self) -> Hashable:
        return (self.base, self.copies)

    def _text(self) -> str:
        return f"{_bracketed(self.base)} wr S{self.copies}"


class OnAxes(PermutationGroup):
    """The action of a group on some of its index axes; made by :meth:`PermutationGroup.on`."""

    def __init__(self, parent: PermutationGroup, axes: tuple[int, ...]) -> None:
        self.parent, self.axes, self._acting_group = parent, axes, parent.group
        self.shape = tuple(parent.shape[axis] for axis in axes)
        if axes and any(quotient(g, parent.shape, axes) is None for g in parent.generators):
            raise ValueError(
                f"axes must be permuted by {parent} independently of the others, got {list(axes)}"
            )

    def _image(self, element: IntArray) -> IntArray:
        image = quotient(self.parent.image(element), self.parent.shape, self.axes)
        if image is None:
            raise ValueError(f"element must belong to {self.group}, got {cycles(element)}")
        return image

    def _on(self, axes: tuple[int, ...]) -> PermutationGroup:
        return self.parent.on(*(self.axes[axis] for axis in axes))

    def _key(self) -> Hashable:
        return (self.parent, self.axes)

    def _text(self) -> str:
        return str(self.group)


class OnTuples(PermutationGroup):
    """The action of one group on tuples of indices; made by :meth:`PermutationGroup.on_tuples`."""

    def __init__(self, base: PermutationGroup, length: int) -> None:
        self.base, self.length = base, length
        self.shape, self._acting_group = base.shape * length, base.group

    def _image(self, element: IntArray) -> IntArray:
        return kronecker([self.base.image(element)] * self.length)

    def _on(self, axes: tuple[int, ...]) -> PermutationGroup:
        if not axes:
            return self.base.on()
        rank = len(self.base.shape)
        kept = sorted({axis // rank for axis in axes})
        if axes == tuple(index * rank + axis for index in kept for axis in range(rank)):
            return self.base.on_tuples(len(kept))
        return super()._on(axes)

    def _order(self) -> int:
        return self.base.order

    def _key(self) -> Hashable:
        return (self.base, self.length)

    def _text(self) -> str:
        return f"{_bracketed(self.base)}^{self.length}"


def _bracketed(group: PermutationGroup) -> str:
    """Write a group, in brackets if it would be misread as part of something larger."""
    several = max(len(group.factors), len(group.parts)) > 1
    return f"({group})" if several or isinstance(group, _Wreath) else str(group)

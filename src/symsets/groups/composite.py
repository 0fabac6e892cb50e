"""Groups made of one other group: many copies that move alone, or one that moves many indices."""

import math
from collections.abc import Hashable, Sequence

import numpy as np

from symsets._checks import positive
from symsets.groups._arrays import IntArray, by_first_appearance, kronecker
from symsets.groups.named import Symmetric
from symsets.groups.permutation import PermutationGroup, checked_group

__all__ = ["tensor_power", "wreath"]


class Wreath(PermutationGroup):
    """The wreath product, made by :func:`wreath`."""

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

    def log10_order(self) -> float:
        """Return the decimal logarithm of the order."""
        return self.copies * self.base.log10_order() + Symmetric(self.copies).log10_order()

    def _orbits(self) -> IntArray:
        return np.tile(self.base.orbits, self.copies)

    def _random(self, rng: np.random.Generator) -> IntArray:
        blocks = rng.permutation(self.copies) * self.base.degree
        return np.concatenate([start + self.base.random_element(rng) for start in blocks])

    def _pair_labels(self) -> IntArray:
        from symsets.groups.pairs import basis

        own, orbits = basis(self.base), self.base.orbits
        other = own.max() + 1 + orbits[:, None] * self.base.num_orbits + orbits
        same = np.eye(self.copies, dtype=bool)[:, None, :, None]
        labels = np.where(same, own[:, None], other[:, None])  # (n, d, n, d)
        return by_first_appearance(labels.reshape(self.degree, self.degree))

    def _num_pair_labels(self) -> int:
        from symsets.groups.pairs import dimension

        return dimension(self.base) + (self.base.num_orbits**2 if self.copies > 1 else 0)

    def _key(self) -> Hashable:
        return (self.base, self.copies)

    def __str__(self) -> str:
        return f"{_bracketed(self.base)} wr S{self.copies}"


class TensorPower(PermutationGroup):
    """The diagonal action on index tuples, made by :func:`tensor_power`."""

    def __init__(self, base: PermutationGroup, power: int) -> None:
        self.base, self.power = checked_group("group", base), positive("power", power)
        self.shape = base.shape * self.power

    @property
    def group(self) -> PermutationGroup:
        """The group whose elements act."""
        return self.base.group

    def _generators(self) -> Sequence[IntArray]:
        return [self.image(g) for g in self.group.generators]

    def _image(self, element: IntArray) -> IntArray:
        return kronecker([self.base.image(element)] * self.power)

    def _on(self, axes: tuple[int, ...]) -> PermutationGroup:
        rank = len(self.base.shape)
        copies = sorted({axis // rank for axis in axes})
        whole = [copy * rank + axis for copy in copies for axis in range(rank)]
        if not axes or list(axes) != whole:
            return self.base.on() if not axes else super()._on(axes)
        return tensor_power(self.base, len(copies))

    def _order(self) -> int:
        return self.base.order

    def log10_order(self) -> float:
        """Return the decimal logarithm of the order."""
        return self.base.log10_order()

    def _key(self) -> Hashable:
        return (self.base, self.power)

    def __str__(self) -> str:
        return f"{_bracketed(self.base)}^{self.power}"


def wreath(group: PermutationGroup, copies: int) -> PermutationGroup:
    r"""Return the symmetry of a set whose elements move on their own: :math:`H^n \rtimes S_n`.

    It acts on an n×d matrix by :math:`((h_1, …, h_n, q) \cdot X)_{q(i)\,h_i(j)} = X_{ij}`:
    every row is moved by its own element of H, and then the rows are permuted. If H is transitive,
    the equivariant maps are those of H on every row, plus the sum of all entries.

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
    return Wreath(group, copies)


def tensor_power(group: PermutationGroup, power: int) -> PermutationGroup:
    r"""Return the action of one group on tuples of indices, all moved by the same element.

    For :math:`S_k` and power 2 this is the relabelling of the vertices of a graph, which permutes
    rows and columns of its adjacency matrix together.

    Args:
        group: The group that moves every index.
        power: Number of indices.

    Example:
        >>> from symsets.groups import Symmetric, dimension
        >>> graphs = tensor_power(Symmetric(5), 2)
        >>> graphs, dimension(graphs)
        (S5^2 acting on 5×5, 15)
        >>> dimension(graphs, graphs.on(0))  # from adjacency matrices to vertices
        5
    """
    if isinstance(group, TensorPower):
        return tensor_power(group.base, group.power * positive("power", power))
    return checked_group("group", group) if power == 1 else TensorPower(group, power)


def _bracketed(group: PermutationGroup) -> str:
    """Write a group, in brackets if it would be misread as part of something larger."""
    return f"({group})" if len(group.factors) > 1 or isinstance(group, Wreath) else str(group)

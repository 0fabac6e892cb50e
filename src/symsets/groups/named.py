"""Groups with names, whose order, orbits and equivariant maps are known in closed form."""

import math
import operator
from collections.abc import Hashable, Sequence
from functools import reduce

import numpy as np

from symsets._checks import positive
from symsets.groups._arrays import IntArray
from symsets.groups.permutation import PermutationGroup


class _Named(PermutationGroup):
    """A family of groups with one member, which is transitive, for every number of points."""

    letter: str

    def __init__(self, degree: int) -> None:
        self.shape = (positive("degree", degree),)

    def _orbits(self) -> IntArray:
        return np.zeros(self.degree, dtype=np.int64)

    def _first_row(self) -> IntArray:
        """Return the first row of the labels of pairs; the others are circular shifts of it."""
        return np.arange(self.degree)

    def _pair_labels(self) -> IntArray:
        points = np.arange(self.degree)
        return self._first_row()[(points - points[:, None]) % self.degree]

    def _num_pair_labels(self) -> int:
        return int(self._first_row().max()) + 1

    def _key(self) -> Hashable:
        return self.shape

    def _text(self) -> str:
        return f"{self.letter}{self.degree}"


class Trivial(_Named):
    """The group of the identity alone, for elements without symmetry: ``I4``.

    Example:
        >>> from symsets.groups import dimension
        >>> dimension(Trivial(4))
        16
    """

    letter = "I"

    def _generators(self) -> Sequence[IntArray]:
        return []

    def _order(self) -> int:
        return 1

    def _orbits(self) -> IntArray:
        return np.arange(self.degree)

    def _pair_labels(self) -> IntArray:
        return np.arange(self.degree**2).reshape(self.degree, self.degree)

    def _num_pair_labels(self) -> int:
        return self.degree**2


class Symmetric(_Named):
    """All permutations, the symmetry of an unordered set: ``S5``.

    Example:
        >>> from symsets.groups import basis
        >>> basis(Symmetric(3))
        array([[0, 1, 1],
               [1, 0, 1],
               [1, 1, 0]])
    """

    letter = "S"

    def _generators(self) -> Sequence[IntArray]:
        points = np.arange(self.degree)
        if self.degree < 3:  # one swap is enough, or none
            return [points[::-1]] if self.degree == 2 else []
        return [np.roll(points, -1), np.r_[1, 0, points[2:]]]

    def _order(self) -> int:
        return math.factorial(self.degree)

    def _log10_order(self) -> float:
        return math.lgamma(self.degree + 1) / math.log(10)

    def _random(self, rng: np.random.Generator) -> IntArray:
        return rng.permutation(self.degree)

    def _first_row(self) -> IntArray:
        return np.minimum(np.arange(self.degree), 1)


class Cyclic(_Named):
    """Circular shifts of a signal: ``C4``. Its equivariant maps are the circular convolutions.

    Example:
        >>> from symsets.groups import basis
        >>> basis(Cyclic(3))
        array([[0, 1, 2],
               [2, 0, 1],
               [1, 2, 0]])
    """

    letter = "C"

    def _generators(self) -> Sequence[IntArray]:
        return [np.roll(np.arange(self.degree), -1)] if self.degree > 1 else []

    def _order(self) -> int:
        return self.degree

    def _random(self, rng: np.random.Generator) -> IntArray:
        return np.roll(np.arange(self.degree), rng.integers(self.degree))


class Dihedral(_Named):
    """Circular shifts and reflections of a ring of points: ``D6``.

    It has 2d elements for d > 2 points; on one or two points a reflection is a shift.

    Example:
        >>> from symsets.groups import dimension
        >>> Dihedral(6).order, dimension(Dihedral(6))
        (12, 4)
    """

    letter = "D"

    def _generators(self) -> Sequence[IntArray]:
        points = np.arange(self.degree)
        return [np.roll(points, -1), -points % self.degree] if self.degree > 1 else []

    def _order(self) -> int:
        return self.degree * (2 if self.degree > 2 else 1)

    def _random(self, rng: np.random.Generator) -> IntArray:
        sign, steps = rng.choice([1, -1]), rng.integers(self.degree)
        return (sign * np.arange(self.degree) + steps) % self.degree

    def _first_row(self) -> IntArray:
        points = np.arange(self.degree)
        return np.minimum(points, self.degree - points)


def Translations(*sizes: int) -> PermutationGroup:  # noqa: N802  reads as the group it makes
    """Return the circular translations of an image or volume: a product of cyclic groups.

    Args:
        sizes: Number of points along every axis.

    Example:
        >>> Translations(8, 6)
        C8 × C6 acting on 8×6
    """
    if not sizes:
        raise ValueError("sizes must name at least one axis, got ()")
    return reduce(operator.mul, map(Cyclic, sizes))

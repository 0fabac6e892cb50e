"""Permutation groups: groups that move the entries of an index set."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch

from symsets.groups._arrays import (
    MAX_POINTS,
    IntArray,
    closure,
    components,
    cycles,
    frozen,
    permutation,
    quotient,
    random_product,
)

__all__ = ["PermutationGroup", "checked_group"]

Array = TypeVar("Array", npt.NDArray[np.generic], torch.Tensor)


class PermutationGroup:
    r"""A group of permutations of an index set, given by generators.

    A permutation ``g`` sends point ``i`` to ``g[i]`` and moves a vector by
    :math:`(g \cdot x)_{g(i)} = x_i`. The index set may have several axes: :math:`S_5 \times C_4`
    moves the entries of a 5×4 matrix, which are numbered row by row.

    The same group can move other index sets as well. :meth:`on` keeps some of the axes and
    remembers, in :attr:`group`, whose elements act, so that linear maps from one index set to
    another can be asked for (:func:`symsets.groups.basis`).

    Two groups are equal if they are described in the same way; groups with the same elements but
    different generators are not recognised.

    Args:
        generators: Permutations of 0..d-1, at least one.
        shape: Axes of the index set; one axis of length d if left out.

    Example:
        >>> G = PermutationGroup([[1, 2, 0, 3, 4], [0, 1, 2, 4, 3]])
        >>> G
        ⟨(0 1 2), (3 4)⟩ acting on 5
        >>> G.order, G.orbits.tolist(), G.is_transitive
        (6, [0, 0, 0, 1, 1], False)
    """

    shape: tuple[int, ...]
    """Axes of the index set."""

    def __init__(
        self, generators: Sequence[npt.ArrayLike], *, shape: tuple[int, ...] | None = None
    ) -> None:
        given = tuple(permutation(g) for g in generators)
        if not given:
            raise ValueError("generators must hold at least one permutation, got []; see Trivial")
        lengths = sorted({len(g) for g in given})
        if len(lengths) > 1:
            raise ValueError(f"generators must all have the same length, got lengths {lengths}")
        self.shape = (lengths[0],) if shape is None else tuple(shape)
        if math.prod(self.shape) != lengths[0] or min(self.shape, default=1) < 1:
            raise ValueError(f"shape must hold {lengths[0]} points, got {self.shape}")
        self._given = given

    @property
    def degree(self) -> int:
        """Number of points of the index set."""
        return math.prod(self.shape)

    @property
    def group(self) -> PermutationGroup:
        """The group whose elements act: this one, unless made by ``on`` or ``tensor_power``."""
        return self

    @property
    def factors(self) -> tuple[PermutationGroup, ...]:
        """The factors of a direct product, outermost first; the group itself if it is none."""
        return (self,)

    @cached_property
    def generators(self) -> tuple[IntArray, ...]:
        """Permutations that generate the group, one for each generator of :attr:`group`."""
        if self.degree > MAX_POINTS:
            limit = f"at most {MAX_POINTS} points for its generators to be written out"
            raise ValueError(f"group must move {limit}, {self} moves {self.degree}")
        return tuple(frozen(g) for g in self._generators())

    def _generators(self) -> Sequence[IntArray]:
        return self._given

    def image(self, element: npt.ArrayLike) -> IntArray:
        """Return the permutation by which an element of :attr:`group` moves this index set."""
        shape = np.shape(element)
        if shape != (self.group.degree,):
            raise ValueError(f"element must have shape ({self.group.degree},), got {shape}")
        return self._image(permutation(element, "element must be a permutation"))

    def _image(self, element: IntArray) -> IntArray:
        return element

    def move(self, x: Array, element: npt.ArrayLike) -> Array:
        """Move the entries of ``x``, an array or tensor ``(..., *shape)``, by a group element.

        Example:
            >>> G = PermutationGroup([[1, 2, 0]])
            >>> G.move(torch.tensor([10, 20, 30]), [1, 2, 0])
            tensor([30, 10, 20])
        """
        lead = tuple(x.shape[: x.ndim - len(self.shape)])
        if tuple(x.shape[len(lead) :]) != self.shape or x.ndim < len(self.shape):
            raise ValueError(f"x must end in the axes {self.shape}, got {tuple(x.shape)}")
        source = np.argsort(self.image(element))
        if isinstance(x, torch.Tensor):
            index = torch.from_numpy(source).to(x.device)
            return x.reshape(*lead, self.degree)[..., index].reshape(x.shape)
        return x.reshape(*lead, self.degree)[..., source].reshape(x.shape)

    def on(self, *axes: int) -> PermutationGroup:
        """Return the action of the same group on only some of the index axes.

        No axis at all gives the action on a single point, whose equivariant maps are the invariant
        functions.

        Args:
            axes: Axes to keep, in increasing order.

        Example:
            >>> from symsets.groups import Cyclic, Symmetric
            >>> G = Symmetric(5) * Cyclic(4)
            >>> G.on(0), G.on()
            (S5 × C4 acting on 5, S5 × C4 acting on a point)
        """
        if list(axes) != sorted(set(axes) & set(range(len(self.shape)))):
            allowed = list(range(len(self.shape)))
            raise ValueError(f"axes must be taken from {allowed} in this order, got {list(axes)}")
        return self if len(axes) == len(self.shape) else self._on(axes)

    def _on(self, axes: tuple[int, ...]) -> PermutationGroup:
        return Restriction(self, axes)

    @cached_property
    def order(self) -> int:
        """Number of different permutations in the group, exactly."""
        return self._order()

    def _order(self) -> int:
        moving = [g.tolist() for g in self.generators if (g != np.arange(self.degree)).any()]
        if not moving:
            return 1
        from sympy.combinatorics import Permutation
        from sympy.combinatorics import PermutationGroup as SympyGroup

        return int(SympyGroup([Permutation(g) for g in moving]).order())

    def log10_order(self) -> float:
        """Return the decimal logarithm of the order, also where the order is too long to write."""
        return math.log10(self.order)

    @cached_property
    def orbits(self) -> IntArray:
        """Labels 0, 1, … of the points, equal where the group can move one to the other."""
        return frozen(self._orbits())

    def _orbits(self) -> IntArray:
        return components(self.degree, self.generators)

    @property
    def num_orbits(self) -> int:
        """Number of orbits of points."""
        return int(self.orbits.max()) + 1

    @property
    def is_transitive(self) -> bool:
        """Whether every point can be moved to every other."""
        return self.num_orbits == 1

    def random_element(self, rng: np.random.Generator | None = None) -> IntArray:
        """Draw a permutation: uniform for named groups and what is made of them, else nearly so."""
        return self._random(np.random.default_rng() if rng is None else rng)

    def _random(self, rng: np.random.Generator) -> IntArray:
        if self.group is self:
            return random_product(self.generators, self.degree, rng)
        return self.image(self.group.random_element(rng))

    def elements(self) -> IntArray:
        """List all permutations of a small group: ``(order, degree)``, the identity first."""
        return closure(self.generators, self.degree, str(self))

    def _pair_labels(self) -> IntArray | None:
        """Labels of pairs of points in closed form, where there is one."""
        return None

    def _num_pair_labels(self) -> int | None:
        """Number of orbits of pairs of points in closed form, where there is one."""
        return None

    def _key(self) -> Hashable:
        """What describes the group: equal groups have equal keys."""
        return (self.shape, *(g.tobytes() for g in self.generators))

    def __mul__(self, other: PermutationGroup) -> PermutationGroup:
        from symsets.groups.product import Product

        return Product(self, other) if isinstance(other, PermutationGroup) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __str__(self) -> str:
        if self.degree > 20 or len(self.generators) > 4:
            return f"⟨{len(self.generators)} permutations of {self.degree} points⟩"
        return f"⟨{', '.join(cycles(g) for g in self.generators)}⟩"

    def __repr__(self) -> str:
        return f"{self} acting on {'×'.join(map(str, self.shape)) or 'a point'}"


def checked_group(name: str, value: object) -> PermutationGroup:
    """Return ``value``, or say that ``name`` must be a group."""
    if not isinstance(value, PermutationGroup):
        raise TypeError(
            f"{name} must be a permutation group, got {value!r}; symsets.groups.parse reads names"
        )
    return value


class Restriction(PermutationGroup):
    """The action of a group on some of its index axes; made by :meth:`PermutationGroup.on`."""

    def __init__(self, parent: PermutationGroup, axes: tuple[int, ...]) -> None:
        self.parent, self.axes = parent, axes
        self.shape = tuple(parent.shape[axis] for axis in axes)
        if axes and any(quotient(g, parent.shape, axes) is None for g in parent.generators):
            raise ValueError(
                f"axes must be moved by {parent} on their own, got {list(axes)}, whose movement"
                f" depends on the other axes"
            )

    @property
    def group(self) -> PermutationGroup:
        """The group whose elements act."""
        return self.parent.group

    def _generators(self) -> Sequence[IntArray]:
        return [self.image(g) for g in self.group.generators]

    def _image(self, element: IntArray) -> IntArray:
        image = quotient(self.parent.image(element), self.parent.shape, self.axes)
        if image is None:
            raise ValueError(f"element must belong to {self.group}, got {cycles(element)}")
        return image

    def _on(self, axes: tuple[int, ...]) -> PermutationGroup:
        return self.parent.on(*(self.axes[axis] for axis in axes))

    def _key(self) -> Hashable:
        return (self.parent, self.axes)

    def __str__(self) -> str:
        return str(self.group)

"""Permutation groups: groups that act on an index set."""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch

from symsets._checks import positive, shown
from symsets.groups._arrays import (
    IntArray,
    components,
    cycles,
    frozen,
    permutation,
    random_product,
)

MAX_POINTS = 50_000_000  # permutations of more points are not written out
MAX_ELEMENTS = 100_000  # groups with more elements are not listed
Array = TypeVar("Array", npt.NDArray[np.generic], torch.Tensor)


class PermutationGroup:
    r"""A group of permutations of an index set, given by generators.

    A permutation ``g`` sends point ``i`` to ``g[i]`` and acts on a vector by
    :math:`(g \cdot x)_{g(i)} = x_i`. The index set may have several axes: :math:`S_5 \times C_4`
    permutes the entries of a 5×4 matrix, which are numbered row by row.

    The same group can act on other index sets as well: :meth:`on` keeps some of the axes, and
    :meth:`on_tuples` takes tuples of indices. Both keep the group they come from as :attr:`group`,
    and :func:`symsets.groups.basis` gives the linear maps from one such index set to another.

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

    name: str | None = None
    """Tells factors of a :class:`DirectSum` apart that would be equal without it."""

    _factors: tuple[PermutationGroup, ...] = ()
    _acting_group: PermutationGroup | None = None

    def __init__(
        self, generators: Sequence[npt.ArrayLike], *, shape: tuple[int, ...] | None = None
    ) -> None:
        self._given = tuple(permutation(g) for g in generators)
        if not self._given:
            raise ValueError("generators must hold at least one permutation, got []; see Trivial")
        lengths = sorted({len(g) for g in self._given})
        if len(lengths) > 1:
            raise ValueError(f"generators must all have the same length, got lengths {lengths}")
        self.shape = (lengths[0],) if shape is None else tuple(shape)
        if math.prod(self.shape) != lengths[0] or min(self.shape, default=1) < 1:
            raise ValueError(f"shape must hold {lengths[0]} points, got {self.shape}")

    @property
    def degree(self) -> int:
        """Number of points of the index set."""
        return math.prod(self.shape)

    @property
    def group(self) -> PermutationGroup:
        """The group whose elements act, this one unless made by ``on`` or ``on_tuples``."""
        return self._acting_group or self

    @property
    def factors(self) -> tuple[PermutationGroup, ...]:
        """The factors of a direct product, outermost first; the group itself if it is none."""
        return self._factors or (self,)

    @property
    def parts(self) -> tuple[PermutationGroup, ...]:
        """The parts of a direct sum; the group itself if it is none."""
        return (self,)

    def named(self, name: str) -> PermutationGroup:
        """Return the same group with a name, as in ``S32[a]``; see :class:`DirectSum`.

        Args:
            name: Letters, digits and underscores, of which the first is no digit.
        """
        if not (isinstance(name, str) and name.isascii() and name.isidentifier()):
            raise ValueError(f"name must be a word such as 'a', got {shown(name)}")
        if len(self.factors) > 1 or self.group is not self:
            raise ValueError(f"group must be a single factor to have a name, got {self!r}")
        (copied := copy.copy(self)).name = name
        return copied

    @cached_property
    def generators(self) -> tuple[IntArray, ...]:
        """Permutations that generate the group, one for each generator of :attr:`group`."""
        if self.degree > MAX_POINTS:
            raise ValueError(
                f"group must act on at most {MAX_POINTS} points for its generators to be written "
                f"out, {self} acts on {self.degree}"
            )
        acting = self._acting_group
        own = [self.image(g) for g in acting.generators] if acting else self._generators()
        return tuple(frozen(g) for g in own)

    def _generators(self) -> Sequence[IntArray]:
        return self._given

    def image(self, element: npt.ArrayLike) -> IntArray:
        """Return the permutation by which an element of :attr:`group` acts on this index set."""
        shape = np.shape(element)
        if shape != (self.group.degree,):
            raise ValueError(f"element must have shape ({self.group.degree},), got {shape}")
        return self._image(permutation(element, "element must be a permutation"))

    def _image(self, element: IntArray) -> IntArray:
        return element

    def act(self, x: Array, element: npt.ArrayLike) -> Array:
        """Apply an element of :attr:`group` to ``x``, an array or tensor ``(..., *shape)``.

        Whether the permutation belongs to the group is not checked.

        Example:
            >>> G = PermutationGroup([[1, 2, 0]])
            >>> G.act(torch.tensor([10, 20, 30]), [1, 2, 0])
            tensor([30, 10, 20])
        """
        lead = tuple(x.shape[: x.ndim - len(self.shape)])
        if tuple(x.shape[len(lead) :]) != self.shape or x.ndim < len(self.shape):
            raise ValueError(f"x must end in the axes {self.shape}, got {tuple(x.shape)}")
        source = np.argsort(self.image(element))
        index = torch.from_numpy(source).to(x.device) if isinstance(x, torch.Tensor) else source
        return x.reshape(*lead, self.degree)[..., index].reshape(x.shape)

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
        from symsets.groups.composite import OnAxes

        return OnAxes(self, axes)

    def on_tuples(self, length: int) -> PermutationGroup:
        r"""Return the action of the same group on tuples of indices, each permuted alike.

        For :math:`S_k` and pairs this is the relabelling of the vertices of a graph, which permutes
        rows and columns of its adjacency matrix together.

        Args:
            length: Number of indices in a tuple.

        Example:
            >>> from symsets.groups import Symmetric, dimension
            >>> graphs = Symmetric(5).on_tuples(2)
            >>> graphs, dimension(graphs)
            (S5^2 acting on 5×5, 15)
            >>> dimension(graphs, graphs.on(0))  # from adjacency matrices to vertices
            5
        """
        from symsets.groups.composite import OnTuples

        if isinstance(self, OnTuples):
            return self.base.on_tuples(self.length * positive("length", length))
        return self if positive("length", length) == 1 else OnTuples(self, length)

    @cached_property
    def order(self) -> int:
        """Number of different permutations in the group, exactly."""
        return self._order()

    def _order(self) -> int:
        others = [g.tolist() for g in self.generators if (g != np.arange(self.degree)).any()]
        if not others:
            return 1
        from sympy.combinatorics import Permutation
        from sympy.combinatorics import PermutationGroup as SympyGroup

        return int(SympyGroup([Permutation(g) for g in others]).order())

    def log10_order(self) -> float:
        """Return the decimal logarithm of the order, also where the order is too long to write."""
        return self._log10_order()

    def _log10_order(self) -> float:
        return math.log10(self.order)

    @cached_property
    def orbits(self) -> IntArray:
        """Labels 0, 1, … of the points, equal where the group can take one to the other."""
        return frozen(self._orbits())

    def _orbits(self) -> IntArray:
        return components(self.degree, self.generators)

    @property
    def num_orbits(self) -> int:
        """Number of orbits of points."""
        return int(self.orbits.max()) + 1

    @property
    def is_transitive(self) -> bool:
        """Whether the group can take every point to every other."""
        return self.num_orbits == 1

    def random_element(self, rng: np.random.Generator | int | None = None) -> IntArray:
        """Draw a permutation of the points: uniform for named groups and what is made of them.

        For groups given by generators it is nearly uniform. :meth:`act` takes elements of
        :attr:`group`, which ``G.group.random_element()`` draws also for G made by ``on``,
        ``on_tuples`` or ``+``.

        Args:
            rng: A generator of random numbers, or a seed for one.
        """
        return self._random(np.random.default_rng(rng))

    def _random(self, rng: np.random.Generator) -> IntArray:
        if self.group is self:
            return random_product(self.generators, self.degree, rng)
        return self.image(self.group.random_element(rng))

    def elements(self) -> IntArray:
        """List all permutations of a small group: ``(order, degree)``, the identity first."""
        identity = np.arange(self.degree)
        found = {identity.tobytes(): identity}
        newest = [identity]
        while newest:
            products = [g[p] for p in newest for g in self.generators]
            newest = [p for p in products if found.setdefault(p.tobytes(), p) is p]
            if len(found) > MAX_ELEMENTS:
                raise ValueError(
                    f"group must have at most {MAX_ELEMENTS} elements to be listed, {self} has more"
                )
        return np.stack(list(found.values()))

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
        from symsets.groups.composite import Product

        return Product(self, other) if isinstance(other, PermutationGroup) else NotImplemented

    def __add__(self, other: PermutationGroup) -> PermutationGroup:
        from symsets.groups.direct_sum import DirectSum

        return DirectSum(self, other) if isinstance(other, PermutationGroup) else NotImplemented

    def __eq__(self, other: object) -> bool:
        mine = (self.name, self._key())
        return type(self) is type(other) and mine == (other.name, other._key())

    def __hash__(self) -> int:
        return hash((type(self), self.name, self._key()))

    def __str__(self) -> str:
        text, name = self._text(), "" if self.name is None else f"[{self.name}]"
        return f"({text}){name}" if name and not text.isalnum() else text + name

    def _text(self) -> str:
        if self.degree > 20 or len(self.generators) > 4:
            return f"⟨{len(self.generators)} permutations of {self.degree} points⟩"
        return f"⟨{', '.join(cycles(g) for g in self.generators)}⟩"

    def __repr__(self) -> str:
        return f"{self} acting on {'×'.join(map(str, self.shape)) or 'a point'}"


def checked_group(name: str, value: object) -> PermutationGroup:
    """Return ``value``, or raise TypeError naming the argument if it is not a group."""
    if not isinstance(value, PermutationGroup):
        raise TypeError(
            f"{name} must be a permutation group, got {shown(value)}; "
            "symsets.groups.parse reads names"
        )
    return value

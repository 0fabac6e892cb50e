"""Spaces made of parts on which one group acts, such as the weights and biases of a network."""

import math
from collections.abc import Hashable, Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from symsets.groups._arrays import IntArray, cycles, kronecker
from symsets.groups.composite import Product
from symsets.groups.pairs import basis, dimension
from symsets.groups.permutation import PermutationGroup, checked_group


class DirectSum(PermutationGroup):
    r"""One group that acts on several index sets at once; written ``V + W``.

    .. math:: g \cdot (x_1, x_2, …) = (g \cdot x_1,\; g \cdot x_2,\; …)

    The entries of all parts lie one after the other on a single axis, so a layer takes
    ``(B, C, degree)`` and everything that works on vectors works on a direct sum. :meth:`split` and
    :meth:`join` go from this axis to the parts and back.

    **Equal factors are one factor.** In ``S4^2 + S4`` one S4 relabels the vertices of a graph, on
    its edges and on its vertices. Names keep factors of equal size apart: in
    ``S32[a] x S32[b] + S32[b]``, a and b are different, and b acts on both parts. So a factor
    stays the same when it is copied, saved or printed. The elements of the group permute the
    points of all its different factors, one after the other (:attr:`group`).

    Args:
        spaces: The parts: products of factors, none of which appears twice in one product.

    Example:
        >>> from symsets.groups import Symmetric, dimension
        >>> a, b = Symmetric(3).named("a"), Symmetric(3).named("b")
        >>> space = a * b + b  # the weights and biases of one layer of a network
        >>> space, dimension(space), dimension(space, space.on(1)), dimension(space, space.on())
        (S3[a] × S3[b] + S3[b] acting on 3×3 + 3, 10, 4, 2)
        >>> weights, biases = space.split(torch.randn(5, space.degree))
        >>> weights.shape, biases.shape
        (torch.Size([5, 3, 3]), torch.Size([5, 3]))
    """

    def __init__(self, *spaces: PermutationGroup) -> None:
        for space in spaces:
            checked_group("spaces", space)
        parts = tuple(part for space in spaces for part in space.parts)
        if not parts:
            raise ValueError("spaces must hold at least one part, got none")
        factors = dict.fromkeys(group for part in parts for group in _different_groups(part))
        names = [group.name for group in factors if group.name is not None]
        if double := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"names must stand for one group each, got {double[0]!r} for several")
        self._set(parts, tuple(sorted(factors, key=str)))

    def _set(
        self, parts: tuple[PermutationGroup, ...], atoms: tuple[PermutationGroup, ...]
    ) -> None:
        self._parts, self._atoms = parts, atoms
        sizes = [part.degree for part in parts]
        self._starts = np.cumsum([0, *sizes])
        self.shape = parts[0].shape if len(parts) == 1 else (sum(sizes),)
        if parts != atoms:
            self._acting_group = _direct_sum(atoms, atoms)

    @property
    def parts(self) -> tuple[PermutationGroup, ...]:
        """The spaces that the group acts on, in the order of their entries."""
        return self._parts

    def split(self, x: Tensor) -> list[Tensor]:
        """Cut ``(..., *shape)`` into a tensor ``(..., *part.shape)`` for each part."""
        lead = x.shape[: x.ndim - len(self.shape)]
        if tuple(x.shape[len(lead) :]) != self.shape:
            raise ValueError(f"x must end in the axes {self.shape}, got {tuple(x.shape)}")
        flat = x.reshape(*lead, self.degree)
        pieces = flat.split([part.degree for part in self.parts], dim=-1)
        return [p.reshape(*lead, *part.shape) for p, part in zip(pieces, self.parts, strict=True)]

    def join(self, pieces: Sequence[Tensor]) -> Tensor:
        """Undo :meth:`split`."""
        flat = []
        for piece, part in zip(pieces, self.parts, strict=True):
            lead = piece.shape[: piece.ndim - len(part.shape)]
            if piece.shape[len(lead) :] != part.shape:
                raise ValueError(f"pieces must end in the axes {part.shape}, got {piece.shape}")
            flat.append(piece.reshape(*lead, -1))
        return torch.cat(flat, dim=-1).reshape(*flat[0].shape[:-1], *self.shape)

    def on(self, *axes: int) -> PermutationGroup:
        """Return the action of the same group on only some of the parts.

        A single part has its own shape; no part at all gives the action on a single point.

        Args:
            axes: Parts to keep, in increasing order.
        """
        if list(axes) != sorted(set(axes) & set(range(len(self.parts)))):
            allowed = list(range(len(self.parts)))
            raise ValueError(f"parts must be taken from {allowed} in this order, got {list(axes)}")
        kept = tuple(self.parts[axis] for axis in axes)
        return _direct_sum(kept or (Product(*(a.on() for a in self._atoms)),), self._atoms)

    def _generators(self) -> Sequence[IntArray]:
        points = np.arange(self.degree)
        return [
            np.r_[points[:start], start + g, points[stop:]]
            for part, (start, stop) in zip(self.parts, pairwise(self._starts), strict=True)
            for g in part.generators
        ]

    def _image(self, element: IntArray) -> IntArray:
        whole, own = self.group, {}
        assert isinstance(whole, DirectSum)
        for atom, (start, stop) in zip(self._atoms, pairwise(whole._starts), strict=True):
            own[atom] = element[start:stop] - start
            if own[atom].min() < 0 or own[atom].max() >= atom.degree:
                raise ValueError(f"element must belong to {whole}, got {cycles(element)}")
        if whole is self:
            return element
        images = []
        for part, start in zip(self.parts, self._starts, strict=False):
            own_images = [factor.image(own[factor.group]) for factor in part.factors]
            images.append(start + kronecker(own_images))
        return np.concatenate(images)

    def _orbits(self) -> IntArray:
        labels, count = [], 0
        for part in self.parts:
            labels.append(count + part.orbits)
            count += part.num_orbits
        return np.concatenate(labels)

    def _order(self) -> int:
        return math.prod(a.order for a in self._atoms) if self._is_faithful else super()._order()

    def _log10_order(self) -> float:
        if self._is_faithful:
            return math.fsum(atom.log10_order() for atom in self._atoms)
        return super()._log10_order()

    @property
    def _is_faithful(self) -> bool:
        """Whether every factor acts on some part by as many permutations as it has."""
        factors = [factor for part in self.parts for factor in part.factors]
        seen = {f.group for f in factors if f.log10_order() == f.group.log10_order()}
        return seen == set(self._atoms)

    def _random(self, rng: np.random.Generator) -> IntArray:
        if self.group is not self:
            return super()._random(rng)
        drawn = [part.random_element(rng) for part in self.parts]
        return np.concatenate([s + g for s, g in zip(self._starts, drawn, strict=False)])

    def _pair_labels(self) -> IntArray:
        return basis(self)

    def _num_pair_labels(self) -> int:
        return dimension(self)

    def _key(self) -> Hashable:
        return (self.parts, self._atoms)

    def _text(self) -> str:
        acting = {factor.group for part in self.parts for factor in part.factors if factor.shape}
        return str(self.group) if acting != set(self._atoms) else " + ".join(map(str, self.parts))

    def __repr__(self) -> str:
        shapes = ["×".join(map(str, part.shape)) or "a point" for part in self.parts]
        return f"{self} acting on {' + '.join(shapes)}"


def _direct_sum(
    parts: tuple[PermutationGroup, ...], atoms: tuple[PermutationGroup, ...]
) -> DirectSum:
    """Return the action on parts in which not every factor of the group needs to appear."""
    made = DirectSum.__new__(DirectSum)
    made._set(parts, atoms)
    return made


def _different_groups(part: PermutationGroup) -> list[PermutationGroup]:
    """Return the groups of the factors of a part; raise ValueError if there is any doubt."""
    groups = [factor.group for factor in part.factors]
    for group in groups:
        if len(group.factors) > 1 or len(group.parts) > 1:
            raise ValueError(
                f"parts must be products of single groups, got {part!r}: multiply it out"
            )
        if groups.count(group) > 1:
            raise ValueError(
                f"factors of a part must be different, got {group} twice in {part!r}: give them "
                f"names, as in {group}[a] x {group}[b], or {group}^2 if one acts on both axes"
            )
    return groups

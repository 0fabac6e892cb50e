"""Orbits of pairs of points: the parameter-sharing schemes of equivariant linear maps."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from symsets.groups._arrays import IntArray, components
from symsets.groups.named import Symmetric
from symsets.groups.patterns import Pattern, num_patterns, patterns
from symsets.groups.permutation import PermutationGroup, checked_group

MAX_SEARCHED = 20_000_000  # pairs of points up to which orbits are searched for
MAX_WRITTEN = 50_000_000  # pairs of points up to which labels are written out


def dimension(source: PermutationGroup, target: PermutationGroup | None = None) -> int:
    r"""Return the number of free parameters of the equivariant linear maps.

    This is :math:`E(G)`, the number of orbits of the group on pairs of points. For products it is
    the product of the dimensions of the factors, so that large groups cost nothing.

    Args:
        source: The action on the input.
        target: The action of the same group on the output; the same as on the input if left out.

    Example:
        >>> from symsets.groups import Cyclic, Symmetric
        >>> G = Symmetric(25) * Cyclic(100)
        >>> dimension(G), dimension(G, G.on(0)), dimension(G, G.on(1)), dimension(G, G.on())
        (200, 2, 100, 1)

    Reference:
        Maron et al., On Learning Sets of Symmetric Elements, ICML 2020, theorems 1 and 6.
    """
    rows = blocks(source, target)
    return sum(math.prod(pair.count for pair in block.pairs) for row in rows for block in row)


def basis(source: PermutationGroup, target: PermutationGroup | None = None) -> IntArray:
    """Return the parameter-sharing scheme: equal labels where a matrix must have equal entries.

    Entry ``[t, s]`` is the label of the weight that multiplies input ``s`` for output ``t``.
    Label ``e`` stands for the matrix that is one where the scheme says ``e`` and zero elsewhere;
    together these matrices are a basis of the equivariant linear maps. Labels run from 0 to
    :func:`dimension` - 1 in the order in which they first appear, row by row.

    Args:
        source: The action on the input.
        target: The action of the same group on the output; the same as on the input if left out.

    Example:
        >>> from symsets.groups import Cyclic, Symmetric
        >>> basis(Symmetric(2) * Cyclic(2))
        array([[0, 1, 2, 3],
               [1, 0, 3, 2],
               [2, 3, 0, 1],
               [3, 2, 1, 0]])
        >>> G = Symmetric(2) * Cyclic(2)
        >>> basis(G, G.on(0))
        array([[0, 0, 1, 1],
               [1, 1, 0, 0]])
    """
    rows = blocks(source, target)
    check_written(source.degree * (target or source).degree)
    numbers = iter(label_numbers([block for row in rows for block in row]))
    return np.block([[block.written_out(next(numbers)) for block in row] for row in rows])


class Pair:
    """The maps from one action of a group to another: its labels, counted and found when needed.

    Tuples of indices of a symmetric group have as many labels as there are ways in which the
    indices of the output and of the input can be equal (``lengths`` counts both).
    """

    def __init__(self, source: PermutationGroup, target: PermutationGroup) -> None:
        self.source, self.target = source, target
        self.lengths: tuple[int, int] | None = None
        if isinstance(source.group, Symmetric):
            self.lengths = (len(target.shape), len(source.shape))

    @cached_property
    def count(self) -> int:
        """Number of labels."""
        if self.lengths:
            return num_patterns(sum(self.lengths), self.source.group.degree)
        closed = self.source._num_pair_labels() if self.source == self.target else None
        return int(self.labels.max()) + 1 if closed is None else closed

    @cached_property
    def labels(self) -> IntArray:
        """Labels of all pairs of points, ``(target.degree, source.degree)``."""
        check_written(self.target.degree * self.source.degree)
        closed = self.source._pair_labels() if self.source == self.target else None
        return pair_components(self.source, self.target) if closed is None else closed

    @cached_property
    def patterns(self) -> list[Pattern]:
        """Which indices of the output, then of the input, are equal; in the order of the labels."""
        check_written(self.count)
        return patterns(sum(self.lengths or ()), self.source.group.degree)

    @cached_property
    def first(self) -> tuple[IntArray, IntArray]:
        """Row and column in which each label first appears."""
        if not self.lengths:
            places = np.unique(self.labels, return_index=True)[1]
            return places // self.source.degree, places % self.source.degree
        table = np.array(self.patterns, dtype=np.int64)  # (E, indices)
        weights = self.source.group.degree ** np.arange(sum(self.lengths))[::-1]
        rows, columns = np.split(table, [self.lengths[0]], axis=1)
        return rows @ weights[self.lengths[1] :], columns @ weights[self.lengths[0] :]

    @cached_property
    def entries(self) -> npt.NDArray[np.float64]:
        """How often each label appears in a row that has it."""
        if not self.lengths:
            rows = np.bincount(self.target.orbits)[self.target.orbits[self.first[0]]]
            return np.bincount(self.labels.ravel()) / rows
        degree, split = self.source.group.degree, self.lengths[0]
        sizes = [(len(set(p[:split])), len(set(p))) for p in self.patterns]
        return np.array([float(math.perm(degree - m, n - m)) for m, n in sizes])


@dataclass(frozen=True)
class Block:
    """The maps from one part of the input to one part of the output, factor by factor.

    Args:
        pairs: What each factor of the group does to both parts.
        rows: The pairs in the order of the axes of the output.
        columns: The pairs in the order of the axes of the input.
        corner: Row and column at which the block starts.
        keys: Which factor each pair belongs to, the same in all blocks.
    """

    pairs: tuple[Pair, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    corner: tuple[int, int]
    keys: tuple[Hashable, ...]

    def first(self) -> tuple[IntArray, IntArray]:
        """Row and column in which each label ``(E1, E2, …)`` first appears.

        A label of the product appears first where those of all factors do.
        """
        row, column = (np.full((1,) * len(self.pairs), start) for start in self.corner)
        row_step = column_step = 1
        for i in reversed(self.rows):
            row = row + row_step * self._along(i, self.pairs[i].first[0])
            row_step *= self.pairs[i].target.degree
        for i in reversed(self.columns):
            column = column + column_step * self._along(i, self.pairs[i].first[1])
            column_step *= self.pairs[i].source.degree
        return row, column

    def entries(self) -> npt.NDArray[np.float64]:
        """How often each label ``(E1, E2, …)`` appears in a row that has it."""
        product = np.ones((1,) * len(self.pairs))
        for i, pair in enumerate(self.pairs):
            product = product * self._along(i, pair.entries)
        return product

    def written_out(self, numbers: IntArray) -> IntArray:
        """Return the number of the label of every pair of points."""
        axes = len(self.pairs)
        index = []
        for i, pair in enumerate(self.pairs):
            shape = [1] * (2 * axes)
            shape[self.rows.index(i)] = pair.target.degree
            shape[axes + self.columns.index(i)] = pair.source.degree
            index.append(pair.labels.reshape(shape))  # the axis of the output comes first
        num_rows = math.prod(pair.target.degree for pair in self.pairs)
        return numbers[tuple(index)].reshape(num_rows, -1)

    def _along(self, axis: int, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values.reshape([-1 if i == axis else 1 for i in range(len(self.pairs))])


def blocks(source: PermutationGroup, target: PermutationGroup | None = None) -> list[list[Block]]:
    """Split the maps into blocks, a row of them for every part of the output."""
    checked_group("source", source)
    target = source if target is None else checked_group("target", target)
    if source.group != target.group:
        raise ValueError(
            f"target must be an action of the same group as source, {source.group}, "
            f"got {target.group}; see PermutationGroup.on"
        )
    from symsets.groups.direct_sum import DirectSum

    if not (isinstance(source, DirectSum) and isinstance(target, DirectSum)):
        return [[_only_block(source, target)]]
    starts = [np.cumsum([0, *(part.degree for part in a.parts)]) for a in (target, source)]
    return [
        [_block(s, t, (int(r), int(c))) for s, c in zip(source.parts, starts[1], strict=False)]
        for t, r in zip(target.parts, starts[0], strict=False)
    ]


def _only_block(source: PermutationGroup, target: PermutationGroup) -> Block:
    """Split two actions of one product into the actions of its factors, where they correspond."""
    pairs = list(zip(source.factors, target.factors, strict=False))
    if len(source.factors) != len(target.factors) or any(s.group != t.group for s, t in pairs):
        pairs = [(source, target)]
    order = tuple(range(len(pairs)))
    return Block(tuple(Pair(*pair) for pair in pairs), order, order, (0, 0), order)


def _block(source: PermutationGroup, target: PermutationGroup, corner: tuple[int, int]) -> Block:
    """Pair the factors of two parts of direct sums; where one is missing, it acts on a point."""
    own, goal = ({f.group: f for f in part.factors} for part in (source, target))
    keys = tuple(dict.fromkeys([*goal, *own]))
    columns = [keys.index(group) for group in own]
    return Block(
        tuple(Pair(own.get(key) or key.on(), goal.get(key) or key.on()) for key in keys),
        tuple(range(len(keys))),
        tuple(columns + [i for i in range(len(keys)) if i not in columns]),
        corner,
        keys,
    )


def pair_components(source: PermutationGroup, target: PermutationGroup) -> IntArray:
    """Label pairs by connected components: each generator links a pair to its image."""
    shape = (target.degree, source.degree)
    if math.prod(shape) > MAX_SEARCHED:
        raise ValueError(
            f"group must have at most {MAX_SEARCHED} pairs of points to search for orbits, "
            f"{source!r} has {math.prod(shape)}"
        )
    maps = [
        (t[:, None] * source.degree + s).ravel()
        for s, t in zip(source.generators, target.generators, strict=True)
    ]
    return components(math.prod(shape), maps).reshape(shape)


def label_numbers(blocks: Sequence[Block]) -> list[IntArray]:
    """Number the labels of all blocks, ``(E1, E2, …)`` each, in the order of first appearance."""
    first = [block.first() for block in blocks]
    rows, columns = (np.concatenate([place[i].ravel() for place in first]) for i in (0, 1))
    numbers = np.empty(len(rows), dtype=np.int64)
    numbers[np.lexsort([columns, rows])] = np.arange(len(rows))
    cuts = np.cumsum([row.size for row, _ in first])[:-1]
    pieces = np.split(numbers, cuts)
    return [piece.reshape(row.shape) for piece, (row, _) in zip(pieces, first, strict=True)]


def check_written(count: int) -> None:
    """Raise ValueError if there are too many pairs of points to write their labels out."""
    if count > MAX_WRITTEN:
        raise ValueError(f"group must have at most {MAX_WRITTEN} pairs of points, got {count}")

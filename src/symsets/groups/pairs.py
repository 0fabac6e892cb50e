"""Orbits of pairs of points: the parameter-sharing schemes of equivariant linear maps."""

import math
from collections.abc import Sequence

import numpy as np

from symsets.groups._arrays import IntArray, components
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
    count = 1
    for s, t in factor_pairs(source, target):
        closed = s._num_pair_labels() if s == t else None
        count *= int(leaf_labels(s, t).max()) + 1 if closed is None else closed
    return count


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
    pairs = factor_pairs(source, target)
    check_written(math.prod(s.degree * t.degree for s, t in pairs))
    schemes = [leaf_labels(*pair) for pair in pairs]
    labels = np.zeros((1, 1), dtype=np.int64)
    for scheme in schemes:
        outer = labels[:, None, :, None] * (scheme.max() + 1)
        labels = (outer + scheme[:, None, :]).reshape(len(labels) * len(scheme), -1)
    return label_numbers(schemes)[labels]


def factor_pairs(
    source: PermutationGroup, target: PermutationGroup | None = None
) -> list[tuple[PermutationGroup, PermutationGroup]]:
    """Split two actions of one product into the actions of its factors, where they correspond."""
    checked_group("source", source)
    target = source if target is None else checked_group("target", target)
    if source.group != target.group:
        raise ValueError(
            f"target must be an action of the same group as source, {source.group}, "
            f"got {target.group}; see PermutationGroup.on"
        )
    pairs = list(zip(source.factors, target.factors, strict=False))
    aligned = len(source.factors) == len(target.factors)
    return pairs if aligned and all(s.group == t.group for s, t in pairs) else [(source, target)]


def leaf_labels(source: PermutationGroup, target: PermutationGroup) -> IntArray:
    """Label pairs without splitting them: ``(target.degree, source.degree)``."""
    closed = source._pair_labels() if source == target else None
    return pair_components(source, target) if closed is None else closed


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


def label_numbers(schemes: Sequence[IntArray]) -> IntArray:
    """Number the labels of a product by first appearance, without writing the product out.

    The product label ``(e1, e2, …)`` first appears where each factor's own label does: at the
    rows ``t1, t2, …`` and columns ``s1, s2, …`` of the factors' first appearances.
    """
    first = [np.divmod(np.unique(s, return_index=True)[1], s.shape[1]) for s in schemes]
    rows = np.meshgrid(*(t for t, _ in first), indexing="ij")
    columns = np.meshgrid(*(s for _, s in first), indexing="ij")
    order = np.lexsort([key.ravel() for key in reversed([*rows, *columns])])
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.arange(len(order))
    return numbers


def check_written(count: int) -> None:
    """Raise ValueError if there are too many pairs of points to write their labels out."""
    if count > MAX_WRITTEN:
        raise ValueError(f"group must have at most {MAX_WRITTEN} pairs of points, got {count}")

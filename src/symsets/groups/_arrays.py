"""Permutations and labels as integer arrays."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from symsets._checks import shown

IntArray = npt.NDArray[np.int64]


def permutation(values: npt.ArrayLike, rule: str = "generators must be permutations") -> IntArray:
    """Return ``values`` as a read-only permutation ``p`` that sends ``i`` to ``p[i]``."""
    array = np.array(values)
    is_vector = array.ndim == 1 and array.size > 0 and array.dtype.kind in "iu"
    if not is_vector or (np.sort(array) != np.arange(array.size)).any():
        raise ValueError(f"{rule} of 0..d-1, got {shown(array.tolist())}")
    return frozen(array)


def frozen(array: npt.NDArray[np.integer]) -> IntArray:
    """Return a read-only 64-bit copy."""
    copy = array.astype(np.int64)
    copy.setflags(write=False)
    return copy


def cycles(p: IntArray) -> str:
    """Write a permutation in cycle notation, such as ``(0 1 2)(4 5)``."""
    text, seen = "", set()
    for start in range(len(p)):
        cycle, point = [], start
        while point not in seen:
            seen.add(point)
            cycle.append(str(point))
            point = int(p[point])
        if len(cycle) > 1:
            text += f"({' '.join(cycle)})"
    return text or "()"


def random_product(
    generators: Sequence[IntArray], degree: int, rng: np.random.Generator
) -> IntArray:
    """Draw a nearly uniform element by product replacement (Celler et al., 1995)."""
    if not generators:
        return np.arange(degree)
    pool = [generators[i % len(generators)] for i in range(max(10, len(generators)))]
    product = np.arange(degree)
    for _ in range(60):
        i, j = rng.choice(len(pool), size=2, replace=False)
        other = np.argsort(pool[j]) if rng.random() < 0.5 else pool[j]
        pool[i] = pool[i][other] if rng.random() < 0.5 else other[pool[i]]
        product = product[pool[i]]
    return product


def by_first_appearance(labels: npt.NDArray[np.integer]) -> IntArray:
    """Rename labels 0, 1, … in the order in which they first appear, row by row."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse].reshape(labels.shape)


def components(num_points: int, maps: Sequence[IntArray]) -> IntArray:
    """Label the orbits of the points under the group that the permutations ``maps`` generate."""
    if not maps:
        return np.arange(num_points)
    # Imported here because it takes longer than all of symsets, and networks do not need it.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    points = np.tile(np.arange(num_points), len(maps))
    edges = (np.ones(len(points), dtype=np.int8), (points, np.concatenate(maps)))
    graph = coo_array(edges, shape=(num_points, num_points))
    return by_first_appearance(connected_components(graph, directed=False)[1])


def kronecker(permutations: Sequence[IntArray]) -> IntArray:
    """Return the permutation of index tuples that permutes each index by its own permutation."""
    result = np.zeros(1, dtype=np.int64)
    for p in permutations:
        result = (result[:, None] * len(p) + p).ravel()
    return result


def quotient(p: IntArray, shape: tuple[int, ...], axes: tuple[int, ...]) -> IntArray | None:
    """Return what ``p`` does to some index axes alone, or None if that depends on the others."""
    kept = tuple(shape[axis] for axis in axes)
    indices = np.unravel_index(p, shape)
    image = np.ravel_multi_index([indices[axis] for axis in axes], kept) if axes else 0 * p
    table = np.moveaxis(image.reshape(shape), axes, range(len(axes)))
    table = table.reshape(int(np.prod(kept, dtype=np.int64)), -1)  # (kept points, all the others)
    return frozen(table[:, 0]) if (table == table[:, :1]).all() else None

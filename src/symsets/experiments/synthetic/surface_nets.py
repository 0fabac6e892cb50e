"""Triangles around what lies inside: surface nets on a grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])


def surface_of(
    height: Callable[[Array], Array],
    low: Sequence[float],
    high: Sequence[float],
    step: float,
) -> tuple[Array, Array]:
    """Mesh the surface where a function of space is zero; negative is inside.

    Every cell of the grid with corners on both sides gets one vertex, and every edge of the grid
    that crosses the surface joins the four cells around it. Vertices are then moved onto the
    surface.

    Args:
        height: Of points ``(*P, 3)``; about the distance to the surface.
        low: A corner of the box to look in; the surface must not leave the box.
        high: The opposite corner.
        step: Length of the sides of the cells.

    Returns:
        Vertices ``(V, 3)`` and triangles ``(F, 3)``, which turn counter-clockwise seen from
        outside.

    Example:
        >>> ball = lambda p: np.linalg.norm(p, axis=-1) - 1
        >>> vertices, faces = surface_of(ball, (-1.5,) * 3, (1.5,) * 3, 0.4)
        >>> bool(abs(np.linalg.norm(vertices, axis=1) - 1).max() < 1e-6)
        True
        >>> len(vertices) - len(faces) // 2  # Euler: V - E + F = 2, and E = 3/2 F
        2
    """
    # An offset that no symmetric body has: no corner lies exactly on the surface or on its mirror.
    axes = [np.arange(a, b, step) + 0.013 * step for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    inside = height(grid) < 0
    cells = np.stack([_shifted(inside, corner) for corner in CORNERS], -1)
    crossed = cells.any(-1) & ~cells.all(-1)
    number = np.full(crossed.shape, -1)
    number[crossed] = np.arange(crossed.sum())
    vertices = grid[:-1, :-1, :-1][crossed] + step / 2
    faces = np.concatenate([_quads(inside, number, axis) for axis in range(3)])
    return _settle(height, vertices, step), faces


def _shifted(inside: Array, corner: Array) -> Array:
    return inside[tuple(slice(c, n - 1 + c) for c, n in zip(corner, inside.shape, strict=True))]


def _quads(inside: Array, number: Array, axis: int) -> Array:
    """Return two triangles for every edge of the grid along ``axis`` that crosses the surface."""
    inside, number = np.moveaxis(inside, axis, 0), np.moveaxis(number, axis, 0)
    before, after = inside[:-1, 1:-1, 1:-1], inside[1:, 1:-1, 1:-1]
    where = np.stack(np.nonzero(before != after), -1)
    # the cells around the edge, in turn
    around = np.array([[0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]])
    cells = where[:, None] + around
    corner = number[tuple(np.moveaxis(cells, -1, 0))]  # (edges, 4)
    # from inside to outside along the axis, or the other way; moving axis 1 mirrors the space
    leaves = before[tuple(where.T)]
    flipped = leaves if axis == 1 else ~leaves
    corner = np.where(flipped[:, None], corner[:, ::-1], corner)
    return np.concatenate([corner[:, [0, 1, 2]], corner[:, [0, 2, 3]]])


def _settle(height: Callable[[Array], Array], vertices: Array, step: float) -> Array:
    """Move vertices down the slope of the height until it is zero."""
    tiny = 1e-4 * step
    for _ in range(30):
        slope = np.stack(
            [(height(vertices + e) - height(vertices - e)) / (2 * tiny) for e in tiny * np.eye(3)],
            -1,
        )
        steep = (slope * slope).sum(-1, keepdims=True).clip(min=0.1)
        vertices = vertices - height(vertices)[:, None] * slope / steep
    return vertices

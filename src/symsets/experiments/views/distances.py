"""How far apart two clouds of points are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from symsets._checks import check_choice

METHODS = ("auto", "tree", "chunks")
CHUNK = 2**24  # pairs of points at once: twice 64 MiB in float32


def nearest(a: Tensor, b: Tensor, *, method: str = "auto", chunk: int = CHUNK) -> Tensor:
    """Return the distance from every point of ``a`` to the nearest point of ``b``.

    Distances come from differences of coordinates, never from products of them, which would lose
    half of the digits of small distances. Gradients are not computed. Where a coordinate is not a
    number, distances are none either.

    Args:
        a: Points.
        b: Points; at least one.
        method: ``"tree"`` searches a k-d tree on the host in float64; ``"chunks"`` compares all
            pairs on the device, ``chunk`` of them at a time; ``"auto"`` takes the tree for points
            on the host and chunks for others. Both are exact.
        chunk: The most pairs that are held at once.

    Shape:
        - a: ``(P, 3)``; b: ``(Q, 3)``, or any other number of coordinates.
        - output: ``(P,)``, of the type of ``a``.

    Example:
        >>> a, b = torch.tensor([[0.0, 0.0], [3.0, 0.0]]), torch.tensor([[0.0, 4.0]])
        >>> nearest(a, b)
        tensor([4., 5.])
    """
    for name, points in (("a", a), ("b", b)):
        if points.ndim != 2 or points.shape[1] != a.shape[1]:
            raise ValueError(f"{name} must be points (P, 3), got shape {tuple(points.shape)}")
        if not points.is_floating_point():
            raise ValueError(f"{name} must be floating point, got {points.dtype}")
    if not len(b):
        raise ValueError("b must have at least one point, got none")
    check_choice("method", method, METHODS)
    if chunk < 1:
        raise ValueError(f"chunk must be positive, got {chunk}")
    a, b = a.detach(), b.detach()
    if method == "tree" or (method == "auto" and a.device.type == "cpu"):
        return _by_tree(a, b)
    return _by_chunks(a, b, chunk)


def _by_tree(a: Tensor, b: Tensor) -> Tensor:
    points, others = (x.double().cpu().numpy() for x in (a, b))
    if not np.isfinite(others).all() or not np.isfinite(points).all():  # the tree refuses them
        return _by_chunks(a, b, CHUNK)
    found = cKDTree(others).query(points, workers=1)[0]
    return torch.from_numpy(np.asarray(found)).to(a.device, a.dtype)


def _by_chunks(a: Tensor, b: Tensor, chunk: int) -> Tensor:
    kind = a.dtype
    if kind in (torch.float16, torch.bfloat16):
        a, b = a.float(), b.float()
    columns = min(len(b), chunk)
    rows = max(1, chunk // columns)
    best = a.new_full((len(a),), torch.inf)
    for i in range(0, len(a), rows):
        for j in range(0, len(b), columns):
            pairs = _squares(a[i : i + rows], b[j : j + columns].to(a.dtype))
            best[i : i + rows] = best[i : i + rows].minimum(pairs.amin(1))
    return best.sqrt().to(kind)


def _squares(a: Tensor, b: Tensor) -> Tensor:
    """Return all squared distances, one coordinate after the other.

    On a GPU this is many times faster than ``cdist`` without matrix products, which starts a block
    of threads for every pair.
    """
    total = a.new_zeros(len(a), len(b))
    for x, y in zip(a.unbind(1), b.unbind(1), strict=True):
        difference = x[:, None] - y
        total.addcmul_(difference, difference)
    return total


class Agreement(NamedTuple):
    """How well a cloud fits the truth.

    Attributes:
        chamfer: The Chamfer distance, squared distances, not multiplied by 100.
        f_scores: The F-score at each threshold.
    """

    chamfer: float
    f_scores: tuple[float, ...]


def agreement(
    a: Tensor,
    b: Tensor,
    thresholds: Sequence[float] = (),
    *,
    squared: bool = True,
    method: str = "auto",
    chunk: int = CHUNK,
) -> Agreement:
    """Compare two clouds in several ways, with one search for nearest points.

    Args:
        a: The cloud to judge.
        b: The truth.
        thresholds: Distances at which F-scores are taken.
        squared: As in :func:`chamfer`.
        method: As in :func:`nearest`.
        chunk: As in :func:`nearest`.
    """
    if not len(a):
        raise ValueError("a must have at least one point, got none")
    there = nearest(a, b, method=method, chunk=chunk).double()
    back = nearest(b, a, method=method, chunk=chunk).double()
    power = 2 if squared else 1
    distance = (there**power).mean() + (back**power).mean()
    scores = []
    for threshold in thresholds:
        if not threshold > 0:
            raise ValueError(f"threshold must be positive, got {threshold}")
        precision, recall = ((d < threshold).double().mean() for d in (there, back))
        total = (precision + recall).clamp_min(1e-12)
        scores.append((2 * precision * recall / total).item())
    return Agreement(distance.item(), tuple(scores))


def chamfer(
    a: Tensor, b: Tensor, *, squared: bool = True, method: str = "auto", chunk: int = CHUNK
) -> float:
    r"""Return the two-way Chamfer distance of two clouds.

    .. math:: \frac{1}{P} \sum_i \min_j |a_i - b_j|^2 + \frac{1}{Q} \sum_j \min_i |a_i - b_j|^2

    Squared distances, and the sum of both ways, are what Sridhar et al. (2019) compute; tables
    show it times 100.

    Args:
        a: Points.
        b: Points.
        squared: Whether distances are squared.
        method: As in :func:`nearest`.
        chunk: As in :func:`nearest`.

    Shape:
        - a: ``(P, 3)``; b: ``(Q, 3)``.

    Example:
        >>> chamfer(torch.zeros(1, 3), torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 3.0]]))
        6.0
    """
    return agreement(a, b, squared=squared, method=method, chunk=chunk).chamfer


def f_score(
    a: Tensor, b: Tensor, threshold: float, *, method: str = "auto", chunk: int = CHUNK
) -> float:
    """Return the harmonic mean of the shares of each cloud that are near the other one.

    Args:
        a: Points.
        b: Points.
        threshold: How near is near.
        method: As in :func:`nearest`.
        chunk: As in :func:`nearest`.

    Shape:
        - a: ``(P, 3)``; b: ``(Q, 3)``.

    Example:
        >>> a, b = torch.tensor([[0.0], [5.0]]), torch.tensor([[0.1]])
        >>> round(f_score(a, b, 0.2), 4)  # precision 1/2, recall 1
        0.6667
    """
    return agreement(a, b, [threshold], method=method, chunk=chunk).f_scores[0]

"""How far apart two clouds of points are."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

CHUNK = 2**24  # pairs of points at once: twice 64 MiB in float32


class Agreement(NamedTuple):
    """How well a cloud fits the truth.

    Attributes:
        chamfer: The Chamfer distance, not multiplied by 100.
        f_scores: The F-score at each threshold.
    """

    chamfer: float
    f_scores: tuple[float, ...]


def agreement(a: Tensor, b: Tensor, thresholds: Sequence[float] = ()) -> Agreement:
    r"""Compare two clouds by their Chamfer distance and by F-scores.

    .. math:: \frac{1}{P} \sum_i \min_j |a_i - b_j|^2 + \frac{1}{Q} \sum_j \min_i |a_i - b_j|^2

    Squared distances, and the sum of both ways, are what Sridhar et al. (2019) compute; tables
    show it times 100. An F-score is the harmonic mean of the shares of each cloud that are nearer
    to the other one than a threshold.

    Shape:
        - a (the cloud to judge): ``(P, 3)``; b (the truth): ``(Q, 3)``.

    Example:
        >>> a, b = torch.tensor([[0.0], [5.0]]), torch.tensor([[0.1]])
        >>> round(agreement(a, b, [0.2]).f_scores[0], 4)  # precision 1/2, recall 1
        0.6667
    """
    there, back = nearest(a, b).double(), nearest(b, a).double()
    scores = []
    for threshold in thresholds:
        precision, recall = ((d < threshold).double().mean() for d in (there, back))
        total = (precision + recall).clamp_min(1e-12)
        scores.append((2 * precision * recall / total).item())
    return Agreement((there.square().mean() + back.square().mean()).item(), tuple(scores))


def nearest(a: Tensor, b: Tensor) -> Tensor:
    """Return the distance from every point of ``a`` to the nearest point of ``b``.

    Points on the host are looked up in a k-d tree; on other devices all pairs are compared. Both
    are exact: distances come from differences of coordinates, never from products of them, which
    would lose half of the digits of small distances. Gradients are not computed. Where a
    coordinate is not a number, distances are none either.

    Shape:
        - a: ``(P, 3)``; b: ``(Q, 3)``, or any other number of coordinates.
        - output: ``(P,)``, of the type of ``a``.

    Example:
        >>> a, b = torch.tensor([[0.0, 0.0], [3.0, 0.0]]), torch.tensor([[0.0, 4.0]])
        >>> nearest(a, b)
        tensor([4., 5.])
    """
    a, b = a.detach(), b.detach()
    finite = a.isfinite().all() and b.isfinite().all()  # the tree refuses others
    if a.device.type != "cpu" or not finite:
        return by_pairs(a, b)
    found, _ = cKDTree(b.double().numpy()).query(a.double().numpy())
    return torch.from_numpy(np.asarray(found)).to(a.dtype)


def by_pairs(a: Tensor, b: Tensor, chunk: int = CHUNK) -> Tensor:
    """Compare all pairs, at most ``chunk`` of them at once."""
    exact = torch.promote_types(a.dtype, torch.float32)
    best = a.new_full((len(a),), torch.inf, dtype=exact)
    columns = min(len(b), chunk)
    rows = max(1, chunk // columns)
    for i in range(0, len(a), rows):
        for other in b.to(exact).split(columns):
            found = _squares(a[i : i + rows].to(exact), other).amin(1)
            best[i : i + rows] = best[i : i + rows].minimum(found)
    return best.sqrt().to(a.dtype)


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

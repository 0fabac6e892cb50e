"""How good reconstructions are, and what more views are worth."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from symsets._modes import evaluating
from symsets.experiments.views.clouds import union_of_views
from symsets.experiments.views.distances import agreement
from symsets.experiments.views.sets import Views
from symsets.train.metrics import Metric

THRESHOLDS = (0.01, 0.02)  # of F-scores, in diagonals of the object


def predict(network: nn.Module, image: Tensor, *, batch_size: int = 16) -> Tensor:
    """Apply a network in evaluation mode, without gradients, to a few sets at a time.

    Args:
        network: Of images ``(B, N, 3, H, W)``; its mode is restored.
        image: All sets, on any device and of any type.
        batch_size: Sets at once.
    """
    like = next(network.parameters())
    with evaluating(network), torch.no_grad():
        return torch.cat([network(some.to(like)) for some in image.split(batch_size)])


def reconstruction_errors(
    output: Tensor, points: Tensor, *, thresholds: Sequence[float] = THRESHOLDS
) -> dict[str, list[float]]:
    """Compare the clouds of many objects with the truth.

    Args:
        output: Mask logits, front and back of every view, ``(B, N, 7, H, W)`` or ragged.
        points: Points on the true surfaces, ``(B, P, 3)``.
        thresholds: Distances at which F-scores are taken.

    Returns:
        One number for every object: ``"chamfer"``, times 100 as in the paper, and ``"f@0.01"``
        and so on for the thresholds, in 0 to 1.
    """
    clouds = union_of_views(output)
    if len(clouds) != len(points):
        raise ValueError(f"points must be of {len(clouds)} objects, got {len(points)}")
    found = [
        agreement(cloud.float(), truth.to(cloud.device), thresholds)
        for cloud, truth in zip(clouds, points, strict=True)
    ]
    errors = {"chamfer": [100 * one.chamfer for one in found]}
    for k, threshold in enumerate(thresholds):
        errors[f"f@{threshold:g}"] = [one.f_scores[k] for one in found]
    return errors


def errors_by_views(
    network: nn.Module, views: Views, num_views: Sequence[int]
) -> dict[int, list[float]]:
    """Return the Chamfer distances of all objects, times 100, by how many views a network gets.

    Args:
        network: Of images ``(B, N, 3, H, W)``, for any N.
        views: With points of the true shapes.
        num_views: How many views to use, where there are so many.
    """
    if views.points is None:
        raise ValueError("views must have points of the true shapes: make them with num_points")
    return {
        num: reconstruction_errors(predict(network, views.first_views(num).image), views.points)[
            "chamfer"
        ]
        for num in num_views
        if num <= views.num_views
    }


class Reconstruction:
    """All errors of the clouds of a batch, computed once for all metrics that ask.

    The batch itself is not kept: it may be large, and on a GPU.
    """

    def __init__(self) -> None:
        self._of: tuple[weakref.ref[Tensor], ...] = ()
        self._known: dict[str, list[float]] = {}

    def errors(self, output: Tensor, points: Tensor) -> dict[str, list[float]]:
        """Return the errors of all objects; the same two tensors are compared once."""
        asked = output, points
        if not self._of or any(
            kept() is not one for kept, one in zip(self._of, asked, strict=True)
        ):
            self._known = reconstruction_errors(output, points)
            self._of = tuple(weakref.ref(one) for one in asked)
        return self._known

    def metric(self, name: str, *, larger_is_better: bool = True) -> Metric:
        """Return one of the errors as a metric."""
        key = name.removeprefix("f-score@")

        def values(output: Tensor, target: Any) -> Tensor:
            found = self.errors(output, target.points)
            return torch.tensor(found[name] if name in found else found[f"f@{key}"])

        return Metric(name, values, larger_is_better)

"""How good reconstructions are, and what more views are worth."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

import torch
from torch import Tensor, nn

from symsets._modes import evaluating
from symsets.experiments.views.clouds import union_of_views
from symsets.experiments.views.distances import agreement
from symsets.experiments.views.sets import Views

__all__ = ["THRESHOLDS", "errors_by_views", "predict", "reconstruction_errors"]

THRESHOLDS = (0.01, 0.02)  # of F-scores, in diagonals of the object
NUM_VIEWS = (1, 2, 3, 5, 8)


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
    network: nn.Module,
    views: Views,
    *,
    num_views: Sequence[int] = NUM_VIEWS,
    thresholds: Sequence[float] = THRESHOLDS,
    batch_size: int = 16,
) -> dict[int, dict[str, float]]:
    """Evaluate a network with the first 1, 2, 3, … views of every object.

    Args:
        network: Of images ``(B, N, 3, H, W)``, for any N.
        views: With points of the true shapes, and at least as many views as ``num_views`` asks.
        num_views: How many views to use.
        thresholds: Distances at which F-scores are taken.
        batch_size: Sets at once.

    Returns:
        For each number of views, the means of what :func:`reconstruction_errors` returns.
    """
    if views.points is None:
        raise ValueError("views must have points of the true shapes: make them with num_points")
    found = {}
    for num in num_views:
        some = views.first_views(num)
        output = predict(network, some.image, batch_size=batch_size)
        errors = reconstruction_errors(output, views.points, thresholds=thresholds)
        found[num] = {name: mean(values) for name, values in errors.items()}
    return found

"""How good reconstructions are, and what more views are worth."""

import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakIdKeyDictionary

from symsets._modes import evaluating
from symsets.experiments.views.distances import agreement
from symsets.experiments.views.sets import Views
from symsets.train.metrics import Metric

THRESHOLDS = (0.01, 0.02)  # of F-scores, in diagonals of the object


def predict(network: nn.Module, image: Tensor, *, batch_size: int = 16) -> Tensor:
    """Apply a network in evaluation mode, without gradients, to a few sets at a time.

    Images ``(B, N, 3, H, W)`` may be on any device and of any type.
    """
    like = next(network.parameters())
    with evaluating(network), torch.no_grad():
        return torch.cat([network(some.to(like)) for some in image.split(batch_size)])


def union_of_views(output: Tensor) -> list[Tensor]:
    """Collect the front and back points of all pixels that more likely than not show the object.

    All views speak of the same normalised coordinates, so their union needs no cameras. The most
    probable pixel of a set always counts: no cloud is empty.

    Shape:
        - output (mask logits, front and back of every view): ``(B, N, 7, H, W)``.
        - returns: B clouds ``(P, 3)`` with P twice the number of pixels.

    Example:
        >>> output = torch.full((1, 2, 7, 4, 4), -0.25)
        >>> output[0, 0, 0, 1:3] = 1
        >>> [cloud.shape for cloud in union_of_views(output)]
        [torch.Size([16, 3])]
    """
    clouds = []
    for views in output:
        likely = views[:, 0].flatten().sigmoid()
        inside = likely > 0.5
        inside[likely.argmax()] = True
        maps = views[:, 1:].movedim(1, -1).flatten(0, 2)[inside]  # (P, 6)
        clouds.append(torch.cat([maps[:, :3], maps[:, 3:]]))
    return clouds


def reconstruction_errors(output: Tensor, points: Tensor) -> dict[str, list[float]]:
    """Compare the clouds of many objects with the truth.

    Args:
        output: Mask logits, front and back of every view, ``(B, N, 7, H, W)``.
        points: Points on the true surfaces, ``(B, P, 3)``.

    Returns:
        One number for every object: ``"chamfer"``, times 100 as in the paper, and
        ``"f-score@0.01"`` and ``"f-score@0.02"``, the F-scores at these distances, in 0 to 1.
    """
    found = [
        agreement(cloud.float(), truth.to(cloud.device), THRESHOLDS)
        for cloud, truth in zip(union_of_views(output), points, strict=True)
    ]
    errors = {"chamfer": [100 * one.chamfer for one in found]}
    for k, threshold in enumerate(THRESHOLDS):
        errors[f"f-score@{threshold:g}"] = [one.f_scores[k] for one in found]
    return errors


def errors_by_views(
    network: nn.Module, views: Views, num_views: Sequence[int]
) -> dict[int, list[float]]:
    """Return the Chamfer distances of all objects, times 100, by how many views a network gets.

    Numbers that are larger than that of the views are left out.
    """
    assert views.points is not None
    return {
        num: reconstruction_errors(predict(network, views.x[:, :num]), views.points)["chamfer"]
        for num in num_views
        if num <= views.x.shape[1]
    }


_KNOWN = WeakIdKeyDictionary()  # by the true points: a reference to the output, and its errors


def reconstruction_metric(name: str, *, larger_is_better: bool = True) -> Metric:
    """Return one of the errors as a metric; all errors of a batch are computed once.

    The batch itself is not kept: it may be large, and on a GPU.
    """

    def values(output: Tensor, target: Any) -> Tensor:
        asked, errors = _KNOWN.get(target.points, (None, {}))
        if asked is None or asked() is not output:
            errors = reconstruction_errors(output, target.points)
            _KNOWN[target.points] = weakref.ref(output), errors
        return torch.tensor(errors[name])

    return Metric(name, values, larger_is_better)

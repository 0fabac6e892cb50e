"""From what a network says about pixels to a cloud of points."""

from __future__ import annotations

import torch
from torch import Tensor

from symsets.sets import RaggedSets, Sets


def union_of_views(output: Sets, *, threshold: float = 0.5, logits: bool = True) -> list[Tensor]:
    """Collect the front and back points of all pixels that belong to the object.

    All views speak of the same normalised coordinates, so their union needs no cameras. The most
    probable pixel of a set always counts: no cloud is empty.

    Args:
        output: What a network returns: mask, front and back of every view.
        threshold: The probability above which a pixel belongs to the object.
        logits: Whether the mask holds logits; otherwise probabilities, such as a true mask.

    Shape:
        - output: ``(B, N, 7, H, W)``, or ragged with elements ``(T, 7, H, W)``.
        - returns: B clouds ``(P, 3)`` with P twice the number of pixels.

    Example:
        >>> output = torch.full((1, 2, 7, 4, 4), 0.25)
        >>> output[0, 0, 0, 1:3] = 1
        >>> [cloud.shape for cloud in union_of_views(output, logits=False)]
        [torch.Size([16, 3])]
    """
    return [_cloud(views, threshold, logits) for views in _each(output)]


def _each(output: Sets) -> list[Tensor]:
    sets = output.to_list() if isinstance(output, RaggedSets) else list(output)
    for views in sets:
        if views.ndim != 4 or views.shape[1] != 7:
            raise ValueError(
                "output must be (B, N, 7, H, W) or ragged of (T, 7, H, W): mask, front and back, "
                f"got views of shape {tuple(views.shape[1:])}"
            )
        if not views.numel():
            raise ValueError("output must have at least one view in every set, got an empty set")
    return sets


def _cloud(views: Tensor, threshold: float, logits: bool) -> Tensor:
    likely = views[:, 0].flatten()
    likely = likely.sigmoid() if logits else likely
    inside = likely > threshold
    inside[likely.argmax()] = True
    maps = views[:, 1:].movedim(1, -1).flatten(0, 2)[inside]  # (P, 6)
    return torch.cat([maps[:, :3], maps[:, 3:]])

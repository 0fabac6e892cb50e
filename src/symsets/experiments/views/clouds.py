"""From what a network says about pixels to a cloud of points."""

from __future__ import annotations

import torch
from torch import Tensor


def union_of_views(output: Tensor) -> list[Tensor]:
    """Collect the front and back points of all pixels that more likely than not show the object.

    All views speak of the same normalised coordinates, so their union needs no cameras. The most
    probable pixel of a set always counts: no cloud is empty.

    Args:
        output: What a network returns: mask logits, front and back of every view.

    Shape:
        - output: ``(B, N, 7, H, W)``.
        - returns: B clouds ``(P, 3)`` with P twice the number of pixels.

    Example:
        >>> output = torch.full((1, 2, 7, 4, 4), -0.25)
        >>> output[0, 0, 0, 1:3] = 1
        >>> [cloud.shape for cloud in union_of_views(output)]
        [torch.Size([16, 3])]
    """
    if output.ndim != 5 or output.shape[2] != 7 or not output.shape[1]:
        raise ValueError(
            "output must be (B, N, 7, H, W): mask, front and back of one view or more, "
            f"got shape {tuple(output.shape)}"
        )
    return [_cloud(views) for views in output]


def _cloud(views: Tensor) -> Tensor:
    likely = views[:, 0].flatten().sigmoid()
    inside = likely > 0.5
    inside[likely.argmax()] = True
    maps = views[:, 1:].movedim(1, -1).flatten(0, 2)[inside]  # (P, 6)
    return torch.cat([maps[:, :3], maps[:, 3:]])

"""What a wrong mask and wrong coordinates cost."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from symsets._checks import check_choice
from symsets.experiments.views.network import OUT_CHANNELS
from symsets.sets import Sets, fold

KINDS = ("l1", "distance")


def views_loss(
    output: Sets,
    target: Sets,
    *,
    kind: str = "l1",
    mask_weight: float = 0.3,
    coordinate_weight: float = 1.0,
) -> Tensor:
    r"""Return the loss of predicted masks and coordinates.

    The mask costs its cross entropy; coordinates cost their error where the true mask is, averaged
    over all such pixels of the batch.

    Args:
        output: Mask logits, front and back coordinates.
        target: The mask (0 or 1) and the true coordinates, as :attr:`Views.targets` has them.
        kind: ``"l1"``: mean absolute error; ``"distance"``: mean distance of points in space.
        mask_weight: What the mask counts. Sridhar et al. weigh 0.7 to 0.3 with distances.
        coordinate_weight: What coordinates count.

    Shape:
        - output and target: ``(B, N, 7, H, W)``, or ragged with elements ``(T, 7, H, W)``.

    Example:
        >>> target = torch.zeros(1, 2, 7, 4, 4)
        >>> target[:, :, :, 1] = 1
        >>> right = target.clone()
        >>> right[:, :, 0] = 40 * target[:, :, 0] - 20
        >>> bool(views_loss(right, target) < 1e-6 < views_loss(right + 0.1, target))
        True
    """
    check_choice("kind", kind, KINDS)
    found, _ = fold(output)
    truth, _ = fold(target)
    if found.shape != truth.shape or found.ndim != 4 or found.shape[1] != OUT_CHANNELS:
        raise ValueError(
            "output and target must have one shape, (B, N, 7, H, W), "
            f"got rows of {tuple(found.shape)} and {tuple(truth.shape)}"
        )
    if found.dtype in (torch.float16, torch.bfloat16):
        found = found.float()
    truth = truth.to(found.dtype)
    mask = truth[:, :1]
    mask_loss = binary_cross_entropy_with_logits(found[:, :1], mask)
    error = found[:, 1:] - truth[:, 1:]
    if kind == "l1":
        each = error.abs().mean(1, keepdim=True)
    else:
        # a hair of the unit keeps the gradient of the root finite
        each = (error.unflatten(1, (2, 3)).square().sum(2) + 1e-12).sqrt().mean(1, keepdim=True)
    coordinates = (each * mask).sum() / mask.sum().clamp_min(1)
    return mask_weight * mask_loss + coordinate_weight * coordinates

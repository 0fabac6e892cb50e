"""What a wrong mask and wrong coordinates cost."""

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from symsets.experiments.views.sets import Truth
from symsets.sets import Sets, fold

MASK_WEIGHT = 0.3  # beside coordinates


def views_loss(output: Sets, target: Sets | Truth) -> Tensor:
    """Return the loss of predicted masks and coordinates.

    The mask costs its cross entropy; coordinates cost their mean absolute error where the true mask
    is, averaged over all such pixels of the batch.

    Args:
        output: Mask logits, front and back coordinates.
        target: The mask (0 or 1) and the true coordinates, as :class:`~.sets.Views` has them; its
            ``maps`` where it is all of the truth.

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
    found, _ = fold(output)
    truth, _ = fold(target.maps if isinstance(target, Truth) else target)
    if found.shape != truth.shape:
        shapes = tuple(found.shape), tuple(truth.shape)
        raise ValueError(f"output and target must have one shape, got rows of {shapes}")
    found = found.to(torch.promote_types(found.dtype, torch.float32))
    truth = truth.to(found.dtype)
    mask = truth[:, :1]
    mask_loss = binary_cross_entropy_with_logits(found[:, :1], mask)
    error = (found[:, 1:] - truth[:, 1:]).abs().mean(1, keepdim=True)
    coordinates = (error * mask).sum() / mask.sum().clamp_min(1)
    return MASK_WEIGHT * mask_loss + coordinates

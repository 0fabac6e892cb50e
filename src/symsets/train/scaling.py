"""Gradients in float16: scaled up so that small ones are not lost, and down before the step."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["LossScale"]


class LossScale(nn.Module):
    """What the loss of each member of an ensemble is multiplied by.

    Float16 has as many digits as tf32, eight times finer than bfloat16, but no numbers below
    6·10⁻⁸ and none above 65,504. So losses are scaled, and with them all gradients; where one
    overflows, the member's scale is halved, and doubled again after a while without that.

    Args:
        size: Number of members.
        start: The first scale.
        patience: Steps without overflow before a scale is doubled.

    Example:
        >>> scale = LossScale(2, patience=1)
        >>> scale.update(torch.tensor([True, False]))
        >>> (scale.value / 2.0**16).tolist()
        [2.0, 0.5]
    """

    value: Tensor
    since: Tensor

    def __init__(self, size: int, *, start: float = 2.0**16, patience: int = 2000) -> None:
        super().__init__()
        self.patience = patience
        self.register_buffer("value", torch.full((size,), start))
        self.register_buffer("since", torch.zeros(size))  # steps since the scale changed

    @torch.no_grad()
    def update(self, finite: Tensor) -> None:
        """Learn whether the gradients ``(K,)`` of the members were finite; waits for nothing."""
        self.since.add_(1)
        grown = self.since >= self.patience
        change = torch.where(finite, torch.where(grown, 2.0, 1.0), 0.5)
        self.value.mul_(change).clamp_(2.0**-10, 2.0**30)
        self.since.mul_((change == 1).to(self.since.dtype))

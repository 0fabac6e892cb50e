"""What happens to gradients before a step: clipping, and loss scaling for float16."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class LossScale(nn.Module):
    """What the loss of each member of an ensemble is multiplied by in float16.

    Float16 has as many digits as tf32, eight times finer than bfloat16, but no numbers below
    6·10⁻⁸ and none above 65,504. So losses are scaled, and with them all gradients; where one
    overflows, the member's scale is halved, and doubled again after a while without that.

    ``torch.amp.GradScaler`` has one scale for all parameters, so one member's overflow would skip
    the step of all; and most optimisers make it wait for the GPU, which a CUDA graph cannot.

    Args:
        size: Number of members.
        patience: Steps without overflow before a scale is doubled.

    Example:
        >>> scale = LossScale(2, patience=1)
        >>> scale.update(torch.tensor([True, False]))
        >>> (scale.value / 2.0**16).tolist()
        [2.0, 0.5]
    """

    value: Tensor
    since: Tensor

    def __init__(self, size: int, *, patience: int = 2000) -> None:
        super().__init__()
        self.patience = patience
        self.register_buffer("value", torch.full((size,), 2.0**16))
        self.register_buffer("since", torch.zeros(size))  # steps since the scale changed

    @torch.no_grad()
    def update(self, finite: Tensor) -> None:
        """Adapt the scales, given whether the gradients ``(K,)`` were finite, without waiting."""
        self.since.add_(1)
        grown = self.since >= self.patience
        change = torch.where(finite, torch.where(grown, 2.0, 1.0), 0.5)
        self.value.mul_(change).clamp_(2.0**-10, 2.0**30)
        self.since.mul_((change == 1).to(self.since.dtype))


@torch.no_grad()
def rescale_gradients(
    members: Sequence[list[Tensor]], *, clip: float, scale: LossScale | None
) -> None:
    """Undo the scale of each member's gradient and clip it, in place, without waiting.

    A gradient that overflowed becomes zero.

    Args:
        members: The gradients of all parameters, for each member.
        clip: The largest norm of a member's gradient as one vector; 0 for any.
        scale: What the losses were multiplied by; updated. None if they were not.

    Example:
        >>> gradient = torch.tensor([3.0, 4.0])
        >>> rescale_gradients([[gradient]], clip=1.0, scale=None)
        >>> gradient
        tensor([0.6000, 0.8000])
    """
    if not clip and scale is None:
        return
    norms = [torch.stack(torch._foreach_norm(own)) for own in members]
    lengths = torch.stack(norms).norm(dim=1)  # (K,)
    factors = torch.ones_like(lengths)
    if scale is not None:
        finite = lengths.isfinite()
        lengths = lengths / scale.value
        factors = finite / scale.value
        scale.update(finite)
    if clip:
        factors = factors * (clip / lengths.clamp(min=clip))
    for own, factor in zip(members, factors.unbind(), strict=True):
        torch._foreach_mul_(own, factor)
    if scale is not None:
        for gradient in (gradient for own in members for gradient in own):
            gradient.nan_to_num_(nan=0.0)  # infinity times zero

"""One training step and its precision; the steps of an epoch, eager or as CUDA graphs."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from symsets._checks import shown
from symsets._modes import allow_tf32
from symsets.data.labelled import SetDataset
from symsets.train.average import Average
from symsets.train.ensemble import Ensemble
from symsets.train.graphs import CapturedFunction
from symsets.train.metrics import Loss

PRECISIONS = ("float32", "tf32", "bfloat16", "float16", "float64")
HALVES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def autocast(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Return the context in which networks run at a precision."""
    if precision not in HALVES:
        return nullcontext()
    # A captured graph must cast the weights anew at every replay.
    return torch.autocast(device.type, HALVES[precision], cache_enabled=False)


def matmul_precision(precision: str) -> AbstractContextManager[None]:
    """Return the context that lets float32 products and convolutions round their factors or not.

    What half precision leaves in float32 needs its digits: products such as those that end in
    scores are exact there. Convolutions, such as the last one of a U-Net, are computed as in tf32.
    """
    tf32 = precision == "tf32"
    return allow_tf32(products=tf32, convolutions=tf32 or precision in HALVES)


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


def check_loss(loss: Any, axes: int = 0) -> None:
    """Raise ValueError unless a loss is one number, or one for each member of an ensemble."""
    if not isinstance(loss, Tensor) or loss.ndim != axes:
        got = f"shape {tuple(loss.shape[axes:])}" if isinstance(loss, Tensor) else shown(loss)
        raise ValueError(f"loss must return one number, a tensor without axes, got {got}")


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


@dataclass(eq=False)
class Step:
    """Compute losses and gradients of a batch, and take one step of an optimiser.

    Args:
        losses: Maps a batch to a loss, or to the losses ``(K,)`` of an ensemble.
        parameters: Those that get gradients.
        optimiser: Of these parameters.
        precision: One of :data:`PRECISIONS`.
        clip: The largest norm of a gradient, of each member on its own; 0 for any.
        scale: Of the losses, for float16. A member whose gradient overflows takes a step without
            gradient.
        size: Number of members, if the first axis of every parameter counts them.
    """

    losses: Callable[..., Tensor]
    parameters: Sequence[nn.Parameter]
    optimiser: torch.optim.Optimizer
    precision: str
    clip: float = 0.0
    scale: LossScale | None = None
    size: int | None = None

    def __call__(self, *batch: Any) -> Tensor:
        """Return the loss, or the losses of all members, before the step."""
        self.free_gradients()
        with autocast(self.precision, self.parameters[0].device):
            losses = self.losses(*batch)
        check_loss(losses, axes=0 if self.size is None else 1)
        if not losses.requires_grad:
            raise ValueError("loss must depend on weights that are trained, got none")
        scaled = losses if self.scale is None else losses * self.scale.value
        scaled.sum().backward()
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        members = [gradients]
        if self.size is not None:
            members = [[gradient[k] for gradient in gradients] for k in range(self.size)]
        rescale_gradients(members, clip=self.clip, scale=self.scale)
        self.optimiser.step()
        return losses.detach()

    def free_gradients(self) -> None:
        """Free the memory of all gradients; the next step makes new ones."""
        for parameter in self.parameters:
            parameter.grad = None


class EagerSteps(Step):
    """Train an ensemble on batches of sets, one step after the other.

    Args:
        ensemble: What to train.
        optimiser: Of its parameters.
        data: All training sets.
        loss: Of one member's output.
        precision: As in :class:`Step`, like ``clip`` and ``scale``.
        forward: What to call instead of the ensemble itself, such as its copy on several processes.
        average: Of the weights, to be updated after every step, if wanted.
        search: Whether captured steps look for the fastest convolutions first. That takes up to
            half a minute, and is for long runs.
        on_step: Called after every step that runs eagerly.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        optimiser: torch.optim.Optimizer,
        data: SetDataset,
        loss: Loss,
        precision: str = "float32",
        *,
        forward: nn.Module | None = None,
        average: Average | None = None,
        clip: float = 0.0,
        scale: LossScale | None = None,
        search: bool = False,
        on_step: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(
            lambda x, y: (forward or ensemble)(x, y, then=loss),
            list(ensemble.parameters()),
            optimiser,
            precision,
            clip=clip,
            scale=scale,
            size=ensemble.size,
        )
        self.ensemble = ensemble
        self.data = data
        self.average = average
        self.search = search
        self.on_step = on_step

    def step(self, which: Tensor) -> Tensor:
        """Take one step on the sets ``which (K, B)``; return the losses ``(K,)`` before it."""
        return self._step_on(*self.data.batch(which))

    def _step_on(self, x: Any, y: Any) -> Tensor:
        losses = self(x, y)
        if self.average is not None:
            self.average.update()
        return losses

    def run(self, order: Tensor, rates: Tensor) -> Tensor:
        """Take the steps ``order (S, K, B)`` at learning rates ``(S,)``; return summed losses."""
        total = torch.zeros(order.shape[1], device=self.data.device)
        for batch, rate in zip(self.data.batches(order), rates.tolist(), strict=True):
            for group in self.optimiser.param_groups:
                group["lr"] = rate
            total += self._step_on(*batch)
            self.on_step()
        return total


class CapturedSteps(EagerSteps):
    """The same steps, captured once as a CUDA graph and replayed.

    The graph reads the batch and the learning rate from tables on the device, at a position that
    it moves on itself: a replay is all that the host does in a step. Learning rates must be
    tensors on the device.
    """

    _captured: CapturedFunction | None = None

    def run(self, order: Tensor, rates: Tensor) -> Tensor:
        device = self.data.device
        if self._captured is None or self._captured.inputs[0].shape != order.shape:
            self._position = torch.zeros(1, dtype=torch.int64, device=device)
            self._total = torch.zeros(order.shape[1], device=device)
            self._captured = CapturedFunction(
                self._next_step,
                [order.to(device), rates.to(device)],
                before_capture=self.free_gradients,
                search=self.search,
            )
        self._captured.load(order, rates)
        self._position.zero_()
        self._total.zero_()
        for _ in range(len(order)):
            self._captured.run()
        return self._total.clone()

    def _next_step(self, order: Tensor, rates: Tensor) -> Tensor:
        rate = rates.index_select(0, self._position)[0]
        for group in self.optimiser.param_groups:
            group["lr"].copy_(rate)
        self._total += self.step(order.index_select(0, self._position)[0])
        self._position += 1
        return self._total

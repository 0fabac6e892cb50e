"""One training step and its precision; the steps of an epoch, eager or as CUDA graphs."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from symsets._modes import allow_tf32
from symsets.data.labelled import SetDataset
from symsets.train.average import Average
from symsets.train.ensemble import Ensemble
from symsets.train.graphs import CapturedFunction
from symsets.train.metrics import Loss
from symsets.train.scaling import LossScale, rescale_gradients

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

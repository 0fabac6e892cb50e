"""One training step, run eagerly or replayed as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor

from symsets._modes import allow_tf32
from symsets.data.labelled import SetDataset
from symsets.ops import captured
from symsets.train.ensemble import Ensemble
from symsets.train.metrics import Loss
from symsets.train.scaling import LossScale

__all__ = ["PRECISIONS", "CapturedSteps", "EagerSteps", "autocast", "matmul_precision"]

PRECISIONS = ("float32", "tf32", "bfloat16", "float16", "float64")
HALVES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def autocast(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Return the context in which networks run at a precision."""
    if precision not in HALVES:
        return nullcontext()
    # A captured graph must cast the weights anew at every replay.
    return torch.autocast(device.type, HALVES[precision], cache_enabled=False)


def matmul_precision(precision: str) -> AbstractContextManager[None]:
    """Let products and convolutions round their factors where the precision allows it.

    What half precision leaves in float32 needs its digits: products such as those that end in
    scores are exact there. Convolutions, such as the last one of a U-Net, are computed as in tf32.
    """
    tf32 = precision == "tf32"
    return allow_tf32(products=tf32, convolutions=tf32 or precision in HALVES)


@contextmanager
def _convolutions(*, searched: bool) -> Iterator[None]:
    """Let cuDNN try its algorithms: what it takes unasked in half precision may be slower."""
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = searched or before
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


class EagerSteps:
    """Train an ensemble on batches of sets, one step after the other.

    Args:
        ensemble: What to train.
        optimiser: Of its parameters.
        data: All training sets.
        loss: Of one member's output.
        precision: One of :data:`PRECISIONS`.
        average: A copy of the ensemble that follows its weights slowly, if wanted.
        keep: The share of the average that each step keeps.
        clip: Shorten the gradient of a member that is longer than this; 0 for never.
        scale: Of the losses, for float16. A member whose gradient overflows takes a step without
            gradient.
        search: Whether captured steps look for the fastest convolutions first. That takes up to
            half a minute, and is for long runs.
        backward: What computes the gradients of a loss.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        optimiser: torch.optim.Optimizer,
        data: SetDataset,
        loss: Loss,
        precision: str = "float32",
        *,
        average: Ensemble | None = None,
        keep: float = 0.0,
        clip: float = 0.0,
        scale: LossScale | None = None,
        search: bool = False,
        backward: Callable[[Tensor], None] = Tensor.backward,
    ) -> None:
        self.ensemble = ensemble
        self.optimiser = optimiser
        self.data = data
        self.loss = loss
        self.precision = precision
        self.average = average
        self.keep = keep
        self.clip = clip
        self.scale = scale
        self.search = search
        self.backward = backward

    def losses(self, which: Tensor) -> Tensor:
        """Return the loss of each member on the sets ``which (K, B)``."""
        x, y = self.data.batch(which)
        with autocast(self.precision, self.data.device):
            losses: Tensor = self.ensemble(x, y, then=self.loss)
            return losses

    def _step(self, which: Tensor) -> Tensor:
        self.optimiser.zero_grad(set_to_none=True)
        losses = self.losses(which)
        scaled = losses if self.scale is None else losses * self.scale.value
        self.backward(scaled.sum())
        self._rescale()
        self.optimiser.step()
        self._follow()
        return losses.detach()

    @torch.no_grad()
    def _rescale(self) -> None:
        """Clip the gradient of each member and undo its scale, without waiting for its length."""
        if not self.clip and self.scale is None:
            return
        gradients = [p.grad for p in self.ensemble.parameters() if p.grad is not None]
        members = [[gradient[k] for gradient in gradients] for k in range(self.ensemble.size)]
        norms = [torch.stack(torch._foreach_norm(own)) for own in members]
        lengths = torch.stack(norms).norm(dim=1)  # (K,)
        factors = torch.ones_like(lengths)
        if self.scale is not None:
            finite = lengths.isfinite()
            lengths = lengths / self.scale.value
            factors = finite / self.scale.value
            self.scale.update(finite)
        if self.clip:
            factors = factors * (self.clip / lengths.clamp(min=self.clip))
        for own, factor in zip(members, factors.unbind(), strict=True):
            torch._foreach_mul_(own, factor)
        if self.scale is not None:
            for gradient in gradients:
                gradient.nan_to_num_(nan=0.0)  # what was infinite, times zero

    @torch.no_grad()
    def _follow(self) -> None:
        """Move the average a little towards the weights."""
        if self.average is not None:
            averages: list[Tensor] = list(self.average.parameters())
            values: list[Tensor] = list(self.ensemble.parameters())
            moving = [k for k, value in enumerate(values) if value.requires_grad]
            to = [values[k] for k in moving]
            torch._foreach_lerp_([averages[k] for k in moving], to, 1 - self.keep)

    def run(self, order: Tensor, rates: Tensor) -> Tensor:
        """Take the steps ``order (S, K, B)`` at learning rates ``(S,)``; return summed losses."""
        total = torch.zeros(order.shape[1], device=self.data.device)
        for which, rate in zip(order, rates.tolist(), strict=True):
            for group in self.optimiser.param_groups:
                group["lr"] = rate
            total += self._step(which)
        return total


class CapturedSteps(EagerSteps):
    """The same steps, captured once as a CUDA graph and replayed.

    The graph reads the batch and the learning rate from tables on the device, at a position that
    it moves on itself: a replay is all that the host does in a step.
    """

    _graph: torch.cuda.CUDAGraph | None = None

    def run(self, order: Tensor, rates: Tensor) -> Tensor:
        """Take the steps ``order (S, K, B)`` at learning rates ``(S,)``; return summed losses."""
        if self._graph is None or self._order.shape != order.shape:
            self._capture(order, rates)
        assert self._graph is not None
        self._order.copy_(order)
        self._rates.copy_(rates)
        self._position.zero_()
        self._total.zero_()
        for _ in range(len(order)):
            self._graph.replay()
        return self._total.clone()

    def _capture(self, order: Tensor, rates: Tensor) -> None:
        device = self.data.device
        self._order = order.to(device).clone()
        self._rates = rates.to(device).clone()
        self._position = torch.zeros(1, dtype=torch.int64, device=device)
        self._total = torch.zeros(order.shape[1], device=device)
        before = self._state()
        random = torch.cuda.get_rng_state(device)
        stream = torch.cuda.Stream(device)
        stream.wait_stream(torch.cuda.current_stream(device))
        with _convolutions(searched=self.search), captured():
            with torch.cuda.stream(stream):
                for _ in range(3):  # warm up: allocations, library handles, optimiser state
                    self._advance()
                    self._position.zero_()
            torch.cuda.current_stream(device).wait_stream(stream)
            self.optimiser.zero_grad(set_to_none=True)
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._advance()
        self._restore(before)
        torch.cuda.set_rng_state(random, device)  # as if there had been no warm-up

    def _advance(self) -> None:
        rate = self._rates.index_select(0, self._position)[0]
        for group in self.optimiser.param_groups:
            group["lr"].copy_(rate)
        which = self._order.index_select(0, self._position)[0]
        self._total += self._step(which)
        self._position += 1

    def _state(self) -> dict[int, Tensor]:
        return {t.data_ptr(): t.detach().clone() for t in self._tensors()}

    def _tensors(self) -> list[Tensor]:
        states = self.optimiser.state.values()
        moments = [t for state in states for t in state.values() if isinstance(t, Tensor)]
        average = list(self.average.parameters()) if self.average else []
        scale = list(self.scale.buffers()) if self.scale else []
        return [*self.ensemble.parameters(), *self.ensemble.buffers(), *average, *moments, *scale]

    @torch.no_grad()
    def _restore(self, before: dict[int, Tensor]) -> None:
        """Undo the warm-up: moments that did not exist before were zero."""
        for tensor in self._tensors():
            if tensor.data_ptr() in before:
                tensor.copy_(before[tensor.data_ptr()])
            else:
                tensor.zero_()

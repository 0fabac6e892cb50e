"""Networks in training: all that an epoch changes, and the loop over epochs."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from symsets.data.labelled import SetDataset
from symsets.data.streaming import SetStream
from symsets.train.average import Average
from symsets.train.checkpoints import Checkpoint
from symsets.train.ensemble import Ensemble
from symsets.train.evaluation import Evaluation, evaluate
from symsets.train.fitted import Fitted
from symsets.train.metrics import Loss, Task
from symsets.train.plan import Plan
from symsets.train.step import CapturedSteps, EagerSteps, LossScale, autocast

if TYPE_CHECKING:
    from lightning.fabric import Fabric

Watch = Callable[[int, "list[Fitted]"], None]
"""Called after every validation with its epoch and what each seed has become."""

STATISTICS_BATCHES = 16
SEARCH_FROM = 20_000  # steps for which the search for fast convolutions pays


@dataclass(frozen=True)
class Setup:
    """What a training consists of, beside its networks.

    Attributes:
        seeds: Of the networks.
        plan: How to train.
        train: Training sets.
        val: Validation sets, if there are some.
        task: What to learn and what to measure.
        about: More that must be the same when the training goes on.
    """

    seeds: Sequence[int]
    plan: Plan
    train: SetDataset
    val: SetDataset | None
    task: Task
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def steps_per_epoch(self) -> int:
        """How many steps an epoch has; a loader with batches of its own decides that itself."""
        return self.train.num_steps or self.plan.steps_per_epoch(self.train.num_sets)


class Training:
    """Networks in training: all that an epoch changes, and the loop over epochs."""

    def __init__(
        self, fabric: Fabric, ensemble: Ensemble, setup: Setup, on_step: Callable[[], None]
    ) -> None:
        plan, val = setup.plan, setup.val
        self.fabric, self.setup, self.on_step = fabric, setup, on_step
        self.plan, self.seeds, self.task = plan, list(setup.seeds), setup.task
        self.train_sets = setup.train.to(fabric.device)
        self.val_sets = None if val is None else val.to(fabric.device)
        if fabric.world_size > 1 and fabric.device.type == "cuda":
            ensemble.synchronise_statistics()
        self.ensemble = ensemble.to(fabric.device)
        self.average = Average(self.ensemble, plan.average) if plan.average else None
        half = plan.precision == "float16"
        self.scale = LossScale(ensemble.size).to(fabric.device) if half else None
        self.optimiser = _adamw(ensemble, plan)
        self.steps = self._make_steps()
        self.fitted = [Fitted() for _ in self.seeds]
        self.next_epoch = 0

    @property
    def candidate(self) -> Ensemble:
        """What is validated and kept."""
        return self.average.ensemble if self.average else self.ensemble

    def run(self, checkpoint: Checkpoint | None, watch: Watch | None) -> None:
        """Train until the last epoch, or until all seeds have stopped."""
        self._try_task()
        for epoch in range(self.next_epoch, self.plan.epochs):
            if all(fitted.stopped for fitted in self.fitted):
                break
            self.train(epoch)
            if (epoch + 1) % self.plan.validate_every:
                continue
            self.validate(epoch)
            self._log()
            if watch:
                watch(epoch, self.fitted)
            self.next_epoch = epoch + 1
            if checkpoint and self.fabric.is_global_zero:
                checkpoint.save(self.state_dict)

    def _log(self) -> None:
        """Give the last rows of all curves to Lightning's loggers, if there are some."""
        for seed, fitted in zip(self.seeds, self.fitted, strict=True):
            if self.fabric.loggers:
                row = dict(fitted.curves[-1])
                first = f"seed-{seed}/" if len(self.seeds) > 1 else ""
                step = int(row.pop("epoch"))
                self.fabric.log_dict({f"{first}{name}": v for name, v in row.items()}, step)

    def _try_task(self) -> None:
        """Measure a set or two: a task that does not fit must not cost an epoch to be noticed."""
        sets = self.train_sets if self.val_sets is None else self.val_sets
        few = sets.first(min(2, sets.num_sets))
        evaluate(self.candidate, few, self.task, precision=self.plan.precision)

    def _can_be_captured(self) -> bool:
        """Whether steps can be a CUDA graph: batches are tensors of one shape, on one GPU."""
        if self.fabric.device.type != "cuda" or self.fabric.world_size > 1:
            return False
        if isinstance(self.train_sets, SetStream):
            return False
        first = torch.zeros(1, 1, dtype=torch.int64, device=self.fabric.device)
        return all(isinstance(part, Tensor) for part in self.train_sets.batch(first))

    def _loss_of_share(self) -> Loss:
        """Return a loss whose mean over all processes is that of the whole batch."""
        world, loss = self.fabric.world_size, self.task.loss
        batch = min(self.plan.batch_size, self.train_sets.num_sets)
        if batch < world:
            raise ValueError(f"batch_size must be {world} or more, one per process, got {batch}")
        share = len(range(self.fabric.global_rank, batch, world)) * world / batch
        return loss if share == 1 else lambda output, y: share * loss(output, y)

    def _make_steps(self) -> EagerSteps:
        alone = self.fabric.world_size == 1
        num_steps = self.plan.epochs * self.setup.steps_per_epoch
        return (CapturedSteps if self._can_be_captured() else EagerSteps)(
            self.ensemble,
            self.optimiser,
            self.train_sets,
            self.task.loss if alone else self._loss_of_share(),
            self.plan.precision,
            forward=None if alone else self.fabric.setup_module(self.ensemble),
            average=self.average,
            clip=self.plan.clip,
            scale=self.scale,
            search=num_steps >= SEARCH_FROM,
            on_step=self.on_step,
        )

    def _order(self, epoch: int) -> Tensor:
        """Return which sets each step of an epoch sees, ``(S, K, B)``."""
        size = self.train_sets.num_sets
        if self.train_sets.num_steps:
            return torch.zeros(self.setup.steps_per_epoch, len(self.seeds), 0, dtype=torch.int64)
        return torch.stack([self.plan.order(size, epoch, seed) for seed in self.seeds], dim=1)

    def train(self, epoch: int) -> None:
        """Take all steps of an epoch."""
        if epoch % self.plan.validate_every == 0:
            self._started = time.perf_counter()
            self._total = torch.zeros(len(self.seeds), device=self.fabric.device)
        world, rank = self.fabric.world_size, self.fabric.global_rank
        torch.manual_seed(1_000_003 * self.seeds[0] + epoch + 500_009 * rank)
        order = self._order(epoch)
        self.train_sets.set_epoch(epoch)
        rates = self.plan.rates(epoch, len(order))
        # Every process takes its share of every batch.
        self._total += self.steps.run(order[:, :, rank::world], rates)

    def validate(self, epoch: int) -> None:
        """Evaluate all members, and keep those that are better than before."""
        steps = self.plan.validate_every * self.setup.steps_per_epoch
        total: Any = self.fabric.all_reduce(self._total, reduce_op="mean")
        losses = (total / steps).tolist()  # the only wait for the device since the last time
        seconds = time.perf_counter() - self._started
        if self.fabric.world_size > 1:  # all processes must see, and decide, the same
            for buffer in self.ensemble.buffers():
                torch.distributed.broadcast(buffer, 0)
        if self.average:
            self._refresh(self.average, epoch)
        evaluations: Sequence[Evaluation | None] = [None] * len(self.fitted)
        if self.val_sets is not None:
            evaluations = evaluate(
                self.candidate,
                self.val_sets,
                self.task,
                precision=self.plan.precision,
                batch_size=self.plan.evaluation_batch,
            )
        for k, (fitted, found) in enumerate(zip(self.fitted, evaluations, strict=True)):
            if not fitted.stopped:
                row = {"epoch": epoch + 1, "train_loss": losses[k]}
                if found is not None:
                    row["val_loss"] = found.loss
                    row |= {f"val_{name}": found.mean(name) for name in found.values}
                row["learning_rate"] = self.plan.rates(epoch, 1).item()
                state = partial(self.candidate.member_state, k)
                fitted.add({**row, "seconds": seconds}, self.plan, self.task.metric, state)

    def _refresh(self, average: Average, epoch: int) -> None:
        """Give the averaged weights the buffers that belong to them, batch statistics above all."""
        torch.empty((), dtype=torch.int64).random_()  # as when the results in results/ were made
        which = self._order(epoch)[:STATISTICS_BATCHES].to(self.fabric.device)
        with autocast(self.plan.precision, self.fabric.device):
            average.refresh(x for x, _ in self.train_sets.batches(which))

    def _parts(self) -> dict[str, Any]:
        """Return everything with a state of its own."""
        parts = {
            "ensemble": self.ensemble,
            "average": self.average and self.average.ensemble,
            "scale": self.scale,
            "optimiser": self.optimiser,
        }
        return {name: part for name, part in parts.items() if part is not None}

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on."""
        return {
            **{name: part.state_dict() for name, part in self._parts().items()},
            "fitted": [vars(fitted) for fitted in self.fitted],
            "next_epoch": self.next_epoch,
            "settings": self._settings(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state; raise ValueError naming what differs if it is of another run."""
        before, now = state["settings"], self._settings()
        changed = [f"{k} {before.get(k)} → {v}" for k, v in now.items() if before.get(k) != v]
        if changed:
            raise ValueError(f"it is of another plan or other sets ({', '.join(changed)})")
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
        self.fitted = [Fitted(**fitted) for fitted in state["fitted"]]
        self.next_epoch = state["next_epoch"]

    def _settings(self) -> dict[str, Any]:
        """Return all that must be the same when a run goes on."""
        plan = asdict(self.plan)
        del plan["evaluation_batch"]  # decides no number
        metric, network = self.task.metric, self.ensemble.template
        return {
            **plan,
            **self.setup.about,
            "seeds": self.seeds,
            "training sets": self.train_sets.num_sets,
            "validation sets": 0 if self.val_sets is None else self.val_sets.num_sets,
            "metric": f"{metric.name} {'↑' if metric.larger_is_better else '↓'}",
            "network": f"{type(network).__name__} {zlib.crc32(str(network).encode()):08x}",
        }


def _adamw(ensemble: Ensemble, plan: Plan) -> torch.optim.Optimizer:
    parameters = list(ensemble.parameters())
    if not any(parameter.requires_grad for parameter in parameters):
        raise ValueError("net must have weights that may be trained, got none")
    device = parameters[0].device
    on_gpu = device.type == "cuda"
    rate = torch.tensor(plan.learning_rate, device=device) if on_gpu else plan.learning_rate
    return torch.optim.AdamW(
        parameters, lr=rate, weight_decay=plan.weight_decay, fused=on_gpu, capturable=on_gpu
    )

"""Fit an ensemble of networks with Lightning: validation, early stopping, resuming."""

from __future__ import annotations

import copy
import logging
import math
import os
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import lightning as L
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from symsets._checks import checked_device
from symsets.data.labelled import SetDataset
from symsets.sets import RaggedSets
from symsets.train.checkpoints import AtomicIO, Checkpoint
from symsets.train.ensemble import Ensemble
from symsets.train.evaluation import Evaluation, check_supply, evaluate
from symsets.train.metrics import Task
from symsets.train.plan import Plan
from symsets.train.processes import distributed_options
from symsets.train.scaling import LossScale
from symsets.train.statistics import refresh_statistics
from symsets.train.step import CapturedSteps, EagerSteps, autocast, matmul_precision

__all__ = ["Fitted", "Progress", "fit"]

Progress = Callable[[int, list[float]], None]
"""Called after every validation with its epoch and the metric of each seed."""

STATISTICS_BATCHES = 16
SEARCH_FROM = 20_000  # steps for which the search for fast convolutions pays


@dataclass
class Fitted:
    """What training left for one seed.

    Attributes:
        curves: One dictionary per validation.
        best: State of the network at its best epoch on validation.
        best_metric: Its validation metric; None if there was no such epoch.
        epochs: Number of epochs trained.
        failed: Whether the loss became NaN or infinite.
        seconds: Training time, shared by all seeds that were trained together.
        waited: Epochs since the best one.
        stopped: Whether training ended early, after ``patience`` epochs or because it failed.
    """

    curves: list[dict[str, float]] = field(default_factory=list)
    best: dict[str, Tensor] = field(default_factory=dict)
    best_metric: float | None = None
    epochs: int = 0
    failed: bool = False
    seconds: float = 0.0
    waited: int = 0
    stopped: bool = False


class _Fit(L.LightningModule):
    """The training loop: many steps per Lightning batch, one validation per epoch."""

    def __init__(
        self,
        ensemble: Ensemble,
        plan: Plan,
        seeds: Sequence[int],
        train: SetDataset,
        val: SetDataset,
        task: Task,
        progress: Progress | None,
    ) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.ensemble = ensemble
        self.average = copy.deepcopy(ensemble).requires_grad_(False) if plan.average else None
        self.scale = LossScale(ensemble.size) if plan.precision == "float16" else None
        self.plan = plan
        self.seeds = list(seeds)
        self.sets = {"train": train, "val": val}
        self.task = task
        self.progress = progress
        self.fitted = [Fitted() for _ in seeds]
        self._steps: EagerSteps | None = None

    @property
    def _num_steps(self) -> int:
        return self.plan.epochs * self.plan.steps_per_epoch(self.sets["train"].num_sets)

    @property
    def _can_be_captured(self) -> bool:
        """Whether all steps can be one CUDA graph: batches must have one shape."""
        if self.device.type != "cuda" or self.trainer.world_size > 1:
            return False
        x, y = self.sets["train"].part(0, 1)
        return isinstance(x, Tensor) and not isinstance(y, RaggedSets)

    @property
    def candidate(self) -> Ensemble:
        """What is validated and kept."""
        return self.average or self.ensemble

    def configure_optimizers(self) -> torch.optim.Optimizer:
        on_gpu = self.device.type == "cuda"
        rate = torch.tensor(self.plan.learning_rate, device=self.device)
        return torch.optim.AdamW(
            self.ensemble.parameters(),
            lr=rate if on_gpu else self.plan.learning_rate,
            weight_decay=self.plan.weight_decay,
            fused=on_gpu,
            capturable=on_gpu,
        )

    def setup(self, stage: str) -> None:
        if self.trainer.world_size > 1 and self.device.type == "cuda":
            self.ensemble.synchronise_statistics()
        self.sets = {name: sets.to(self.device) for name, sets in self.sets.items()}

    def on_fit_start(self) -> None:
        """Measure a set or two: a task that does not fit must not cost an epoch to be noticed."""
        few = self.sets["val"].first(min(2, self.sets["val"].num_sets))
        evaluate(self.candidate, few, self.task, precision=self.plan.precision)

    def train_dataloader(self) -> DataLoader[Any]:
        """Return the epoch's order in chunks ``(S, K, B)``, the rates beside them."""
        size, epoch = self.sets["train"].num_sets, self.current_epoch
        order = torch.stack([self.plan.order(size, epoch, seed) for seed in self.seeds], dim=1)
        rates = self.plan.rates(epoch, len(order))
        world, rank = self.trainer.world_size, self.trainer.global_rank
        order = order[:, :, rank::world]  # every process takes its share of every batch
        chunk = len(order) if self.device.type == "cuda" else -(-len(order) // 10)
        chunks = list(zip(order.split(chunk), rates.split(chunk), strict=True))
        return DataLoader(chunks, batch_size=None)  # type: ignore[arg-type]

    def val_dataloader(self) -> DataLoader[Any]:
        return DataLoader([0], batch_size=None)  # type: ignore[arg-type]

    def on_train_epoch_start(self) -> None:
        if self.current_epoch % self.plan.validate_every == 0:
            self._started = time.perf_counter()
            self._total = torch.zeros(len(self.seeds), device=self.device)
        if self._steps is None:
            captured = self._can_be_captured
            optimiser = self.optimizers().optimizer  # type: ignore[union-attr]
            options: dict[str, Any] = {
                "average": self.average,
                "keep": self.plan.average,
                "clip": self.plan.clip,
                "scale": self.scale,
                "search": self._num_steps >= SEARCH_FROM,
            }
            if not captured:
                options["backward"] = self.manual_backward
            self._steps = (CapturedSteps if captured else EagerSteps)(
                self.ensemble,
                optimiser,
                self.sets["train"],
                self.task.loss,
                self.plan.precision,
                **options,
            )

    def training_step(self, batch: tuple[Tensor, Tensor], index: int) -> None:
        assert self._steps is not None
        if index == 0:
            # Not when the epoch starts: Lightning makes its iterator, which draws a number, before
            # or after that, depending on whether it continues from a checkpoint.
            epoch, rank = self.current_epoch, self.trainer.global_rank
            torch.manual_seed(1_000_003 * self.seeds[0] + epoch + 500_009 * rank)
        order, rates = batch
        self._total += self._steps.run(order, rates)

    def validation_step(self, batch: Any, index: int) -> None:
        steps = self.plan.steps_per_epoch(self.sets["train"].num_sets)
        total = self.trainer.strategy.reduce(self._total, reduce_op="mean")
        steps *= self.plan.validate_every
        losses = (total / steps).tolist()  # the only wait for the device since the last time
        seconds = time.perf_counter() - self._started
        if self.average is not None:
            self._refresh(self.average)
        evaluations = evaluate(
            self.candidate,
            self.sets["val"],
            self.task,
            precision=self.plan.precision,
            batch_size=self.plan.evaluation_batch,
        )
        for k, fitted in enumerate(self.fitted):
            if not fitted.stopped:
                self._note(fitted, k, losses[k], evaluations[k], seconds)
        if self.progress:
            key = f"val_{self.task.metric.name}"
            self.progress(self.current_epoch, [f.curves[-1][key] for f in self.fitted])

    def _refresh(self, average: Ensemble) -> None:
        """Give the averaged weights the buffers that belong to them, batch statistics above all."""
        for mean, value in zip(average.buffers(), self.ensemble.buffers(), strict=True):
            mean.copy_(value)
        train, size = self.sets["train"], self.sets["train"].num_sets
        orders = [self.plan.order(size, self.current_epoch, seed) for seed in self.seeds]
        which = torch.stack(orders, dim=1)[:STATISTICS_BATCHES].to(self.device)
        with autocast(self.plan.precision, self.device):
            refresh_statistics(average, (train.batch(batch)[0] for batch in which))

    def _note(
        self, fitted: Fitted, k: int, train_loss: float, found: Evaluation, seconds: float
    ) -> None:
        metric = found.mean(self.task.metric.name)
        fitted.curves.append(
            {
                "epoch": self.current_epoch + 1,
                "train_loss": train_loss,
                "val_loss": found.loss,
                **{f"val_{name}": found.mean(name) for name in found.values},
                "learning_rate": self.plan.rates(self.current_epoch, 1).item(),
                "seconds": seconds,
            }
        )
        fitted.epochs = self.current_epoch + 1
        fitted.seconds += seconds
        fitted.waited += self.plan.validate_every
        if not math.isfinite(train_loss):
            fitted.failed = fitted.stopped = True
        elif self.task.metric.is_better(metric, fitted.best_metric):
            fitted.best_metric, fitted.waited = metric, 0
            fitted.best = self.candidate.member_state(k)
        elif fitted.waited >= self.plan.patience:
            fitted.stopped = True

    def on_train_epoch_end(self) -> None:
        if all(fitted.stopped for fitted in self.fitted):
            self.trainer.should_stop = True

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["fitted"] = [vars(fitted) for fitted in self.fitted]
        checkpoint["settings"] = self._settings()

    def _settings(self) -> dict[str, Any]:
        """Return all that must be the same when a run goes on."""
        plan = asdict(self.plan)
        del plan["evaluation_batch"]  # decides no number
        metric, network = self.task.metric, self.ensemble.template
        return {
            **plan,
            "seeds": self.seeds,
            "training sets": self.sets["train"].num_sets,
            "validation sets": self.sets["val"].num_sets,
            "metric": f"{metric.name} {'↑' if metric.larger_is_better else '↓'}",
            "network": f"{type(network).__name__} {zlib.crc32(str(network).encode()):08x}",
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        before, now = checkpoint.get("settings", {}), self._settings()
        changed = [f"{k} {before.get(k)} → {v}" for k, v in now.items() if before.get(k) != v]
        if changed:
            raise ValueError(
                "checkpoint must be of the same plan, seeds, sets and network, got one of others "
                f"({', '.join(changed)}): delete it to start this run anew"
            )
        self.fitted = [Fitted(**state) for state in checkpoint["fitted"]]


def fit(
    networks: Sequence[nn.Module],
    seeds: Sequence[int],
    plan: Plan,
    train: SetDataset,
    val: SetDataset,
    task: Task,
    *,
    device: str = "cpu",
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> list[Fitted]:
    """Train networks together, each with its own seed, and return what each became.

    The networks given, and torch's random numbers, are left as they were.

    Args:
        networks: One per seed, of one architecture, freshly initialised.
        seeds: Decide the order of the training sets.
        plan: How to train.
        train: Training sets. On a GPU, steps on sets of one size are captured as a CUDA graph.
        val: Validation sets, for early stopping and for choosing the epoch to keep.
        task: What to learn and what to measure.
        device: Where to train; several processes take one GPU each.
        checkpoint: A file to continue from, and to write after validations.
        progress: Called after each validation with its epoch, counted from 0, and the metric of
            each seed.
        options: For Lightning's ``Trainer``: ``strategy``, ``devices``, ``num_nodes``, …; under
            ``torchrun`` or SLURM they are found by themselves.
    """
    if isinstance(networks, nn.Module):
        raise TypeError(f"networks must be a list, as in [net], got one {type(networks).__name__}")
    for name, sets in (("train", train), ("val", val)):
        check_supply(sets, name)
    for name, value, kind in (("plan", plan, Plan), ("task", task, Task)):
        if not isinstance(value, kind):
            raise TypeError(f"{name} must be a {kind.__name__}, got {type(value).__name__}")
    if not isinstance(seeds, Sequence):
        raise TypeError(f"seeds must be a list, one per network, as in [0], got {seeds!r}")
    if len(networks) != len(seeds):
        raise ValueError(f"seeds must be {len(networks)}, one per network, got {len(seeds)}")
    target = torch.device(device)
    if target.type == "cuda":
        checked_device(str(target))
    path = Path(checkpoint) if checkpoint else None
    module = _Fit(Ensemble(networks), plan, seeds, train, val, task, progress)
    if plan.precision == "float64":
        module.double()
    options = distributed_options() | options
    with _quiet(), matmul_precision(plan.precision):
        trainer = L.Trainer(
            accelerator="gpu" if target.type == "cuda" else target.type,
            devices=options.pop("devices", [target.index or 0] if target.type == "cuda" else 1),
            max_epochs=plan.epochs,
            callbacks=[Checkpoint(path, plan.validate_every)] if path else [],
            check_val_every_n_epoch=plan.validate_every,
            plugins=[AtomicIO()],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            reload_dataloaders_every_n_epochs=1,
            use_distributed_sampler=False,
            **options,
        )
        resume = path if path and path.exists() else None
        alone = target.type == "cuda" and trainer.world_size == 1
        gpus = [target.index or 0] if alone else []  # processes have GPUs of their own
        try:
            with torch.random.fork_rng(gpus):
                trainer.fit(module, ckpt_path=resume)
        except SystemExit as error:
            # Lightning leaves the program when somebody interrupts it; that is for the caller.
            raise KeyboardInterrupt from error
    return module.fitted


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Lightning's advice, which is about loaders from disk, from the user."""
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    logger.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="lightning")
        try:
            yield
        finally:
            logger.setLevel(level)

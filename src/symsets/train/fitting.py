"""Train networks together, with validation, early stopping, resuming."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from symsets._checks import check_kind, checked_device, shown
from symsets._extras import require
from symsets.data.labelled import SetDataset
from symsets.train.checkpoints import Checkpoint
from symsets.train.ensemble import Ensemble
from symsets.train.evaluation import check_supply
from symsets.train.fitted import Fitted
from symsets.train.metrics import Task
from symsets.train.plan import Plan
from symsets.train.processes import distributed_options, leave_at_exit
from symsets.train.step import matmul_precision
from symsets.train.training import Setup, Training, Watch

Progress = Callable[[int, list[float]], None]
"""Called after every validation with its epoch and the metric of each seed."""


def fit_together(
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
        options: For Lightning's ``Fabric``: ``strategy``, ``devices``, ``num_nodes``, …; under
            ``torchrun`` or SLURM they are found by themselves.
    """
    if isinstance(networks, nn.Module) or not isinstance(networks, Sequence):
        raise TypeError(f"networks must be a list, as in [net], got one {type(networks).__name__}")
    for name, sets in (("train", train), ("val", val)):
        check_supply(sets, name)
    check_kind("plan", plan, Plan)
    check_kind("task", task, Task)
    if not isinstance(seeds, Sequence) or len(networks) != len(seeds):
        raise ValueError(f"seeds must be a list, one per network, as in [0], got {shown(seeds)}")

    def watch(epoch: int, fitted: list[Fitted]) -> None:
        if progress:
            progress(epoch, [one.curves[-1][f"val_{task.metric.name}"] for one in fitted])

    saved = Checkpoint(Path(checkpoint)) if checkpoint else None
    setup = Setup(seeds, plan, train, val, task)
    return train_networks(networks, setup, device=device, checkpoint=saved, watch=watch, **options)


def train_networks(
    networks: Sequence[nn.Module],
    setup: Setup,
    *,
    device: str,
    checkpoint: Checkpoint | None,
    watch: Watch | None = None,
    on_start: Callable[[int], None] = lambda epoch: None,
    on_step: Callable[[], None] = lambda: None,
    keep: bool = False,
    dry_run: bool = False,
    **options: Any,
) -> list[Fitted]:
    """Train networks together, as :func:`fit_together` says.

    With ``keep`` the checkpoint holds the last epoch at the end, so that the same call returns the
    same at once. ``dry_run`` stops before the first step, when everything has been checked.
    """
    target = checked_device(str(device))
    on_gpu = target.type == "cuda"
    ensemble, plan = Ensemble(networks), setup.plan
    if plan.precision == "float64":
        ensemble.double()
    devices = [target.index or 0] if on_gpu else 1
    options = {"devices": devices, **distributed_options(), **options}
    with _quiet(), matmul_precision(plan.precision):
        lightning = require("lightning.fabric", "experiments")
        fabric = lightning.Fabric(accelerator=target.type, **options)
        # Where processes have GPUs of their own, only the numbers of the CPU are restored.
        with torch.random.fork_rng(devices if on_gpu and fabric.world_size == 1 else []):
            fabric.launch()
            leave_at_exit()
            training = Training(fabric, ensemble, setup, on_step)
            if checkpoint:
                checkpoint.load(fabric.device, training.load_state_dict)
            fabric.barrier()  # nobody saves before all have loaded
            if dry_run:
                return []
            on_start(training.next_epoch)
            training.run(checkpoint, watch)
            for logger in fabric.loggers:
                logger.finalize("success")
            if keep and checkpoint and fabric.is_global_zero:
                checkpoint.save(training.state_dict, always=True)
    return training.fitted


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence what Lightning logs and warns of."""
    loggers = [logging.getLogger(f"lightning.{name}") for name in ("fabric", "pytorch")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="lightning")
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)

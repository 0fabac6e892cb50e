"""Fit a network to sets: the front door of training."""

from __future__ import annotations

import inspect
import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from symsets._checks import as_path, check_kind, positive, shown
from symsets._files import check_place, write_csv
from symsets.data.streaming import LoadedSets
from symsets.describing import describe
from symsets.models.card import Card
from symsets.nn._maps import twin
from symsets.saving import save, write_weights
from symsets.train.checkpoints import Checkpoint
from symsets.train.fitted import Fitted
from symsets.train.fitting import train_networks
from symsets.train.inputs import as_sets, check_workers, chosen_device, content_code
from symsets.train.metrics import Loss, Metric, Task
from symsets.train.plan import Plan
from symsets.train.processes import distributed_options, is_first
from symsets.train.progress import TrainingProgress
from symsets.train.tasks import what_is_learnt
from symsets.train.training import Setup

CHECKPOINT, HISTORY = "last.ckpt", "history.csv"


def fit(
    net: nn.Module,
    train: Any,
    val: Any = None,
    *,
    task: str | Task | None = None,
    loss: Loss | None = None,
    metrics: Metric | Sequence[Metric] | None = None,
    epochs: int = 30,
    batch_size: int | None = None,
    learning_rate: float = 1e-3,
    weight_decay: float = 0.01,
    plan: Plan | None = None,
    out: str | os.PathLike[str] | None = None,
    seeds: int = 1,
    seed: int = 0,
    device: str = "auto",
    devices: int | str | Sequence[int] = 1,
    num_nodes: int = 1,
    strategy: str = "auto",
    precision: str = "float32",
    loggers: Any = (),
    patience: int | None = None,
    keep: str = "metric",
    class_weights: str | Sequence[float] | None = None,
    workers: int | None = None,
    progress: bool = True,
    dry_run: bool = False,
) -> Any:
    """Train a network on sets with targets, and return it.

    The network itself is trained, all of it in training mode. At the end it has the weights of the
    epoch that was best on validation, is in evaluation mode, and has two more attributes:
    ``history``, a dictionary for each epoch, and ``card``, the :class:`~symsets.models.Card` that
    :func:`~symsets.train.predict` and :func:`symsets.save` read. Without validation sets it trains
    on all sets and keeps the weights of the last epoch.

    Sets in memory on one GPU take steps that are captured as a CUDA graph. Datasets are read by
    workers while the network trains; a ``DataLoader`` is read as it is.

    Args:
        net: Any network that maps sets to what the task needs.
        train: A ``SetFolder``, a ``Dataset`` or ``DataLoader`` of pairs (set, target),
            :class:`~symsets.data.LabelledSets`, or a pair of tensors ``(x, y)``, where ``x`` may be
            :class:`~symsets.RaggedSets`.
        val: The same for validation.
        task: ``"classify"``, ``"labels"``, ``"regress"``, ``"select"``, ``"score"`` or ``"merge"``;
            or a :class:`Task` with loss and metrics. Found from targets and outputs if left out.
        loss: A function of outputs and targets, a mean over sets. If left out: cross entropy to
            classify and select, binary cross entropy for labels, squares of standardised targets
            for numbers (the network then speaks in standard units, and ``predict`` undoes that),
            and absolute differences to merge.
        metrics: What to report; the first chooses the epoch to keep. If left out: accuracy, mean
            absolute error, or psnr for pictures.
        epochs: Passes over the training sets; the last sets of a pass that do not fill a step wait
            for another pass, which has another order.
        batch_size: Sets in a step; 32 if left out, fewer if there are fewer than 512 sets. A
            ``DataLoader`` has its own.
        learning_rate: The largest one; it rises shortly, then follows a cosine down to zero.
        weight_decay: Of AdamW.
        plan: All settings at once, in place of ``epochs``, ``batch_size``, ``learning_rate``,
            ``weight_decay``, ``precision``, ``patience`` and ``keep``.
        out: A folder for checkpoints, ``history.csv`` and the network. The same call continues
            there after a kill, and ends with the same numbers.
        seeds: How many networks to train together: ``net``, and freshly initialised copies of it.
            With more than one, a list is returned.
        seed: Decides the order of the sets; that of copy k is ``seed + k``.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, ``"cuda:1"``, …
        devices: How many, for several processes; as Lightning's ``Fabric`` takes them.
        num_nodes: Machines.
        strategy: Of several processes, such as ``"ddp"``.
        precision: ``"float32"``, ``"tf32"``, ``"bfloat16"``, ``"float16"`` or ``"float64"``.
        loggers: Of Lightning: ``TensorBoardLogger``, ``CSVLogger``, ``WandbLogger``, …
        patience: Stop after so many epochs without a better one on ``val``; never if left out.
        keep: What chooses the epoch to keep: ``"metric"``, the first one, or the validation
            ``"loss"``, which tells more where there are few validation sets.
        class_weights: ``"balanced"`` weighs rare classes up; or one number per class.
        workers: Processes that read a dataset. As many as there are cores, up to 4, if left out;
            none where processes cannot be forked, or where a ``SetFolder`` has a cache.
        progress: Whether to show a bar, or a few lines where there is no terminal.
        dry_run: Check everything, also whether a training in ``out`` can go on, and return without
            having trained.

    Example:
        >>> from symsets import DSS, Sequential
        >>> from symsets.nn import Classify
        >>> x = torch.randn(200, 5, 3)
        >>> y = (x[..., 0].amax(1) > 1).long()
        >>> net = Sequential(DSS(nn.Linear(3, 16), pool="max"), nn.ReLU(), Classify(16, 2))
        >>> net = fit(net, (x, y), epochs=3, progress=False)
        >>> len(net.history), net.card.task, net.training
        (3, 'classify', False)
    """
    check_kind("net", net, nn.Module, "network")
    positive("seeds", seeds)
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be 0 or a positive integer, got {shown(seed)}")
    seed = int(seed)
    check_workers(workers)
    device = chosen_device(device)
    dtype = torch.float64 if "float64" in (precision, getattr(plan, "precision", "")) else None
    kinds = {p.dtype for p in net.parameters() if p.is_floating_point()}
    if dtype is None and len(kinds) == 1 and (kind := kinds.pop()) != torch.float32:
        other = ', or precision="float64"' if kind == torch.float64 else ""
        raise ValueError(f"net must have weights in float32, got {kind}: pass net.float(){other}")
    read = partial(as_sets, workers=workers, seed=seed, dtype=dtype or torch.float32)
    train_sets, val_sets = read("train", train), None if val is None else read("val", val)
    given: dict[str, Any] = {
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "weight_decay": weight_decay,
        "precision": precision,
        "keep": keep,
    }
    plan = _plan(plan, given, patience, train_sets.num_sets)
    if val is None and (unused := _differing({"patience": patience, "keep": keep})):
        raise ValueError(f"{next(iter(unused))} must be left out without val, which it goes by")
    several = devices != 1 or num_nodes != 1 or distributed_options()
    if several and any(isinstance(own, LoadedSets) for own in (train_sets, val_sets)):
        raise ValueError("train and val must be no DataLoaders where processes share the work")
    wanted: dict[str, Any] = {"loss": loss, "metrics": metrics, "class_weights": class_weights}
    learnt, card = what_is_learnt(net, train_sets, val_sets, task, **wanted)
    folder = None if out is None else _run_folder(out, net)
    if folder and not dry_run:
        folder.mkdir(parents=True, exist_ok=True)
    copies = _copies(net, seeds, seed)
    about: dict[str, Any] = {"task": card and card.task, "target": card and card.target}
    about["class weights"] = class_weights if class_weights is None else str(class_weights)
    own_loss: Any = task.loss if isinstance(task, Task) else loss
    if own_loss is not None:
        own_loss = getattr(own_loss, "__qualname__", type(own_loss).__name__)
    about["loss"] = own_loss
    if folder:
        codes = [content_code(own) for own in (train_sets, val_sets) if own is not None]
        about["content of the sets"] = " ".join(codes)
    options = _differing({"devices": devices, "num_nodes": num_nodes, "strategy": strategy})
    if loggers:
        options["loggers"] = loggers if isinstance(loggers, list | tuple) else [loggers]
        if not all(hasattr(logger, "log_metrics") for logger in options["loggers"]):
            raise TypeError(f"loggers must be loggers of Lightning, got {shown(loggers)}")
    setup = Setup(range(seed, seed + seeds), plan, train_sets, val_sets, learnt, about)
    metric = None if val_sets is None else learnt.metric.name
    bar = TrainingProgress(plan.epochs, setup.steps_per_epoch, metric, shown=progress)

    def watch(epoch: int, fitted: list[Fitted]) -> None:
        bar.epoch(epoch, fitted)
        if folder and is_first():
            write_csv(folder / HISTORY, _history(fitted, seed))

    with bar:
        found = train_networks(
            copies,
            setup,
            device=device,
            checkpoint=Checkpoint(folder / CHECKPOINT) if folder else None,
            watch=watch,
            on_start=bar.start,
            on_step=bar.step,
            keep=True,
            dry_run=dry_run,
            **options,
        )
    for k, (own, fitted) in enumerate(zip(copies, found, strict=not dry_run)):
        _finish(own.to(dtype) if dtype else own, fitted, card)
        if folder and is_first():
            _save_network(own, folder / f"seed-{seed + k}" if seeds > 1 else folder)
    return copies if seeds > 1 else net


def _plan(plan: Plan | None, given: dict[str, Any], patience: int | None, num_sets: int) -> Plan:
    if plan is None:
        if given["batch_size"] is None:  # an epoch of a few steps would learn little
            given["batch_size"] = min(32, max(4, num_sets // 16))
        own: dict[str, Any] = {} if patience is None else {"patience": patience}
        return Plan(**given, **own, evaluation_batch=given["batch_size"])
    check_kind("plan", plan, Plan)
    if twice := _differing({**given, "patience": patience}):
        raise ValueError(f"{next(iter(twice))} must be left out where plan says it, got both")
    return plan


def _differing(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of :func:`fit` that were given."""
    usual = inspect.signature(fit).parameters
    return {name: value for name, value in given.items() if value != usual[name].default}


def _copies(net: nn.Module, seeds: int, seed: int) -> list[nn.Module]:
    """Return a network and freshly initialised copies of it."""
    copies = [net]
    for k in range(1, seeds):
        with torch.random.fork_rng([]):
            torch.manual_seed(seed + k)
            copies.append(twin(net, instead="networks to fit_together"))
        for parameter, like in zip(copies[-1].parameters(), net.parameters(), strict=True):
            parameter.requires_grad = like.requires_grad
    return copies


def _run_folder(out: str | os.PathLike[str], net: nn.Module) -> Path:
    """Return the folder of a training; warn if the network can be kept by its weights only."""
    folder = as_path("out", out)
    check_place("out", folder)
    try:
        describe(net)
    except (ValueError, TypeError) as error:
        warnings.warn(f"only weights will be saved in {folder}: {error}", stacklevel=3)
    return folder


def _save_network(net: nn.Module, folder: Path) -> None:
    """Save a network, or its weights if it cannot be described."""
    try:
        save(net, folder)
    except (ValueError, TypeError):  # of which a warning told
        folder.mkdir(exist_ok=True)
        write_weights(folder, net.state_dict())


def _history(found: Sequence[Fitted], seed: int) -> list[dict[str, float]]:
    """Return a row for each epoch and seed."""
    several = len(found) > 1
    return [
        {"seed": seed + k, **row} if several else row
        for k, fitted in enumerate(found)
        for row in fitted.curves
    ]


def _finish(net: nn.Module, fitted: Fitted, card: Card | None) -> None:
    """Give a network its best weights, its history and its card."""
    why = f"a loss, or the metric, was no finite number in epoch {fitted.epochs}"
    if not fitted.best:
        raise RuntimeError(f"training failed: {why}; look for such numbers in the sets")
    if fitted.failed:
        warnings.warn(f"{why}: the best weights before that are kept", stacklevel=3)
    net.load_state_dict(fitted.best)
    net.eval()
    history: Any = fitted.curves
    net.history = history
    made: Any = card and replace(card, metrics=_best_metrics(fitted))
    net.card = made


def _best_metrics(fitted: Fitted) -> dict[str, float]:
    """Return what validation found in the epoch that was kept."""
    first = "val_"
    rows = [row for row in fitted.curves if row["epoch"] == fitted.epochs - fitted.waited]
    kept = rows[0] if rows and fitted.best_metric is not None else {}
    found = {name[len(first) :]: v for name, v in kept.items() if name.startswith(first)}
    return {name: value for name, value in found.items() if math.isfinite(value)}

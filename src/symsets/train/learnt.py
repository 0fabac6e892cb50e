"""What a network learns from its sets: the task, its loss, its metrics, and the card for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, nn

from symsets._checks import check_choice
from symsets.data.labelled import SetDataset
from symsets.models.card import TASKS, Card
from symsets.train.defaults import Constant, Scale, task_loss, task_metrics
from symsets.train.inputs import all_targets, first_batch, listed_targets, source_of
from symsets.train.metrics import Loss, Metric, Task
from symsets.train.tasks import (
    card_of,
    check_labels,
    check_outputs,
    class_weights_of,
    find_task,
    output_of,
    scale_of,
)


@dataclass(frozen=True)
class Wanted:
    """What a caller says about the task.

    Attributes:
        task: Its name, or all of it; None if it is to be found.
        loss: In place of the task's own.
        metrics: In place of the task's own.
        class_weights: As :func:`~symsets.train.fit` takes them.
    """

    task: str | Task | None
    loss: Loss | None
    metrics: Any
    class_weights: Any

    def __post_init__(self) -> None:
        for name in ("loss", "metrics", "class_weights"):
            if getattr(self, name) is not None and isinstance(self.task, Task):
                raise ValueError(f"{name} must be left out where task is a Task, got both")
        if self.loss is not None and self.class_weights is not None:
            raise ValueError("class_weights must be left out with a loss of your own, got both")


def what_is_learnt(
    net: nn.Module, train: SetDataset, val: SetDataset | None, wanted: Wanted
) -> tuple[Task, Card | None]:
    """Return what is learnt, and the card that says so, after a look at the first sets."""
    x, y = first_batch("train", train)
    own = getattr(source_of(train), "card", None)
    if isinstance(wanted.task, Task):
        return wanted.task, _card_if_clear(net, x, y, own)
    if wanted.task is not None:
        check_choice("task", wanted.task, TASKS)
    name = wanted.task or getattr(own, "task", None) or find_task(net, x, y)
    output = output_of(net, x)
    card = card_of(name, x, own if isinstance(own, Card) else _earlier_card(net, name, output))
    _check_data(name, net, (x, output, y), train, val, wanted, card)
    scale: Scale | None = None
    if name in ("regress", "score") and wanted.loss is None:
        scale = scale_of(name, all_targets(train))
        card = replace(card, target=scale.to_dict())
    weights: Constant | None = None
    if wanted.class_weights is not None:
        num = output.shape[-1]
        weights = class_weights_of(name, wanted.class_weights, all_targets(train), num)
    loss, metrics = wanted.loss, _own_metrics(wanted.metrics, scale)
    if loss is None:
        loss = task_loss(name, weights=weights, scale=scale)
    if metrics is None:
        metrics = task_metrics(name, card.kind, scale)
    return Task(loss, metrics, keep_outputs=False), card


def _earlier_card(net: nn.Module, task: str, output: Any) -> Card | None:
    """Return the card of a network that was trained before, if it still fits."""
    card = getattr(net, "card", None)
    if not isinstance(card, Card) or card.task != task:
        return None
    fits = not card.classes or (
        isinstance(output, Tensor) and output.shape[-1] == len(card.classes)
    )
    return card if fits else None


def _card_if_clear(net: nn.Module, x: Any, y: Any, own: Any) -> Card | None:
    """Return the card for a task of one's own, if targets tell what it is."""
    try:
        return card_of(getattr(own, "task", None) or find_task(net, x, y), x, own)
    except (ValueError, TypeError):
        return None


def _check_data(
    name: str,
    net: nn.Module,
    first: tuple[Any, Any, Any],
    train: SetDataset,
    val: SetDataset | None,
    wanted: Wanted,
    card: Card,
) -> None:
    """Raise ValueError before training starts if network, sets and task do not fit."""
    if wanted.loss is not None:
        return  # which knows best what it takes
    check_outputs(name, *first, card.classes)
    if val is not None:
        x, target = first_batch("val", val)
        check_outputs(name, x, output_of(net, x), target, card.classes)
    for which, sets in (("train", train), ("val", val)):
        known = None if sets is None else listed_targets(sets)
        if name == "classify" and known is not None:
            check_labels(which, known, first[1].shape[1])


def _own_metrics(metrics: Any, scale: Scale | None) -> Any:
    """Return metrics of one's own, which see outputs in the units of the targets."""

    def in_units(metric: Any) -> Any:
        if scale is None or not isinstance(metric, Metric):
            return metric
        return replace(metric, function=lambda out, y: metric.function(scale.undo(out), y))

    given = (metrics,) if isinstance(metrics, Metric) else metrics
    return tuple(map(in_units, given)) if isinstance(given, Sequence) else given

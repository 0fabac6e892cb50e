"""What a network learns from its sets: the task, its loss and metrics, and the card for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from symsets._checks import check_choice, check_number, shown
from symsets._modes import evaluating
from symsets.data.labelled import SetDataset
from symsets.models.card import TASKS, Card
from symsets.sets import RaggedSets, Sets
from symsets.train.defaults import Constant, Scale, matched, task_loss, task_metrics
from symsets.train.inputs import all_targets, first_batch, listed_targets, source_of
from symsets.train.metrics import Loss, Metric, Task

LOOKED_AT = 256  # sets whose targets tell labels from numbers, where a dataset lists none
KINDS = {2: "vectors", 3: "vectors", 4: "signals"}  # by the axes of a batch of sets


def what_is_learnt(
    net: nn.Module,
    train: SetDataset,
    val: SetDataset | None,
    task: str | Task | None,
    *,
    loss: Loss | None,
    metrics: Any,
    class_weights: Any,
) -> tuple[Task, Card | None]:
    """Return what is learnt, and the card that says so, after a look at the first sets.

    Arguments are those of :func:`~symsets.train.fit`. Raise ValueError before training starts if
    network, sets and task do not fit.
    """
    given = {"loss": loss, "metrics": metrics, "class_weights": class_weights}
    if isinstance(task, Task) and (both := [name for name, v in given.items() if v is not None]):
        raise ValueError(f"{both[0]} must be left out where task is a Task, got both")
    if loss is not None and class_weights is not None:
        raise ValueError("class_weights must be left out with a loss of your own, got both")
    x, y = first_batch("train", train)
    own = getattr(source_of(train), "card", None)
    if isinstance(task, Task):
        return task, _card_if_clear(net, x, y, train, own)
    if task is not None:
        check_choice("task", task, TASKS)
    name = task or getattr(own, "task", None) or _find_task(net, x, y, train)
    output = output_of(net, x)
    card = _card_of(name, x, own if isinstance(own, Card) else _earlier_card(net, name, output))
    if loss is None:  # one of their own knows best what it takes
        _check_outputs(name, x, output, y, card.classes)
        if val is not None:
            val_x, val_y = first_batch("val", val)
            _check_outputs(name, val_x, output_of(net, val_x), val_y, card.classes)
        for which, sets in (("train", train), ("val", val)):
            known = None if sets is None else listed_targets(sets)
            if known is not None:
                _check_targets(which, name, known, output)
    scale = weights = None
    if name in ("regress", "score") and loss is None:
        targets: Any = all_targets(train)
        _check_targets("train", name, targets, output)
        rows = targets.elements if isinstance(targets, RaggedSets) else targets
        one = name == "score" or rows.ndim != 2  # a scale for all numbers, not for each column
        scale = Scale.of(rows.reshape(-1, 1) if one else rows)
        card = replace(card, target=scale.to_dict())
    if class_weights is not None:
        weights = _class_weights(name, class_weights, all_targets(train), output.shape[-1])
    if loss is None:
        loss = task_loss(name, weights=weights, scale=scale)
    found = _own_metrics(metrics, scale)
    if found is None:
        found = task_metrics(name, card.kind, scale)
    return Task(loss, found, keep_outputs=False), card


def _own_metrics(metrics: Any, scale: Scale | None) -> Any:
    """Return metrics of one's own, which see outputs in the units of the targets."""

    def in_units(metric: Any) -> Any:
        if scale is None or not isinstance(metric, Metric):
            return metric
        return replace(metric, function=lambda out, y: metric.function(scale.undo(out), y))

    given = (metrics,) if isinstance(metrics, Metric) else metrics
    return tuple(map(in_units, given)) if isinstance(given, Sequence) else given


def cast(net: nn.Module, x: Any) -> Any:
    """Return sets on the device, and in the type, of a network's weights."""
    like = next((p for p in net.parameters() if p.is_floating_point()), torch.zeros(()))
    if not hasattr(x, "dtype"):
        return x.to(like.device)
    return x.to(like.device, like.dtype) if x.dtype.is_floating_point else x.to(like.device)


@torch.no_grad()
def output_of(net: nn.Module, x: Any) -> Any:
    """Return what a network says about some sets, on the CPU."""
    with evaluating(net):
        output = net(cast(net, x))
    if not isinstance(output, Tensor | RaggedSets):
        raise TypeError(f"net must return a tensor or sets, got {type(output).__name__}")
    return output.cpu()


def _kind_of_elements(x: Any) -> str:
    """Return the kind of elements, as a card names it."""
    if not isinstance(x, Tensor | RaggedSets) or hasattr(x, "edge_index"):
        return "graphs"
    if isinstance(x, RaggedSets) and isinstance(x.elements, RaggedSets):
        return "clouds"
    return KINDS.get(x.ndim if isinstance(x, Tensor) else x.elements.ndim + 1, "pictures")


def _find_task(net: nn.Module, x: Sets, y: Any, train: SetDataset) -> str:
    """Return the task that targets ``y`` of sets ``x``, the first ones of all, belong to.

    Raise ValueError asking for ``task=`` if that cannot be told.
    """
    output = output_of(net, x)
    per_element = _follows_elements(net, x, output)
    if isinstance(y, RaggedSets):
        whole = not y.dtype.is_floating_point
        task = "" if whole or not per_element else "score"
    elif not isinstance(y, Tensor):
        task = ""
    elif y.ndim == 1 and not y.is_floating_point():
        task = "select" if per_element else "classify"
    elif y.ndim > 2:
        task = "merge"
    elif per_element and y.is_floating_point():
        task = "score"
    elif y.ndim == 2 and _are_binary(y) and _are_binary(all_targets(train, LOOKED_AT)):
        task = "labels"
    else:
        task = "regress" if y.is_floating_point() else ""
    if not task:
        raise ValueError(f"task must be one of {list(TASKS)} for targets {shown(y)}")
    return task


def _are_binary(y: Any) -> bool:
    return isinstance(y, Tensor) and bool(((y == 0) | (y == 1)).all())


def _follows_elements(net: nn.Module, x: Sets, output: Sets) -> bool:
    """Whether a network gives one number per element: more of them for sets twice as large."""
    if isinstance(output, RaggedSets):
        return output.ndim == 2
    if not isinstance(x, Tensor) or output.ndim != 2 or output.shape[1] != x.shape[1]:
        return False
    try:
        return output_of(net, torch.cat([x, x], 1)).shape[1] == 2 * x.shape[1]
    except (ValueError, TypeError, RuntimeError):  # it takes sets of one size only
        return False


def _check_outputs(task: str, x: Any, output: Any, y: Any, classes: Sequence[str]) -> None:
    """Raise ValueError unless a network returns what a task needs."""
    shape = tuple(output.shape) if isinstance(output, Tensor) else output
    if task == "classify":
        if not isinstance(output, Tensor) or output.ndim != 2:
            raise ValueError(f"net must return scores (B, classes) to classify, got {shape}")
        if classes and output.shape[1] != len(classes):
            raise ValueError(f"net must return {len(classes)} scores, got {output.shape[1]}")
    elif task == "select":
        if output.ndim != 2 or (isinstance(x, Tensor) and output.shape != x.shape[:2]):
            raise ValueError(f"net must return one score per element to select one, got {shape}")
    else:
        matched(output, y)
    if task in ("classify", "select") and (
        not isinstance(y, Tensor) or y.ndim != 1 or y.is_floating_point()
    ):
        raise ValueError(f"targets must be one integer per set to {task}, got {shown(y)}")


def _check_targets(name: str, task: str, targets: Any, output: Any) -> None:
    """Raise ValueError unless targets are numbers that a task can learn."""
    values = targets.elements if isinstance(targets, RaggedSets) else targets
    if not values.numel():
        return
    low, high = values.min().item(), values.max().item()
    wrong = low if low < 0 else high
    if task == "classify" and not 0 <= low <= high < output.shape[1]:
        raise ValueError(f"{name} must have labels from 0 to {output.shape[1] - 1}, got {wrong}")
    if task == "labels" and not 0 <= low <= high <= 1:
        raise ValueError(f'{name} must have labels of 0 and 1, got {wrong}, or task="regress"')
    if not (math.isfinite(low) and math.isfinite(high)):  # a NaN anywhere makes both NaN
        raise ValueError(f"{name} must have finite targets, got {max(low, high, key=abs)}")


def _class_weights(task: str, given: Any, targets: Any, num: int) -> Constant:
    """Return the weight of each of ``num`` classes, or of the labels that are there.

    ``"balanced"`` weighs all classes alike together, however rare: M / (C n_c).
    """
    check_choice("task with class_weights", task, ("classify", "labels"))
    if isinstance(given, str):
        check_choice("class_weights", given, ("balanced",))
        if task == "classify":
            counts = torch.bincount(targets.long(), minlength=num).double()
            return Constant(len(targets) / (num * counts.clamp(min=1)))
        there = targets.double().sum(0)
        return Constant((len(targets) - there).clamp(min=1) / there.clamp(min=1))
    if isinstance(given, np.ndarray) or (isinstance(given, Tensor) and not given.is_meta):
        given = given.tolist()
    if not isinstance(given, Sequence) or len(given) != num:
        raise ValueError(f"class_weights must be 'balanced' or {num} numbers, got {shown(given)}")
    for value in given:
        check_number("class_weights", value)
    return Constant([float(value) for value in given])


def _card_of(task: str, x: Any, card: Any) -> Card:
    """Return the card of a network, with what the sets know of themselves if they have one."""
    if not isinstance(card, Card):
        return Card(task, _kind_of_elements(x))
    classes = card.classes if card.task == task else ()
    return Card(task, card.kind, classes=classes, element=card.element)


def _earlier_card(net: nn.Module, task: str, output: Any) -> Card | None:
    """Return the card of a network that was trained before, if it still fits."""
    card = getattr(net, "card", None)
    if not isinstance(card, Card) or card.task != task:
        return None
    fits = not card.classes or (
        isinstance(output, Tensor) and output.shape[-1] == len(card.classes)
    )
    return card if fits else None


def _card_if_clear(net: nn.Module, x: Any, y: Any, train: SetDataset, own: Any) -> Card | None:
    """Return the card for a task of one's own, if targets tell what it is."""
    try:
        return _card_of(getattr(own, "task", None) or _find_task(net, x, y, train), x, own)
    except (ValueError, TypeError):
        return None

"""Which task a network and its sets are for, and whether they fit each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from symsets._checks import check_choice, check_number, shown
from symsets._modes import evaluating
from symsets.models.card import TASKS, Card
from symsets.sets import RaggedSets, Sets
from symsets.train.defaults import Constant, Scale, matched

KINDS = {2: "vectors", 3: "vectors", 4: "signals"}  # by the axes of a batch of sets


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


def kind_of_elements(x: Any) -> str:
    """Return the kind of elements, as a card names it."""
    if not isinstance(x, Tensor | RaggedSets) or hasattr(x, "edge_index"):
        return "graphs"
    if isinstance(x, RaggedSets) and isinstance(x.elements, RaggedSets):
        return "clouds"
    return KINDS.get(x.ndim if isinstance(x, Tensor) else x.elements.ndim + 1, "pictures")


def find_task(net: nn.Module, x: Sets, y: Any) -> str:
    """Return the task that targets ``y`` of sets ``x`` belong to.

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
    elif y.ndim == 2 and bool(((y == 0) | (y == 1)).all()):
        task = "labels"
    else:
        task = "regress" if y.is_floating_point() else ""
    if not task:
        raise ValueError(
            f"task must be given, one of {list(TASKS)}, as targets {shown(y)} do not tell it"
        )
    return task


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


def check_outputs(task: str, x: Any, output: Any, y: Any, classes: Sequence[str]) -> None:
    """Raise ValueError unless a network returns what a task needs."""
    shape = tuple(output.shape) if isinstance(output, Tensor) else output
    if task == "classify":
        if not isinstance(output, Tensor) or output.ndim != 2:
            raise ValueError(f"net must return scores (B, classes) to classify, got {shape}")
        if classes and output.shape[1] != len(classes):
            raise ValueError(
                f"net must return a score for each of {len(classes)} classes, got {output.shape[1]}"
            )
    elif task == "select":
        if output.ndim != 2 or (isinstance(x, Tensor) and output.shape != x.shape[:2]):
            raise ValueError(f"net must return one score per element to select one, got {shape}")
    else:
        matched(output, y)
    if task in ("classify", "select") and (
        not isinstance(y, Tensor) or y.ndim != 1 or y.is_floating_point()
    ):
        raise ValueError(f"targets must be one integer per set to {task}, got {shown(y)}")


def check_labels(name: str, targets: Any, num_classes: int) -> None:
    """Raise ValueError unless labels are numbers of classes."""
    low, high = int(targets.min()), int(targets.max())
    if low < 0 or high >= num_classes:
        raise ValueError(
            f"{name} must have labels from 0 to {num_classes - 1}, as the network returns "
            f"{num_classes} scores, got {low if low < 0 else high}"
        )


def scale_of(task: str, targets: Sets) -> Scale:
    """Return the scale of the targets of a regression: of each number, or of those of elements."""
    rows: Any = targets.elements if isinstance(targets, RaggedSets) else targets
    one = task == "score" or rows.ndim == 1
    return Scale.of(rows.reshape(-1, 1) if one else rows)


def class_weights_of(task: str, given: Any, targets: Any, num: int) -> Constant:
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
    if isinstance(given, Tensor) and not given.is_meta:
        given = given.tolist()
    if not isinstance(given, Sequence) or len(given) != num:
        raise ValueError(
            f"class_weights must be 'balanced' or {num} numbers, one per class, got {shown(given)}"
        )
    for value in given:
        check_number("class_weights", value)
    return Constant([float(value) for value in given])


def card_of(task: str, x: Any, card: Any) -> Card:
    """Return the card of a network, with what the sets know of themselves if they have one."""
    if not isinstance(card, Card):
        return Card(task, kind_of_elements(x))
    classes = card.classes if card.task == task else ()
    return Card(task, card.kind, classes=classes, element=card.element)

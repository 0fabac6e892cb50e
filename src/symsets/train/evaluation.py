"""Outputs, losses and metrics on sets that are always the same."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from symsets._checks import check_choice, check_kind, positive
from symsets._modes import evaluating
from symsets.data.labelled import SetDataset
from symsets.sets import RaggedSets, Sets
from symsets.sets.ragged import end_to_end
from symsets.train.ensemble import Ensemble
from symsets.train.metrics import Task
from symsets.train.step import PRECISIONS, autocast, check_loss, matmul_precision

Network = Ensemble | Callable[[Any], Any]
"""An ensemble, or any function of sets, such as a baseline."""


@dataclass(frozen=True)
class Evaluation:
    """What came out of one network.

    Attributes:
        loss: Mean over all sets.
        values: Each metric for each set, ``(M,)``.
        outputs: Of all sets, if the task keeps them.
        targets: Of all sets, if the task keeps them.
    """

    loss: float
    values: dict[str, Tensor]
    outputs: Sets | None = None
    targets: Sets | None = None

    def mean(self, name: str) -> float:
        """Return a metric."""
        check_choice("name", name, self.values)
        return self.values[name].double().mean().item()


@torch.no_grad()
def evaluate(
    network: Network,
    sets: SetDataset,
    task: Task,
    *,
    precision: str = "float32",
    batch_size: int = 512,
) -> list[Evaluation]:
    """Apply networks to all sets, and measure what each member gives.

    Args:
        network: What to apply.
        sets: What to apply it to.
        task: What to measure.
        precision: Of the computation, as in a :class:`~symsets.train.Plan`.
        batch_size: Sets at a time; it changes no result, if the loss is a mean over sets.
    """
    if not callable(network):
        raise TypeError(f"network must be one network, got {type(network).__name__}")
    check_supply(sets, "sets")
    check_kind("task", task, Task)
    check_choice("precision", precision, PRECISIONS)
    positive("batch_size", batch_size)
    kept: list[list[tuple[Any, ...]]] = []
    targets = []
    for x, y in sets.parts(batch_size):
        with autocast(precision, x.device), matmul_precision(precision):
            outputs = outputs_of(network, x)
        kept.append([_measure(output, y, len(x), task) for output in outputs])
        targets += [y] if task.keep_outputs else []
    target = end_to_end(targets) if task.keep_outputs else None
    return [_joined(own, task, target) for own in zip(*kept, strict=True)]


def check_supply(sets: object, name: str) -> None:
    """Raise TypeError or ValueError naming ``sets`` unless it is a dataset with sets in it."""
    if not isinstance(sets, SetDataset):
        raise TypeError(f"{name} must be a SetDataset, got {type(sets).__name__}")
    if not sets.num_sets:
        raise ValueError(f"{name} must hold at least one set, got none")


def outputs_of(network: Network, x: Sets) -> Any:
    """Return the outputs of all members for some sets, ``(K, B, …)`` or a list."""
    with evaluating(network) if isinstance(network, nn.Module) else nullcontext():
        if not isinstance(network, Ensemble):
            return [network(x)]
        if isinstance(x, Tensor):
            return network(x.expand(network.size, *x.shape))
        return network([x] * network.size)


def _measure(output: Sets, y: Any, num: int, task: Task) -> tuple[Any, ...]:
    if not isinstance(output, Tensor | RaggedSets):
        raise TypeError(f"network must return a tensor or sets, got {type(output).__name__}")
    output = output if output.dtype == torch.float64 else output.to(torch.float32)
    loss = task.loss(output, y)
    check_loss(loss)
    values = [metric.values(output, y) for metric in task.metrics]
    return (loss[None] * num, *values, *([output] if task.keep_outputs else []))


def _joined(parts: tuple[tuple[Any, ...], ...], task: Task, targets: Sets | None) -> Evaluation:
    losses, *columns = (end_to_end(column) for column in zip(*parts, strict=True))
    values = {metric.name: column for metric, column in zip(task.metrics, columns, strict=False)}
    num = len(columns[0])
    outputs = columns[-1] if task.keep_outputs else None
    return Evaluation(losses.sum().item() / num, values, outputs, targets)

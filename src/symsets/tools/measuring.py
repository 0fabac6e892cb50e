"""What networks and trivial answers reach on sets, with the error of the choice of sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from symsets.models.card import Card
from symsets.train.defaults import Scale, task_loss, task_metrics
from symsets.train.evaluation import Evaluation, evaluate
from symsets.train.inputs import as_sets
from symsets.train.metrics import Task


@dataclass(frozen=True)
class Score:
    """A mean over sets, and its standard error (0 for a single set)."""

    mean: float
    error: float
    num: int

    @classmethod
    def of(cls, found: Evaluation, metric: str) -> Score:
        """Return the score of one metric."""
        values = found.values[metric].double()
        num = len(values)
        error = values.std().item() / math.sqrt(num) if num > 1 else 0.0
        return cls(values.mean().item(), error, num)


def task_of(card: Card) -> Task:
    """Return what a card asks for: its loss and metrics, in the units of the targets."""
    scale = Scale(**card.target) if card.target else None
    return Task(
        task_loss(card.task, scale=scale),
        task_metrics(card.task, card.kind, scale),
        keep_outputs=card.task != "merge",
    )


def measure(
    network: Any, card: Card, sets: Any, *, device: str, workers: int | None = None
) -> Evaluation:
    """Apply a network, or a trivial answer, to all sets."""
    stream = as_sets("sets", sets, workers=workers, seed=0, dtype=torch.float32)
    [found] = evaluate(network, stream.to(device), task_of(card), batch_size=32)
    return found

"""What training leaves for one seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor

from symsets.train.metrics import Metric
from symsets.train.plan import Plan


@dataclass
class Fitted:
    """What training left for one seed.

    Attributes:
        curves: One dictionary per validation.
        best: State of the network at its best epoch on validation; at its last one without
            validation sets.
        best_metric: Its validation metric; None if there was no such epoch.
        epochs: Number of epochs trained.
        failed: Whether the loss became NaN or infinite, or that of validation NaN.
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

    def add(
        self,
        row: dict[str, float],
        plan: Plan,
        metric: Metric,
        state: Callable[[], dict[str, Tensor]],
    ) -> None:
        """Add a row to the curves, and keep the weights if they are the best so far.

        Without validation sets the last weights are kept. ``state`` returns a copy of them.
        """
        self.curves.append(row)
        self.epochs = int(row["epoch"])
        self.seconds += row["seconds"]
        self.waited += plan.validate_every
        value = row.get(f"val_{metric.name}")
        if not math.isfinite(row["train_loss"]) or math.isnan(row.get("val_loss", 0)):
            self.failed = self.stopped = True
        elif value is None or self._is_better(value, plan, metric):
            self.best_metric, self.waited = value, 0
            self.best = state()
        elif self.waited >= plan.patience:
            self.stopped = True

    def _is_better(self, value: float, plan: Plan, metric: Metric) -> bool:
        """Whether the last row is the best of all, by what the plan goes by.

        Between rows of the same metric the loss decides: where one class is rare, the metric may
        not move for many epochs.
        """
        *before, last = self.curves
        if plan.keep == "metric":
            if value != self.best_metric:
                return metric.is_better(value, self.best_metric)
            before = [row for row in before if row[f"val_{metric.name}"] == value]
        return not any(last["val_loss"] >= row["val_loss"] for row in before)

"""What people see while a network trains: a bar with the metric and the time left."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

from symsets.train.processes import is_first

if TYPE_CHECKING:
    from rich.progress import Progress

    from symsets.train.fitted import Fitted

LINES = 10  # of a training that nobody watches in a terminal


class TrainingProgress:
    """A bar in a terminal or a notebook, else about ten lines in all.

    It shows the loss in training, and the metric that decides, if there is one.
    """

    def __init__(self, epochs: int, steps: int, metric: str | None, *, shown: bool) -> None:
        self.epochs, self.steps, self.metric = epochs, steps, metric
        self._shown = shown and is_first()
        self._bar: Progress | None = None
        self._task: Any = None
        self._started = 0.0  # with the first step
        self._before = 0  # epochs of an earlier call

    def __enter__(self) -> Self:
        return self

    def start(self, epoch: int) -> None:
        """Begin with an epoch, counted from 0: a later one where a training continues."""
        self._before = epoch
        if not self._shown:
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console()
        if not (console.is_terminal or console.is_jupyter):
            return
        words = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        self._bar = Progress(*words, TextColumn("{task.fields[found]}"), console=console)
        total, done = self.epochs * self.steps, epoch * self.steps
        self._task = self._bar.add_task(self._title(epoch), total=total, completed=done, found="")
        self._bar.start()

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self) -> None:
        """Move on by one step."""
        self._started = self._started or time.monotonic()
        if self._bar is not None:
            self._bar.advance(self._task)

    def epoch(self, epoch: int, fitted: list[Fitted]) -> None:
        """Show how the validation after an epoch, counted from 0, went."""
        done = epoch + 1
        if self._bar is not None:
            self._bar.update(
                self._task,
                completed=done * self.steps,
                description=self._title(done),
                found=self._words(fitted),
            )
        elif self._shown and (done % max(1, self.epochs // LINES) == 0 or done == self.epochs):
            spent = time.monotonic() - self._started if self._started else 0.0
            left = spent / (done - self._before) * (self.epochs - done)
            line = f"epoch {done:{len(str(self.epochs))}}/{self.epochs}   {self._words(fitted)} "
            print(line, f"  {left:.0f} s left" if left else "", sep="")

    def _title(self, epoch: int) -> str:
        return f"epoch {min(epoch + 1, self.epochs)}/{self.epochs}"

    def _words(self, fitted: list[Fitted]) -> str:
        def mean(name: str) -> str:
            values = [one.curves[-1][name] for one in fitted]
            return f"{sum(values) / len(values):.4g}"

        words = f"train loss {mean('train_loss')}"
        return (
            words if self.metric is None else f"{words}  {self.metric} {mean(f'val_{self.metric}')}"
        )

"""What one run leaves in its folder: its configuration and its learning curve."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

__all__ = ["Run", "read_runs"]


@dataclass(frozen=True)
class Run:
    """A run's configuration, and for each validation its metric and the seconds since the last.

    A baseline has no curve.
    """

    folder: Path
    config: dict[str, Any]
    metric: str = ""
    curve: tuple[tuple[int, float], ...] = ()
    seconds: tuple[float, ...] = ()

    @property
    def example_sets(self) -> Path:
        """Where its study keeps the example sets: both are named by the data and the setting."""
        c = self.config
        trained = f"{c.get('recipe')}-{c.get('train_size')}-seed{c.get('seed')}"
        model = str(c.get("model"))
        name = self.folder.name.removesuffix(f"-{trained}").removesuffix(model).removesuffix("-")
        return self.folder.parents[1] / "examples" / f"{name or 'sets'}.npz"

    @property
    def seconds_per_epoch(self) -> float | None:
        """The median, so that a slow first epoch does not count.

        Seeds that were trained together share the time, as they do in the records; so do the
        epochs between two validations.
        """
        together, every = self.config.get("seeds_together"), self.config.get("validate_every")
        share = len(together) if isinstance(together, list) and together else 1
        share *= every if isinstance(every, int) and every > 0 else 1
        return median(self.seconds) / share if self.seconds else None


def read_runs(directory: Path) -> list[Run]:
    """Read all runs of a study; one whose configuration cannot be read is left out."""
    found = (_read_run(folder) for folder in sorted((directory / "runs").glob("*")))
    return [run for run in found if run is not None]


def _read_run(folder: Path) -> Run | None:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(config, dict):
        return None
    try:
        text = (folder / "curves.csv").read_text(encoding="utf-8")
    except (OSError, ValueError):
        text = ""
    lines = list(csv.DictReader(text.splitlines()))
    if not lines:
        return Run(folder, config)
    column = _metric_column(list(lines[0]))
    epochs = [(_number(line.get("epoch")), line) for line in lines]
    kept = [(int(epoch), line) for epoch, line in epochs if math.isfinite(epoch)]
    curve = tuple((epoch, _number(line.get(column))) for epoch, line in kept)
    seconds = tuple(s for _, line in kept if math.isfinite(s := _number(line.get("seconds"))))
    return Run(folder, config, column.removeprefix("val_"), curve, seconds)


def _metric_column(columns: list[str]) -> str:
    """Return the validation metric, or the validation loss if there is no other."""
    validation = [c for c in columns if c is not None and c.startswith("val_")]
    return next((c for c in validation if c != "val_loss"), "val_loss")


def _number(text: str | None) -> float:
    """Return a number; not-a-number for anything else, such as the last line of a killed run."""
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan

"""What one run leaves in its folder: its configuration and its learning curve."""

import math
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor

from symsets._checks import positive
from symsets._files import below
from symsets.data._arrays import array_names, read_arrays
from symsets.experiments.study.records import check_fields
from symsets.experiments.study.runs import RunDirectory


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
    def model(self) -> str:
        """What was trained."""
        return str(self.config.get("model"))

    @property
    def train_size(self) -> int:
        """The number of training sets, 0 for what is not trained."""
        return int(self.config.get("train_size", 0))

    @property
    def seed(self) -> int:
        """The initialisation."""
        return int(self.config.get("seed", 0))

    @property
    def example_sets(self) -> Path:
        """Where its study keeps the example sets: named by the data and the setting."""
        data = self.folder.name.partition("-")[0]
        name = "-".join(filter(None, (data, self.config.get("setting"))))
        return below(self.folder.parents[1] / "examples", f"{name}.npz")

    @property
    def seconds_per_epoch(self) -> float | None:
        """The median, so that a slow first epoch does not count.

        Seeds that were trained together share the time, as they do in the records; so do the
        epochs between two validations.
        """
        share = len(self.config.get("seeds_together") or (0,))
        share *= self.config.get("validate_every") or 1
        return median(self.seconds) / share if self.seconds else None


def read_runs(directory: Path) -> list[Run]:
    """Read all runs of a study; one whose configuration cannot be read is left out."""
    found = (_read_run(folder) for folder in sorted((directory / "runs").glob("*")))
    return [run for run in found if run is not None]


def _read_run(folder: Path) -> Run | None:
    run = RunDirectory(folder)
    try:
        with run.reading_config() as config:
            check_fields(config)
            len(config.get("seeds_together") or ()), positive("", config.get("validate_every") or 1)
    except ValueError:
        return None
    columns = run.curves()
    if not columns.get("epoch"):
        return Run(folder, config)
    column = next((c for c in columns if c.startswith("val_") and c != "val_loss"), "val_loss")
    curve = tuple(
        (int(epoch), value)
        for epoch, value in zip(columns["epoch"], columns.get(column, []), strict=True)
    )
    seconds = tuple(s for s in columns.get("seconds", []) if math.isfinite(s))
    return Run(folder, config, column.removeprefix("val_"), curve, seconds)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read the arrays of a file, floats in single precision; nothing if it cannot be read."""
    try:
        content = read_arrays(path, {}, array_names(path))
        found = {name: torch.from_numpy(array) for name, array in content.items()}
    except (ValueError, TypeError):
        return {}
    return {name: a.float() if a.is_floating_point() else a for name, a in found.items()}

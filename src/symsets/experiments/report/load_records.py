"""Read studies and group the results that may be compared."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from symsets.experiments.report.metrics import MetricDisplay, display_of
from symsets.experiments.report.models import rank
from symsets.experiments.report.published import Published, published
from symsets.experiments.report.runs import Run, read_runs
from symsets.experiments.study.experiment import find_experiment
from symsets.experiments.study.records import Record, read_records

__all__ = ["Comparison", "Numbers", "Results", "Score", "load_records"]


Numbers = dict[str, dict[str, float]]
"""Rows of numbers by name, not-a-number where one is missing."""

Key = tuple[str, str, str, str, str, str]
"""Experiment, setting, data, recipe, preset and split: what compared runs agree in."""


@dataclass(frozen=True)
class Score:
    """One model's values of one metric over initialisations.

    Attributes:
        values: Of the runs that ended with a number.
        failed: How many runs diverged; they are counted here and in no mean.
        parameters: Of the network, 0 if not known.
        seconds: The mean time of a run, 0 if not known.
        epochs: The mean number of epochs of a run, 0 if not known.
        test_sets: How many sets a value was measured on, as the records say; 0 if they do not.
        share_of: How many test sets a value is a share of; 0 if it is none, or that is not known.
    """

    values: tuple[float, ...]
    failed: int = 0
    parameters: int = 0
    seconds: float = 0.0
    epochs: float = 0.0
    test_sets: int = 0
    share_of: int = 0

    @property
    def count(self) -> int:
        """Number of runs, failed or not."""
        return len(self.values) + self.failed

    @property
    def mean(self) -> float:
        """The mean of the runs that did not fail; not-a-number if all did."""
        return statistics.fmean(self.values) if self.values else math.nan

    @property
    def std(self) -> float | None:
        """The sample standard deviation; one run has none."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def error(self) -> float:
        """The standard error of the mean, or of a single share; 0 where nothing is known."""
        if len(self.values) == 1 and self.share_of:
            return math.sqrt(self.mean * (1 - self.mean) / self.share_of)
        return (self.std or 0.0) / math.sqrt(max(1, len(self.values)))


@dataclass
class Comparison:
    """Models that may be compared, at all training-set sizes and in all metrics.

    All their runs agree in experiment, setting, data, recipe, preset and split.
    """

    experiment: str
    setting: str
    data: str
    recipe: str
    preset: str
    split: str
    scores: dict[tuple[int, str, str], Score]
    runs: list[Run] = field(default_factory=list)

    @property
    def key(self) -> Key:
        """What tells the comparison from others."""
        return self.experiment, self.setting, self.data, self.recipe, self.preset, self.split

    @property
    def name(self) -> str:
        """Experiment and setting."""
        return f"{self.experiment}, {self.setting}" if self.setting else self.experiment

    @property
    def slug(self) -> str:
        """A name for files; names that differ only in punctuation give the same."""
        words = [*self.key[:-1], self.split if self.split != "test" else ""]
        return re.sub(r"[^a-z0-9]+", "-", "-".join(filter(None, words)).lower()).strip("-")

    @property
    def paper(self) -> Published:
        """What the paper printed about the experiment."""
        return published(self.experiment)

    @property
    def sizes(self) -> list[int]:
        """Training-set sizes; 0, for what is not trained, only if there is no other."""
        sizes = sorted({size for size, _, _ in self.scores})
        return [size for size in sizes if size] or sizes

    @property
    def largest(self) -> int:
        """The largest training-set size."""
        return self.sizes[-1]

    @property
    def models(self) -> list[str]:
        """All models, in the order in which they are always listed."""
        return sorted({model for _, _, model in self.scores}, key=rank)

    @property
    def metrics(self) -> list[MetricDisplay]:
        """All metrics, the one that the paper reports first; without those of a series."""
        first = self.paper.metric
        names = dict.fromkeys(
            name for _, name, _ in self.scores if name not in self._series and "/" not in name
        )
        return [display_of(name) for name in sorted(names, key=lambda name: name != first)]

    @property
    def _series(self) -> dict[str, int]:
        """Metrics such as ``chamfer@5``: the first one at other numbers of elements."""
        first = self.paper.metric
        parts = {name: name.partition("@") for _, name, _ in self.scores}
        return {
            name: int(num)
            for name, (what, _, num) in parts.items()
            if what == first and num.isdecimal()
        }

    @property
    def by_elements(self) -> dict[str, dict[int, tuple[float, ...]]]:
        """The first metric of all models at other numbers of elements, where it was measured."""
        found: dict[str, dict[int, tuple[float, ...]]] = {}
        for name, num in self._series.items():
            for model in self.models:
                score = self.scores.get((self.largest, name, model))
                if score is not None:
                    found.setdefault(model, {})[num] = score.values
        return found

    @property
    def by_part(self) -> dict[str, dict[str, Score]]:
        """The scores of all models on parts of the data, such as ``accuracy/<source>``."""
        found: dict[str, dict[str, Score]] = {}
        for (size, name, model), score in self.scores.items():
            if "/" in name and size == self.largest:
                found.setdefault(name.partition("/")[2], {})[model] = score
        return dict(sorted(found.items()))

    def score(self, model: str, *, metric: str = "", size: int | None = None) -> Score | None:
        """Return a score, by default of the first metric at the largest size.

        A baseline that is not trained has the same score at all sizes.
        """
        name = metric or self.metrics[0].name
        size = self.largest if size is None else size
        return self.scores.get((size, name, model)) or self.scores.get((0, name, model))

    def runs_of(self, model: str) -> list[Run]:
        """Return the runs of a model at the largest size that have a learning curve."""
        return [
            run
            for run in self.runs
            if run.metric
            and run.config.get("model") == model
            and run.config.get("train_size") == self.largest
        ]


@dataclass(frozen=True)
class Results:
    """All that was found in some folders."""

    directories: tuple[Path, ...]
    records: tuple[Record, ...]
    comparisons: tuple[Comparison, ...]
    searches: dict[Path, Numbers]
    skips: dict[Path, Numbers]
    experiments: dict[Path, str]

    @property
    def num_runs(self) -> int:
        """How many runs there are, however many metrics each was measured in."""
        return len({_run_id(record) for record in self.records})

    @property
    def num_failed(self) -> int:
        """How many runs diverged."""
        return len({_run_id(r) for r in self.records if not math.isfinite(r.value)})


def _run_id(r: Record) -> tuple[str | int, ...]:
    return r.experiment, r.setting, r.data, r.recipe, r.preset, r.model, r.train_size, r.seed


def load_records(directories: Iterable[Path | str]) -> Results:
    """Read the results, runs, learning-rate searches and skip studies of one or more folders.

    Raises:
        ValueError: If a folder holds no results, or what it holds cannot be read.
    """
    folders = tuple({Path(d).resolve(): Path(d) for d in directories}.values())
    if not folders:
        raise ValueError("directories must name at least one folder, got none")
    by_folder = {folder: _records(folder) for folder in folders}
    records = tuple(_each_once(by_folder))
    if not records:
        raise ValueError(f"{folders[0] / 'results.json'} must hold at least one record, got none")
    runs = [run for folder in folders for run in read_runs(folder)]
    searches, skips = (_numbers(folders, name) for name in ("search", "skips"))
    first = {folder: found[0].experiment for folder, found in by_folder.items() if found}
    return Results(folders, records, tuple(_compare(records, runs)), searches, skips, first)


def _each_once(by_folder: Mapping[Path, Sequence[Record]]) -> list[Record]:
    """Return all records; one that was copied into a second folder is still one.

    Raises:
        ValueError: If one run has two results: no mean over initialisations may hold both.
    """
    found: dict[tuple[str | int, ...], tuple[Path, Record]] = {}
    for folder, records in by_folder.items():
        for r in records:
            place, other = found.setdefault((*_run_id(r), r.metric, r.split), (folder, r))
            if repr((r.value, r.epochs)) != repr((other.value, other.epochs)):
                where = f"{place} has" if place == folder else f"{place} and {folder} have"
                raise ValueError(
                    f"{where} two results of one run: {r.metric} of {r.model}, seed {r.seed}, "
                    f"{r.train_size:,} training sets is {other.value:g} after {other.epochs} "
                    f"epochs and {r.value:g} after {r.epochs}; report them apart"
                )
    return [record for _, record in found.values()]


def _records(folder: Path) -> list[Record]:
    path = folder / "results.json"
    if not path.is_file():
        raise ValueError(f"{folder} must hold a results.json, as `symsets run` leaves it")
    return [_finite(record) for record in read_records(path)]


def _finite(record: Record) -> Record:
    """Return the record with NaN as the value of a run that failed."""
    return replace(record, value=float(record.value) if math.isfinite(record.value) else math.nan)


def _numbers(folders: Iterable[Path], name: str) -> dict[Path, Numbers]:
    """Read all tables of a name, such as ``search.json`` and ``search-points.json``."""
    files = (path for folder in folders for path in sorted(folder.glob(f"{name}*.json")))
    return {path: found for path in files if (found := _read_numbers(path))}


def _read_numbers(path: Path) -> Numbers:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {
            row: {key: math.nan if v is None else float(v) for key, v in numbers.items()}
            for row, numbers in content.items()
        }
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} must map names to names to numbers: {error}") from error


def _compare(records: Sequence[Record], runs: Sequence[Run]) -> list[Comparison]:
    cells: dict[Key, dict[tuple[int, str, str], list[Record]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for r in records:
        key = (r.experiment, r.setting, r.data, r.recipe, r.preset, r.split)
        cells[key][r.train_size, r.metric, r.model].append(r)
    comparisons = [
        Comparison(*key, scores={place: _score(found) for place, found in cell.items()})
        for key, cell in cells.items()
    ]
    for comparison in comparisons:
        comparison.runs = [run for run in runs if _belongs(run.config, comparison)]
    return comparisons


def _belongs(config: Mapping[str, Any], comparison: Comparison) -> bool:
    """Return whether nothing in a run's configuration contradicts a comparison."""
    words = ("experiment", "setting", "data", "recipe", "preset")
    said = {word: config[word] for word in words if isinstance(config.get(word), str)}
    return all(getattr(comparison, word) == value for word, value in said.items())


def _score(records: Sequence[Record]) -> Score:
    def known_mean(numbers: Iterable[float]) -> float:
        known = [n for n in numbers if n]
        return statistics.fmean(known) if known else 0.0

    finished = [r for r in records if math.isfinite(r.value)]
    return Score(
        values=tuple(r.value for r in finished),
        failed=len(records) - len(finished),
        parameters=max(r.parameters for r in records),
        seconds=known_mean(r.seconds for r in finished),
        epochs=known_mean(r.epochs for r in finished),
        test_sets=records[0].test_size,
        share_of=_test_sets(records[0]) if records[0].metric == "accuracy" else 0,
    )


def _test_sets(record: Record) -> int:
    """Return how many sets a value was measured on, 0 if that is not known."""
    if record.test_size:
        return record.test_size
    try:  # older records do not say it
        presets = find_experiment(record.experiment).presets
        return presets[record.preset].test_size if record.split == "test" else 0
    except (ValueError, KeyError):  # somebody's own experiment or preset
        return 0

"""Read studies and group the results that may be compared."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from symsets._files import reading
from symsets.experiments.report.metrics import MetricDisplay, display_of
from symsets.experiments.report.published import Published, published
from symsets.experiments.report.runs import Run, read_runs
from symsets.experiments.study.experiment import find_experiment
from symsets.experiments.study.records import Record, read_records
from symsets.pages.styles import rank

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

Numbers = dict[str, dict[str, float]]
"""Rows of numbers by name, not-a-number where one is missing."""

SAME = ("experiment", "setting", "data", "recipe", "preset")
"""What compared runs agree in, besides the split."""


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
    def key(self) -> tuple[str, ...]:
        """What tells the comparison from others."""
        return (*_same(self), self.split)

    @property
    def name(self) -> str:
        """Experiment and setting."""
        return f"{self.experiment}, {self.setting}" if self.setting else self.experiment

    @property
    def slug(self) -> str:
        """A name for files."""
        words = [*self.key[:-1], self.split if self.split != "test" else ""]
        return re.sub(r"[\W_]+", "-", "-".join(filter(None, words)).lower()).strip("-")

    @property
    def paper(self) -> Published:
        """What the paper printed about the experiment."""
        return published(self.experiment)

    @property
    def printed(self) -> list[str]:
        """The models that the paper has numbers for at this setting."""
        return self.paper.models(self.setting)

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
        """All metrics, the one that the paper reports first; without those of parts or a series."""
        names = dict.fromkeys(name for _, name, _ in self.scores)
        whole = [name for name in names if _is_whole(self.experiment, name)]
        return [display_of(name) for name in sorted(whole, key=lambda n: n != self.paper.metric)]

    @property
    def by_elements(self) -> dict[str, dict[int, Score]]:
        """The first metric of all models at other numbers of elements, where it was measured."""
        found: dict[str, dict[int, Score]] = {}
        for model in self.models:
            for (size, name, other), score in self.scores.items():
                if (
                    size == self.largest
                    and other == model
                    and (num := _num_elements(self.experiment, name))
                ):
                    found.setdefault(model, {})[num] = score
        return found

    @property
    def by_part(self) -> dict[str, dict[str, Score]]:
        """The scores of all models on parts of the data, such as ``accuracy/<source>``."""
        found: dict[str, dict[str, Score]] = {}
        for (size, name, model), score in self.scores.items():
            if "/" in name and size == self.largest:
                found.setdefault(name.partition("/")[2], {})[model] = score
        return dict(sorted(found.items()))

    def score(self, model: str, *, metric: str = "", size: int | None = None) -> Score:
        """Return a score, by default of the first metric at the largest size.

        A baseline that is not trained has the same score at all sizes. Where there is no run, the
        score has no values.
        """
        name = metric or self.metrics[0].name
        places = ((self.largest if size is None else size, name, model), (0, name, model))
        return next((self.scores[place] for place in places if place in self.scores), Score(()))

    def runs_of(self, model: str) -> list[Run]:
        """Return the runs of a model at the largest size that have a learning curve."""
        found = (run for run in self.runs if run.metric and run.model == model)
        return [run for run in found if run.train_size == self.largest]


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


def group_by(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return the items of each key, all in the order in which they come.

    Example:
        >>> group_by([3, 1, 4, 1, 5], lambda n: n % 2)
        {1: [3, 1, 1, 5], 0: [4]}
    """
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _same(r: Record | Comparison) -> tuple[str, str, str, str, str]:
    return r.experiment, r.setting, r.data, r.recipe, r.preset


def _run_id(r: Record) -> tuple[str | int, ...]:
    return (*_same(r), r.model, r.train_size, r.seed)


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


def _records(folder: Path) -> list[Record]:
    path = folder / "results.json"
    if not path.is_file():
        raise ValueError(f"{folder} must hold a results.json, as `symsets run` leaves it")
    records = read_records(path)
    for r in records:
        share = r.metric.partition("/")[0] == "accuracy" and math.isfinite(r.value)
        if share and not 0 <= r.value <= 1:
            raise ValueError(f"{path}: accuracies must be in 0..1, got {r.value} of {r.model!r}")
    for (experiment, *_), group in group_by(records, lambda r: (*_same(r), r.split)).items():
        if not any(_is_whole(experiment, r.metric) for r in group):
            only = sorted({r.metric for r in group})
            raise ValueError(f"{path} must hold a metric of all test sets, got {only} alone")
    return records


def _num_elements(experiment: str, metric: str) -> int:
    """Return 5 for ``chamfer@5``, the first metric for sets of 5 elements; 0 for others."""
    name, _, num = metric.partition("@")
    return int(num) if name == published(experiment).metric and num.isdecimal() else 0


def _is_whole(experiment: str, metric: str) -> bool:
    """Whether a metric is neither of a part of the data nor of a series."""
    return "/" not in metric and not _num_elements(experiment, metric)


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
                raise ValueError(
                    f"{place} and {folder} have two results of one run: {r.metric} of {r.model}, "
                    f"seed {r.seed}, {r.train_size:,} training sets is {other.value:g} after "
                    f"{other.epochs} epochs and {r.value:g} after {r.epochs}; report them apart"
                )
    return [record for _, record in found.values()]


def _numbers(folders: Iterable[Path], name: str) -> dict[Path, Numbers]:
    """Read all tables of a name, such as ``search.json`` and ``search-points.json``."""
    tables: dict[Path, Numbers] = {}
    number = float if name == "search" else int
    for path in (path for folder in folders for path in sorted(folder.glob(f"{name}*.json"))):
        with reading(path, "a map of names to numbers to numbers") as content:
            for row, numbers in content.items():
                for key in numbers:
                    number(key)  # a learning rate, or a skip
                found = {key: math.nan if v is None else float(v) for key, v in numbers.items()}
                tables.setdefault(path, {})[row] = found
    return tables


def _compare(records: Sequence[Record], runs: Sequence[Run]) -> list[Comparison]:
    comparisons = []
    for key, group in group_by(records, lambda r: (*_same(r), r.split)).items():
        cells = group_by(group, lambda r: (r.train_size, r.metric, r.model))
        scores = {place: _score(found) for place, found in cells.items()}
        # A run belongs where nothing in its configuration says otherwise.
        said = dict(zip(SAME, key, strict=False))
        own = [run for run in runs if all(run.config.get(w, v) == v for w, v in said.items())]
        comparisons.append(Comparison(*key, scores=scores, runs=own))
    return comparisons


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
    if record.test_size or record.split != "test":
        return record.test_size
    try:  # older records do not say it
        return find_experiment(record.experiment).presets[record.preset].test_size
    except (ValueError, KeyError):  # somebody's own experiment or preset
        return 0

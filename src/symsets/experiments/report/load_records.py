"""Read studies and group the results that may be compared."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from symsets._files import reading
from symsets.data.splits import group_by
from symsets.experiments.report.comparison import SAME, Comparison, Score, same_in
from symsets.experiments.report.runs import Run, read_runs
from symsets.experiments.study.experiment import find_experiment
from symsets.experiments.study.records import Record, read_records

Numbers = dict[str, dict[str, float]]
"""Rows of numbers by name, not-a-number where one is missing."""


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
    return (*same_in(r), r.model, r.train_size, r.seed)


def load_records(directories: Iterable[Path | str]) -> Results:
    """Read the results, runs, learning-rate searches and skip studies of one or more folders."""
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
    return records


def _each_once(by_folder: Mapping[Path, Sequence[Record]]) -> list[Record]:
    """Return all records; one that was copied into a second folder is still one.

    One run must not have two results: no mean over initialisations may hold both.
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
    for key, group in group_by(records, lambda r: (*same_in(r), r.split)).items():
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

"""Measure networks and baselines on the sets of one source, and write what was measured."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from symsets._files import below, write_json
from symsets.data.folders import STUDY
from symsets.data.labelled import SetDataset
from symsets.experiments.study.experiment import Experiment, Preset, StudyConfig
from symsets.experiments.study.records import Record, device_name, write_records
from symsets.experiments.study.runs import RunDirectory, write_arrays
from symsets.train.ensemble import Ensemble
from symsets.train.evaluation import Evaluation, Network, evaluate, outputs_of
from symsets.train.processes import is_first

NUM_EXAMPLES = 4  # test sets that a report shows


@dataclass(eq=False)
class Evaluator:
    """The sets of one source, what is measured on them, and where that is written.

    Attributes:
        data: What tells runs on these data from others, in the names of directories.
        name: What tables call the data; the name of the source if left out.
        notes: What other processes could not use of the data, a line each.
    """

    experiment: Experiment[Any]
    out: Path
    preset: Preset
    config: StudyConfig
    source: Any
    device: str
    data: str = ""
    name: str = ""
    notes: list[str] = field(default_factory=list)
    _sets: dict[tuple[str, str], SetDataset] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.name = self.name or self.source.name

    def _slug(self, *words: str) -> str:
        """Return the name of a directory."""
        return "-".join(word for word in (self.data, *words) if word)

    def path(self, *names: str) -> Path:
        """Return a path in the directory; raise ValueError if that has been removed meanwhile."""
        if is_first() and not (self.out / STUDY).exists():
            raise ValueError(f"{self.out} was removed: the same command starts anew")
        path = below(self.out, *names)
        path.parent.mkdir(exist_ok=True)
        return path

    def table_path(self, name: str, setting: str = "") -> Path:
        """Return the file for a table of numbers, such as ``search-points.json``."""
        return self.path(f"{'-'.join(filter(None, (name, self._slug(setting))))}.json")

    def run(self, setting: str, model: str, train_size: int, seed: int) -> RunDirectory:
        """Return the directory of one run."""
        recipe = self.config.recipe
        name = self._slug(setting, model, recipe, str(train_size), f"seed{seed}")
        return RunDirectory(self.path("runs", name))

    def sets(self, setting: str, split: str) -> SetDataset:
        """Return the sets of a split, made once, on the device."""
        if (setting, split) not in self._sets:
            size = max(self.preset.train_sizes) if split == "train" else self.preset.test_size
            seed = 3 * self.config.data_seed + ("test", "val", "train").index(split)
            sets = self.experiment.make_sets(self.source, setting, split, size, self.device, seed)
            double = self.config.precision == "float64"
            moved = sets.to(self.device, torch.float64 if double else None)
            self._sets[setting, split] = moved
        return self._sets[setting, split]

    def left_out(self) -> list[str]:
        """Return a line for each kind of files or parts of a split that could not be used."""
        name, skipped = self.source.name, getattr(self.source, "skipped", None)
        lines = [*self.notes, *([f"of the files of {name}: {skipped}"] if skipped else [])]
        for (_, split), sets in self._sets.items():
            if note := getattr(sets, "note", ""):
                lines.append(f"of split {split!r} of {name}: {note}")
        return list(dict.fromkeys(lines))  # settings may share their sets

    def measure(
        self, run: RunDirectory, setting: str, network: nn.Module, precision: str, batch_size: int
    ) -> Evaluation:
        """Test a trained network, also in what its experiment measures besides."""
        options = {"precision": precision, "batch_size": batch_size}
        found = self._test(run, setting, Ensemble([network]), **options)
        more = self.experiment.measure_more
        found.values.update(more(network, self.source, setting, self.preset.test_size, self.device))
        return found

    def _test(
        self, run: RunDirectory, setting: str, network: Network, **options: Any
    ) -> Evaluation:
        """Test a network on all sets and on parts of them; keep what it makes of the first ones."""
        task, test = self.experiment.task, self.sets(setting, "test")
        found = evaluate(network, test, task, **options)[0]
        name = task.metric.name
        for part, which in self.experiment.parts_of(test).items():
            found.values[f"{name}/{part}"] = found.values[name][which]
        self._keep_outputs(run, setting, network)
        return found

    def prepare(self) -> None:
        """Make what needs no training."""
        self.keep_inputs()
        self.measure_source()
        self.run_baselines()

    def run_baselines(self) -> list[Record]:
        """Measure what needs no training, once for each setting."""
        records = []
        for setting in self.preset.settings:
            for name, baseline in self.experiment.baselines.items():
                run = RunDirectory(self.path("runs", self._slug(setting, name)))
                if run.finished or not is_first():
                    continue
                found = self._test(run, setting, baseline, batch_size=64)
                record = self.record(setting, name)
                records += self.write(run, record, run_config(record), [], found)
        if records:
            self.write_results()
        return records

    def measure_source(self) -> None:
        """Measure what concerns the data alone, once."""
        name = self.experiment.source_table
        path = self.table_path(name)
        if name and not path.exists() and is_first():
            write_json(path, self.experiment.measure_source(self.source))

    def keep_inputs(self) -> None:
        """Keep the first test sets of every setting with their targets, for a report."""
        if not self.data:  # signals: nothing that one could look at
            return
        for setting in self.preset.settings:
            path = self.path("examples", f"{self._slug(setting)}.npz")
            if not path.exists() and is_first():
                x, y = self.sets(setting, "test").part(0, NUM_EXAMPLES)
                x = self.experiment.example_inputs(x)
                more = self.experiment.example_arrays(self.source)
                arrays: dict[str, Any] = {"x": x, **self.experiment.targets_by_name(y), **more}
                write_arrays(path, arrays, half=True)

    @torch.no_grad()
    def _keep_outputs(self, run: RunDirectory, setting: str, network: Network) -> None:
        """Keep what a network makes of these sets, if not all outputs are kept anyway."""
        if not self.experiment.task.keep_outputs:
            x, _ = self.sets(setting, "test").part(0, NUM_EXAMPLES)
            output = outputs_of(network, x)[0]
            write_arrays(run.path / "examples.npz", {"output": output}, half=True)

    def record(self, setting: str, model: str, **more: Any) -> Record:
        """Return what all records of a run have in common; metric and value are still to come."""
        return Record(
            experiment=self.experiment.name,
            model=model,
            metric="",
            value=math.nan,
            recipe=self.config.recipe,
            setting=setting,
            data=self.name,
            preset=self.config.preset,
            device=device_name(self.device),
            **more,
        )

    def write(
        self,
        run: RunDirectory,
        record: Record,
        config: Mapping[str, Any],
        curves: Sequence[Mapping[str, float]],
        found: Evaluation | None,
    ) -> list[Record]:
        """Write a run and return its records, one for each metric."""
        arrays: dict[str, Tensor] = {}
        if found is None:
            records = [replace(record, metric=m.name) for m in self.experiment.task.metrics]
        else:
            arrays = dict(found.values)
            records = [
                replace(record, metric=name, value=found.mean(name), test_size=len(values))
                for name, values in found.values.items()
            ]
            if isinstance(found.outputs, Tensor) and isinstance(found.targets, Tensor):
                targets = self.experiment.targets_by_name(found.targets)
                arrays |= {"output": found.outputs, **targets}
        run.write(config, curves, arrays, records)
        return records

    def write_results(self) -> list[Record]:
        """Write the records of all finished runs, if there are any, and return them."""
        if records := all_records(self.out):
            write_records(self.out / "results.json", records)
        return records


def run_config(record: Record) -> dict[str, Any]:
    """Return the fields of a record that describe its run, for its configuration."""
    measured = ("metric", "value", "split", "test_size")
    return {name: value for name, value in asdict(record).items() if name not in measured}


def all_records(out: Path) -> list[Record]:
    """Return the records of all finished runs."""
    directories = [RunDirectory(path) for path in sorted((out / "runs").glob("*"))]
    return [record for run in directories if run.finished for record in run.records()]

"""A study: many runs of one experiment in one directory."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from glob import escape
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import nn

from symsets._files import write_json
from symsets.experiments.study.evaluator import Evaluator, all_records, run_config
from symsets.experiments.study.records import Record
from symsets.experiments.study.runs import RunGroup, claim_directory
from symsets.experiments.study.search import (
    FIRST,
    Tried,
    best_rate,
    read_searches,
    search_learning_rate,
)
from symsets.experiments.study.validations import validate_after
from symsets.models.registry import registered_name
from symsets.nn.circular import SymmetryWarning
from symsets.saving import save_registered
from symsets.train.fitted import Fitted
from symsets.train.fitting import fit_together
from symsets.train.plan import Plan
from symsets.train.processes import is_first

SEARCH_SIZE, SEARCH_EPOCHS = 3000, 5
STEPS_PER_VALIDATION = 40
LEAST_PATIENCE = 3  # epochs

Watch = Callable[[int, float], None]
"""Called with the number of finished epochs and the mean validation metric."""


@dataclass(eq=False)
class Study(Evaluator):
    """All runs of an experiment in one directory, and what it takes to make them.

    Attributes:
        together: Train all seeds of a model as one computation.
        groups: The runs that were left to do when the study was opened.
    """

    together: bool = False
    groups: list[RunGroup] = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if is_first():
            config = {"experiment": self.experiment.name, **asdict(self.config)}
            claim_directory(self.out, {**config, "width": self.preset.width})
        all_records(self.out)  # a damaged one is named before anything is trained
        self.groups = self._open_groups()

    def _open_groups(self) -> list[RunGroup]:
        """Return the groups that still have to run, the largest training sets first."""
        preset, groups = self.preset, []
        sizes = zip(preset.train_sizes, preset.epochs, strict=True)
        for (size, epochs), setting, model in product(sizes, preset.settings, preset.models):
            runs = {seed: self.run(setting, model, size, seed) for seed in range(preset.seeds)}
            left = tuple(seed for seed, run in runs.items() if not run.finished)
            parts = [left] if self.together else [(seed,) for seed in left]
            groups += [RunGroup(setting, model, size, epochs, part) for part in parts if part]
        return groups

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs to work on the study; it makes its own sets."""
        return {**vars(self), "out": self.out.absolute(), "_sets": {}}

    def network(self, setting: str, model: str, seed: int) -> nn.Module:
        """Return a freshly initialised network."""
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return self.experiment.make_network(
                model, self.config.recipe, self.preset.width, setting, self.source
            )

    def plan(self, setting: str, model: str, epochs: int, learning_rate: float) -> Plan:
        """Return how to train."""
        plan = replace(
            self.experiment.make_plan(self.config.recipe, epochs, setting),
            learning_rate=learning_rate,
            precision=self.config.precision,
        )
        if self.config.keep is not None:
            patience = min(plan.patience, max(LEAST_PATIENCE, epochs // 3))
            plan = replace(plan, keep=self.config.keep, patience=patience)
        own = self.experiment.batch_size(self.config.recipe, setting, model)
        return replace(plan, batch_size=self.preset.batch_size or own or plan.batch_size)

    def learning_rate(self, setting: str, model: str) -> float:
        """Return the learning rate of a model; search for it if none is set or found before."""
        if self.config.learning_rate is not None:
            return self.config.learning_rate
        tried = self.searched(setting, model)
        if tried is None:
            tried = self.search(trial := self.trial(setting, model))
            if is_first():
                self.keep_search(trial, tried)
        return best_rate(tried, larger_is_better=self._larger_is_better) or FIRST

    def searched(self, setting: str, model: str) -> Tried | None:
        """Return what was found for a model before, or None if nothing was."""
        return read_searches(self.table_path("search", setting)).get(model)

    def trial(self, setting: str, model: str) -> RunGroup:
        """Return the run that a search makes at every learning rate."""
        size = min(SEARCH_SIZE, max(self.preset.train_sizes))
        return RunGroup(setting, model, size, SEARCH_EPOCHS, seeds=(0,))

    def search(self, trial: RunGroup, watch: Watch = lambda epoch, value: None) -> Tried:
        """Return what learning rates give on validation, by what chooses the epoch to keep."""

        def measure(rate: float) -> float | None:
            plan = self.plan(trial.setting, trial.model, trial.epochs, rate)
            _, (fitted,) = self._train(trial, plan, watch=watch)
            if fitted.failed:
                return None
            losses = (row["val_loss"] for row in fitted.curves)
            least = min((loss for loss in losses if loss == loss), default=None)
            return least if plan.keep == "loss" else fitted.best_metric

        with self._quietly():
            return search_learning_rate(measure, larger_is_better=self._larger_is_better)

    def keep_search(self, trial: RunGroup, tried: Tried) -> None:
        """Write what a search has found."""
        path = self.table_path("search", trial.setting)
        write_json(path, {**read_searches(path), trial.model: tried})

    @property
    def _larger_is_better(self) -> bool:
        return self.config.keep != "loss" and self.experiment.task.metric.larger_is_better

    def run_group(self, group: RunGroup, watch: Watch = lambda epoch, value: None) -> list[Record]:
        """Train a group, test it and write its runs."""
        with self._quietly():
            rate = self.learning_rate(group.setting, group.model)
            plan = self.plan(group.setting, group.model, group.epochs, rate)
            plan = validate_after(plan, STEPS_PER_VALIDATION, group.train_size)
            checkpoint, whole = self._checkpoint(group)
            networks, fitted = self._train(whole, plan, checkpoint, watch)
            if not is_first():
                return []
            records = [
                record
                for seed, network, one in zip(whole.seeds, networks, fitted, strict=True)
                if seed in group.seeds
                for record in self._finish(whole, seed, network, one, plan)
            ]
        checkpoint.unlink(missing_ok=True)
        self.write_results()
        return records

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Silence a known warning."""
        with warnings.catch_warnings():
            # Stride 2 meets the odd length 25: the published signals network is only nearly
            # invariant, and says so to whoever makes one.
            warnings.simplefilter("ignore", SymmetryWarning)
            yield

    def _checkpoint(self, group: RunGroup) -> tuple[Path, RunGroup]:
        """Return where a group is kept on its way, and the group with all seeds of its training.

        Some of those that began together may have been finished since.
        """
        folder = self.out / "unfinished"
        stem = self._slug(group.setting, group.model, str(group.train_size))
        for path in sorted(folder.glob(f"{escape(stem)}-*.ckpt")) if self.together else ():
            words = path.stem.removeprefix(f"{stem}-").split("-")
            seeds = tuple(int(word) for word in words if word.isdigit())
            if len(set(seeds)) == len(words) and set(group.seeds) <= set(seeds):
                return path, replace(group, seeds=seeds)
        return self.path("unfinished", f"{stem}-{'-'.join(map(str, group.seeds))}.ckpt"), group

    def _train(
        self,
        group: RunGroup,
        plan: Plan,
        checkpoint: Path | None = None,
        watch: Watch = lambda epoch, value: None,
    ) -> tuple[list[nn.Module], list[Fitted]]:
        """Return freshly trained networks, one for each seed, and how that went."""
        networks = [self.network(group.setting, group.model, seed) for seed in group.seeds]
        fitted = fit_together(
            networks,
            group.seeds,
            plan,
            self.sets(group.setting, "train").first(group.train_size),
            self.sets(group.setting, "val"),
            self.experiment.task,
            device=self.device,
            checkpoint=checkpoint,
            progress=lambda epoch, values: watch(epoch + 1, sum(values) / len(values)),
        )
        return networks, fitted

    def _finish(
        self, group: RunGroup, seed: int, network: nn.Module, fitted: Fitted, plan: Plan
    ) -> list[Record]:
        run, found = self.run(group.setting, group.model, group.train_size, seed), None
        if not fitted.failed and fitted.best:  # no epoch is best if all metrics are NaN
            dtype = torch.float64 if plan.precision == "float64" else torch.float32
            network.to(self.device, dtype).load_state_dict(fitted.best)  # no digit is lost
            found = self.measure(run, group.setting, network, plan.precision, plan.evaluation_batch)
            if name := registered_name(type(network)):
                save_registered(run.path, name, network.arguments, network.state_dict())  # type: ignore[arg-type]
        record = self.record(
            group.setting,
            group.model,
            scheme=group.model,
            train_size=group.train_size,
            epochs=fitted.epochs,
            seed=seed,
            parameters=sum(p.numel() for p in network.parameters()),
            seconds=round(fitted.seconds / len(group.seeds), 2),
        )
        config = {
            **run_config(record),
            **asdict(plan),
            "data_seed": self.config.data_seed,
            "seeds_together": list(group.seeds),
        }
        return self.write(run, record, config, fitted.curves, found)

"""A study: many runs of one experiment in one directory, made by one process or by several."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from glob import escape
from itertools import product
from pathlib import Path

import torch
from torch import nn

from symsets._files import file_lock
from symsets.experiments.study.evaluator import Evaluator, all_records, run_config
from symsets.experiments.study.records import Record
from symsets.experiments.study.runs import RunDirectory, RunGroup, claim_directory
from symsets.experiments.study.search import search_learning_rate
from symsets.experiments.study.validations import validate_after
from symsets.models.registry import registered_name
from symsets.nn.circular import SymmetryWarning
from symsets.saving import save_registered
from symsets.train.fitted import Fitted
from symsets.train.fitting import fit_together
from symsets.train.plan import Plan
from symsets.train.processes import is_alone, is_first

SEARCH_SIZE, SEARCH_EPOCHS = 3000, 5
STEPS_PER_VALIDATION = 40

Watch = Callable[[int, float], None]
"""Called with the number of finished epochs and the mean validation metric."""


@dataclass(eq=False)
class Study(Evaluator):
    """All runs of an experiment in one directory, and what it takes to make them.

    Several processes, on one machine or on several that share a disk, may work at one study: each
    takes runs that no other process is making.

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
            cost = self.experiment.relative_cost(model)
            parts = [left] if self.together else [(seed,) for seed in left]
            groups += [RunGroup(setting, model, size, epochs, part, cost) for part in parts if part]
        return groups

    def take_groups(self) -> Iterator[RunGroup]:
        """Yield the groups one by one that no other process is training, until none is left for us.

        While the caller trains a group, other processes pass it by; what a process that died leaves
        behind, another takes up. Processes of one launcher (``torchrun``) all get every group,
        since they train it together.
        """
        waiting = self.groups
        while waiting:
            passed = []
            for group in waiting:
                with ExitStack() as stack:
                    ours = not is_alone() or all(
                        stack.enter_context(file_lock(path, wait=False))
                        for path in self._locks(group)
                    )
                    if not ours:
                        passed.append(group)
                    elif left := self._unfinished(group):
                        yield left
            if len(passed) == len(waiting):
                return
            waiting = passed

    def left(self) -> list[RunGroup]:
        """Return the groups that are not finished, with the seeds that are left."""
        return [rest for group in self.groups if (rest := self._unfinished(group))]

    def _unfinished(self, group: RunGroup) -> RunGroup | None:
        seeds = tuple(seed for seed in group.seeds if not self._run_of(group, seed).finished)
        return replace(group, seeds=seeds) if seeds else None

    def _locks(self, group: RunGroup) -> list[Path]:
        names = [self._run_of(group, seed).path.name for seed in group.seeds]
        return [self.path("unfinished", f"{name}.lock") for name in names]

    def _run_of(self, group: RunGroup, seed: int) -> RunDirectory:
        return self.run(group.setting, group.model, group.train_size, seed)

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
        own = self.experiment.batch_size(self.config.recipe, setting, model)
        return replace(plan, batch_size=self.preset.batch_size or own or plan.batch_size)

    def learning_rate(self, setting: str, model: str) -> float:
        """Return the learning rate of a model; search for it once if none is set."""
        if self.config.learning_rate is not None:
            return self.config.learning_rate
        size = min(SEARCH_SIZE, max(self.preset.train_sizes))
        trial = RunGroup(setting, model, size, SEARCH_EPOCHS, seeds=(0,))

        def measure(rate: float) -> float | None:
            _, (fitted,) = self._train(trial, self.plan(setting, model, trial.epochs, rate))
            return None if fitted.failed else fitted.best_metric

        larger = self.experiment.task.metric.larger_is_better
        path = self.table_path("search", setting)
        return search_learning_rate(path, model, measure, larger_is_better=larger)

    def run_group(self, group: RunGroup, watch: Watch = lambda epoch, value: None) -> list[Record]:
        """Train a group, test it and write its runs."""
        with self._unless_removed(), warnings.catch_warnings():
            # Stride 2 meets the odd length 25: the published signals network is only nearly
            # invariant, and says so to whoever makes one.
            warnings.simplefilter("ignore", SymmetryWarning)
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
    def _unless_removed(self) -> Iterator[None]:
        """Say that the directory was removed, if that is why a file cannot be written."""
        try:
            yield
        except FileNotFoundError:
            self.path("runs")
            raise

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
        run, found = self._run_of(group, seed), None
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

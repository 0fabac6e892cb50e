"""Classification with multiple measurements: which wave is behind 25 noisy copies of it?"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from symsets.data import LabelledSets, Signals
from symsets.experiments import words
from symsets.models.signals import MODELS, RECIPES, SignalNetwork
from symsets.nn.circular import SymmetryWarning
from symsets.saving import save
from symsets.train.ensemble import Ensemble
from symsets.train.fit import Fitted, fit, predict
from symsets.train.metrics import ACCURACY
from symsets.train.plan import Plan
from symsets.train.processes import is_first
from symsets.train.records import Record, device_name, write_json, write_records
from symsets.train.runs import RunDirectory, claim_directory

__all__ = ["PRESETS", "PUBLISHED_MODELS", "Group", "Preset", "Settings", "Study", "make_study"]

PUBLISHED_MODELS = (
    "dss-sum",
    "deepsets",
    "siamese",
    "siamese-ds",
    "mlp",
    "sridhar",
    "aittala",
    "dss-max",
    "deepsets-max",
)
LEARNING_RATE_GRID = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
SEARCH_SIZE, SEARCH_EPOCHS = 3000, 5
AVERAGE = 0.98  # of the weights, over about 50 steps
STEPS_PER_VALIDATION = 40
RELATIVE_COST = {"mlp": 0.1, "deepsets": 0.2, "deepsets-max": 0.2, "aittala": 1.5}


@dataclass(frozen=True)
class Preset:
    """A size of the experiment.

    Attributes:
        models: What is compared.
        train_sizes: Numbers of training sets, largest first.
        seeds: Number of initialisations.
        epochs: Passes over the training sets, for each size.
        width: Networks have this fraction of the published channels.
        test_size: Number of validation sets, and of test sets.
        duration: How long that takes, in words.
    """

    models: tuple[str, ...]
    train_sizes: tuple[int, ...]
    seeds: int
    epochs: tuple[int, ...]
    width: float = 1.0
    test_size: int = 3000
    duration: str = ""

    def epochs_at(self, train_size: int) -> int:
        """Return the epochs of the preset's size that is nearest, on a scale of factors."""
        nearest = min(self.train_sizes, key=lambda size: abs(math.log(size / train_size)))
        return self.epochs[self.train_sizes.index(nearest)]


PRESETS = {
    "smoke": Preset(
        models=("dss-sum", "siamese"),
        train_sizes=(300,),
        seeds=1,
        epochs=(2,),
        width=0.1,
        test_size=300,
        duration="a few seconds",
    ),
    "quick": Preset(
        models=("dss-sum", "deepsets", "siamese", "sridhar"),
        train_sizes=(2000,),
        seeds=1,
        epochs=(6,),
        width=0.2,
        test_size=1000,
        duration="about two minutes on two cores",
    ),
    "paper": Preset(
        models=PUBLISHED_MODELS,
        train_sizes=(30_000, 10_000, 3000, 1000, 300),
        seeds=5,
        epochs=(30, 40, 60, 100, 200),
        duration="about an hour on one H200; days on a CPU",
    ),
}


@dataclass(frozen=True)
class Settings:
    """What a study is made of; all of it decides the numbers.

    Attributes:
        preset: Name of the preset the others started from.
        recipe: ``"ours"`` or ``"published"``.
        learning_rate: For all models, or None to search for each.
        epochs: At every size, or None for those of the preset.
        data_seed: Fixes the data.
        precision: Of the training.
    """

    preset: str = "quick"
    recipe: str = "ours"
    learning_rate: float | None = 1e-3
    epochs: int | None = None
    data_seed: int = 0
    precision: str = "float32"


@dataclass(frozen=True)
class Group:
    """Runs that are trained together: one model at one size, some seeds."""

    model: str
    train_size: int
    epochs: int
    seeds: tuple[int, ...]

    @property
    def name(self) -> str:
        """What a progress bar shows."""
        return f"{self.model}, {self.train_size:,} sets"

    @property
    def cost(self) -> float:
        """How much there is to compute, for the time that is left."""
        return self.epochs * self.train_size * len(self.seeds) * RELATIVE_COST.get(self.model, 1.0)


Watch = Callable[[int, float], None]
"""Called with the number of finished epochs and the mean validation accuracy."""


def plan_groups(preset: Preset, out: Path, settings: Settings, *, together: bool) -> list[Group]:
    """Return the groups that still have to run, the largest training sets first."""
    groups = []
    for size, epochs in zip(preset.train_sizes, preset.epochs, strict=True):
        for model in preset.models:
            open_ = [
                seed
                for seed in range(preset.seeds)
                if not RunDirectory(run_path(out, model, settings.recipe, size, seed)).finished
            ]
            parts = [tuple(open_)] if together else [(seed,) for seed in open_]
            groups += [Group(model, size, epochs, part) for part in parts if part]
    return groups


def run_path(out: Path, model: str, recipe: str, train_size: int, seed: int) -> Path:
    """Return the directory of one run."""
    return out / "runs" / f"{model}-{recipe}-{train_size}-seed{seed}"


class Study:
    """All runs of the experiment in one directory.

    Args:
        out: The directory.
        preset: What to run.
        settings: How.
        device: Where to train.
        together: Train all seeds of a model as one computation.
    """

    def __init__(
        self, out: Path, preset: Preset, settings: Settings, device: str, *, together: bool
    ) -> None:
        self.out = out
        self.preset = preset
        self.settings = settings
        self.device = device
        if is_first():
            configuration = {"experiment": "signals", **asdict(settings), "width": preset.width}
            claim_directory(out, configuration)
        self.groups = plan_groups(preset, out, settings, together=together)
        self._data: dict[str, LabelledSets] = {}

    def data(self, split: str) -> LabelledSets:
        """Return the sets of a split, made once, on the device."""
        if split not in self._data:
            size = max(self.preset.train_sizes) if split == "train" else self.preset.test_size
            sets = Signals(seed=self.settings.data_seed).make(split, size, self.device)
            double = self.settings.precision == "float64"
            self._data[split] = sets.to(self.device, torch.float64 if double else None)
        return self._data[split]

    def network(self, model: str, seed: int) -> SignalNetwork:
        """Return a freshly initialised network."""
        widths = [max(2, round(self.preset.width * w)) for w in MODELS[model]]
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return SignalNetwork(model, recipe=self.settings.recipe, widths=widths)

    def plan(self, epochs: int, learning_rate: float) -> Plan:
        """Return how to train."""
        ours = self.settings.recipe == "ours"
        return Plan(
            epochs,
            learning_rate=learning_rate,
            schedule="cosine" if ours else "constant",
            average=AVERAGE if ours else 0.0,
            precision=self.settings.precision,
        )

    def learning_rate(self, model: str) -> float:
        """Return the learning rate of a model; search for it once if none is set."""
        if self.settings.learning_rate is not None:
            return self.settings.learning_rate
        return self.search_learning_rate(model)

    def run_group(self, group: Group, watch: Watch) -> list[Record]:
        """Train a group, test it and write its runs."""
        with warnings.catch_warnings():
            # Stride 2 meets the odd length 25: the published network is only nearly invariant.
            warnings.simplefilter("ignore", SymmetryWarning)
            return self._run_group(group, watch)

    def _run_group(self, group: Group, watch: Watch) -> list[Record]:
        plan = self.plan(group.epochs, self.learning_rate(group.model)).validating_after(
            STEPS_PER_VALIDATION, group.train_size
        )
        networks = [self.network(group.model, seed) for seed in group.seeds]
        seeds = f"{group.seeds[0]}-{group.seeds[-1]}"
        checkpoint = self.out / "unfinished" / f"{group.model}-{group.train_size}-{seeds}.ckpt"
        fitted = self._fit(
            networks, group.seeds, plan, group.train_size, checkpoint=checkpoint, watch=watch
        )
        if not is_first():
            return []
        records = [
            self._finish(group, seed, network, one, plan)
            for seed, network, one in zip(group.seeds, networks, fitted, strict=True)
        ]
        checkpoint.unlink(missing_ok=True)
        write_records(self.out / "results.json", all_records(self.out))
        return records

    def _fit(
        self,
        networks: Sequence[SignalNetwork],
        seeds: Sequence[int],
        plan: Plan,
        train_size: int,
        *,
        checkpoint: Path | None = None,
        watch: Watch = lambda epoch, accuracy: None,
    ) -> list[Fitted]:
        return fit(
            networks,
            seeds,
            plan,
            self.data("train").first(train_size),
            self.data("val"),
            cross_entropy,
            ACCURACY,
            device=self.device,
            checkpoint=checkpoint,
            progress=lambda epoch, values: watch(epoch + 1, sum(values) / len(values)),
        )

    def search_learning_rate(self, model: str) -> float:
        """Try the paper's grid once per model, with one seed and few epochs; keep the values."""
        path = self.out / "search.json"
        found: dict[str, dict[str, float]] = json.loads(path.read_text()) if path.exists() else {}
        if model not in found:
            size = min(SEARCH_SIZE, max(self.preset.train_sizes))
            found[model] = {}
            for rate in LEARNING_RATE_GRID:
                plan = self.plan(SEARCH_EPOCHS, rate)
                fitted = self._fit([self.network(model, seed=0)], [0], plan, size)[0]
                found[model][f"{rate:g}"] = 0.0 if fitted.failed else fitted.best_metric or 0.0
            write_json(path, found)
        return float(max(found[model], key=lambda rate: found[model][rate]))

    def _finish(
        self, group: Group, seed: int, network: SignalNetwork, fitted: Fitted, plan: Plan
    ) -> Record:
        test = self.data("test")
        value = float("nan")
        outputs = torch.full((len(test.y), 3), float("nan"))
        path = run_path(self.out, group.model, self.settings.recipe, group.train_size, seed)
        if not fitted.failed:
            network.load_state_dict(fitted.best)
            network.to(self.device, test.x.dtype)
            outputs = predict(Ensemble([network]).to(self.device), test, plan.precision)[0]
            value = ACCURACY(outputs, test.y)
            save(path, "signals", network.arguments, network.state_dict())
        record = Record(
            experiment="signals",
            model=group.model,
            scheme=group.model,
            recipe=self.settings.recipe,
            data="generated signals",
            preset=self.settings.preset,
            train_size=group.train_size,
            epochs=fitted.epochs,
            seed=seed,
            metric=ACCURACY.name,
            value=value,
            parameters=sum(p.numel() for p in network.parameters()),
            seconds=round(fitted.seconds / len(group.seeds), 2),
            device=device_name(self.device),
        )
        configuration = {
            **{k: v for k, v in asdict(record).items() if k not in ("metric", "value", "split")},
            **asdict(plan),
            "data_seed": self.settings.data_seed,
            "seeds_together": list(group.seeds),
        }
        RunDirectory(path).write(configuration, fitted.curves, outputs, test.y, [record])
        return record


def all_records(out: Path) -> list[Record]:
    """Return the records of all finished runs."""
    directories = [RunDirectory(path) for path in sorted((out / "runs").glob("*"))]
    return [record for run in directories if run.finished for record in run.records()]


def make_study(
    out: Path,
    *,
    preset: str = "quick",
    models: str | None = None,
    train_sizes: str | None = None,
    seeds: int | None = None,
    recipe: str = "ours",
    device: str = "cpu",
    precision: str = "float32",
    learning_rate: str = "1e-3",
    epochs: int | None = None,
    data_seed: int = 0,
    together: bool = False,
) -> Study:
    """Return the study that a user described in words; one sentence for each wrong one."""
    words.chosen_word("recipe", recipe, RECIPES)
    chosen = PRESETS[words.chosen_word("preset", preset, PRESETS)]
    if models is not None:
        chosen = replace(chosen, models=words.names("models", models, MODELS))
    if train_sizes is not None:
        sizes = words.sizes("train-sizes", train_sizes)
        chosen = replace(chosen, train_sizes=sizes, epochs=tuple(map(chosen.epochs_at, sizes)))
    if epochs is not None:
        chosen = replace(chosen, epochs=(epochs,) * len(chosen.train_sizes))
    if seeds is not None:
        chosen = replace(chosen, seeds=seeds)
    settings = Settings(
        preset, recipe, words.learning_rate(learning_rate), epochs, data_seed, precision
    )
    Plan(1, precision=precision)  # one sentence if there is no such precision
    return Study(out, chosen, settings, device, together=together)


def announcement(study: Study) -> str:
    """Say what a study is about to do."""
    preset, runs = study.preset, sum(len(group.seeds) for group in study.groups)
    width = "" if preset.width == 1 else f", networks {preset.width:g} times as wide as published"
    sizes = " and ".join(f"{size:,}" for size in preset.train_sizes)
    left = f"{runs} runs to go" if runs else "all runs are finished"
    duration = f"          the whole preset takes {preset.duration}\n" if runs else ""
    return (
        "Each set holds 25 noisy copies of one periodic signal: a sine, a square or a\n"
        "sawtooth wave? The noise is three times as strong as the signal, so no copy\n"
        "tells by itself; a network has to bring the copies together, early.\n\n"
        f"  models  {', '.join(preset.models)}\n"
        f"  sets    {sizes} for training{width}\n"
        f"  runs    {preset.seeds} per model and size, on {study.device}; {left}\n"
        f"{duration}"
    )

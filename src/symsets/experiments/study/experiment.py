"""What an experiment is: a class whose methods say what differs from other experiments."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from symsets._checks import check_choice
from symsets.data.labelled import SetDataset
from symsets.experiments.study.validations import epochs_between_validations
from symsets.models._blocks import RECIPES
from symsets.train.metrics import ACCURACY, Task
from symsets.train.plan import Plan

EXPERIMENTS = (
    "signals",
    "quality",
    "colors",
    "bursts",
    "frames",
    "shapes",
    "views",
    "satellite",
    "subgraphs",
    "tables",
    "weights",
)
PUBLISHED_MODELS = ("siamese-ds", "dss-sum", "dss-max", "sridhar", "aittala")  # of most experiments
PATIENCE = 20  # epochs of recipe published; the paper stops early but does not say how
CLASSIFY = Task(cross_entropy, (ACCURACY,))  # selecting is classifying: one score per element


@dataclass(frozen=True)
class Preset:
    """A size of an experiment.

    Attributes:
        models: What is compared.
        train_sizes: Numbers of training sets, largest first.
        epochs: Passes over the training sets, for each size.
        seeds: Number of initialisations.
        published_epochs: The same for recipe ``"published"``, if the paper says it.
        width: Networks have this fraction of the published channels.
        test_size: Number of validation sets, and of test sets.
        batch_size: Sets in a step; the published number if left out.
        settings: Settings of the experiment; all of them if left out.
        equal_chances: Whether every model has a learning rate of its own, by the same search for
            all, and stops early, by the validation loss.
        duration: How long that takes, in words.
    """

    models: tuple[str, ...]
    train_sizes: tuple[int, ...]
    epochs: tuple[int, ...]
    seeds: int = 1
    published_epochs: int | None = None
    width: float = 1.0
    test_size: int = 3000
    batch_size: int | None = None
    settings: tuple[str, ...] = ()
    equal_chances: bool = False
    duration: str = ""

    def epochs_at(self, train_size: int) -> int:
        """Return the epochs of the preset's size that is nearest, on a scale of factors."""
        nearest = min(self.train_sizes, key=lambda size: abs(math.log(size / train_size)))
        return self.epochs[self.train_sizes.index(nearest)]

    def check_train_sizes(self, most: float, available: str) -> None:
        """Raise ValueError if more than ``most`` training sets are asked for."""
        if (asked := max(self.train_sizes)) > most:
            raise ValueError(
                f"{available} for training, but {asked} are asked for: choose --train-sizes {most} "
                "or less"
            )


# What most experiments start from; each changes what differs.
SMOKE = Preset(
    models=("dss-sum", "siamese-ds"),
    train_sizes=(16,),
    epochs=(2,),
    width=0.25,
    test_size=8,
    batch_size=4,
    duration="a few seconds",
)
QUICK = replace(SMOKE, test_size=64, batch_size=8, duration="about three minutes on two cores")
PAPER = Preset(
    models=PUBLISHED_MODELS,
    train_sizes=(20_000,),
    epochs=(6,),
    seeds=3,
    published_epochs=200,
    test_size=2000,
    equal_chances=True,
    duration="hours on one GPU (never timed as a whole)",
)


@dataclass(frozen=True)
class StudyConfig:
    """What all runs of a study have in common, as ``study.json`` keeps it; it decides numbers.

    Attributes:
        preset: Name of the preset the study started from.
        recipe: ``"ours"``, ``"published"``, or another of the experiment.
        learning_rate: For all models, or None to search for each.
        epochs: At every size, or None for those of the preset.
        data_seed: Fixes the data.
        precision: Of the training.
        keep: What chooses the epoch to keep and stops early, or None for what the recipe says.
    """

    preset: str = "quick"
    recipe: str = "ours"
    learning_rate: float | None = 1e-3
    epochs: int | None = None
    data_seed: int = 0
    precision: str = "float32"
    keep: str | None = None


class Source(Protocol):
    """Where the data of an experiment come from."""

    @property
    def name(self) -> str:
        """What tables call the data."""
        ...


@dataclass(frozen=True)
class Generated:
    """The source of an experiment that makes its sets without any data."""

    name: str
    seed: int


SourceT = TypeVar("SourceT", bound=Source)


class Experiment(Generic[SourceT]):
    """A question about sets, with its data and the networks that are compared on it.

    An experiment of your own needs four attributes and two methods; all other methods may be
    overridden, too. ``symsets.models.register_network`` makes its networks known to
    ``symsets.load``: give its name as ``network``, and weights are kept. This one asks whether the
    numbers of a set are spread widely, which no number tells by itself:

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import torch
        >>> from symsets.cli.options import RunOptions
        >>> from symsets.data import LabelledSets
        >>> from symsets.experiments.study.describe import make_study
        >>> from symsets.nn import Classify, Sequential, set_layer
        >>> class SpreadExperiment(Experiment):
        ...     name = "spread"
        ...     models = ("siamese", "dss-sum")
        ...     presets = {"smoke": Preset(models, train_sizes=(512,), epochs=(20,))}
        ...     task = CLASSIFY  # cross-entropy and accuracy
        ...
        ...     def make_sets(self, source, setting, split, num, device, seed):
        ...         generator = torch.Generator().manual_seed(seed)
        ...         y = torch.randint(2, (num,), generator=generator)
        ...         x = torch.randn(num, 8, 1, generator=generator) * (1 + 2 * y)[:, None, None]
        ...         return LabelledSets(x, y)
        ...
        ...     def make_network(self, model, recipe, width, setting, source):
        ...         layer = set_layer(model, torch.nn.Linear, 1, 32)
        ...         return Sequential(layer, torch.nn.ReLU(), Classify(32, 2))
        >>> options = RunOptions(preset="smoke", lr="0.01", out=Path(tempfile.mkdtemp()))
        >>> study = make_study(SpreadExperiment(), options)
        >>> records = [r for group in study.groups for r in study.run_group(group)]
        >>> [(record.model, record.metric, record.value > 0.9) for record in records]
        [('siamese', 'accuracy', True), ('dss-sum', 'accuracy', True)]

    Attributes:
        name: As users type it.
        story: What it is about, in a few lines of at most 79 characters.
        models: The words for its models.
        takes_schemes: Whether names of schemes are models as well.
        recipes: The ways to build and train them.
        presets: By name.
        task: What is learnt and measured.
        plans: How each recipe trains: arguments of :class:`~symsets.train.Plan`, and
            ``validations``, how many there are at least where every epoch would be too dear.
        settings: Variants of the data.
        baselines: Functions of sets that give what a network would, by name.
        default_data: What a user who names no data gets; empty if there is no choice of data.
        source_table: The file for what :meth:`measure_source` returns, without its ``.json``.
    """

    name: str
    story: str = ""
    models: Collection[str]
    takes_schemes: bool = True
    recipes: tuple[str, ...] = RECIPES
    presets: Mapping[str, Preset]
    task: Task
    plans: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    settings: tuple[str, ...] = ("",)
    baselines: ClassVar[Mapping[str, Callable[[Tensor], Tensor]]] = {}
    default_data: str = ""
    source_table: str = ""

    def make_sets(
        self, source: SourceT, setting: str, split: str, num: int, device: str, seed: int
    ) -> SetDataset:
        """Make ``num`` sets of a split at a setting; the seed fixes those of evaluation."""
        raise NotImplementedError

    def make_network(
        self, model: str, recipe: str, width: float, setting: str, source: SourceT
    ) -> nn.Module:
        """Make a freshly initialised network with a fraction ``width`` of its channels."""
        raise NotImplementedError

    def prepare(self, network: nn.Module, source: SourceT) -> None:
        """Give a network that was trained on other data what it needs of these."""

    def make_plan(self, recipe: str, epochs: int, setting: str) -> Plan:
        """Say how a recipe trains for so many epochs."""
        options: dict[str, Any] = {"schedule": "constant" if recipe == "published" else "cosine"}
        options |= self.plans.get(recipe, {})
        options.pop("learning_rate", None)  # a study decides it
        if least := options.pop("validations", 0):
            options["validate_every"] = epochs_between_validations(epochs, at_least=least)
        return Plan(epochs, **options)

    def batch_size(self, recipe: str, setting: str, model: str) -> int | None:
        """Return the sets in a step of a model, where they differ from those of the plan."""
        return None

    def learning_rate(self, recipe: str) -> float:
        """Return the learning rate if a user gives none."""
        return self.plans.get(recipe, {}).get("learning_rate", 1e-3)

    def open_source(self, data: str, seed: int) -> SourceT:
        """Open the data that a user names; the seed fixes what is generated."""
        return Generated(f"generated {self.name}", seed)  # type: ignore[return-value]

    def settings_of(self, source: SourceT) -> tuple[str, ...]:
        """Return the settings that a source allows."""
        return self.settings

    def check_source(self, source: SourceT, preset: Preset) -> None:
        """Raise ValueError, before anything is made, if a preset cannot run on a source."""

    def measure_more(
        self, network: nn.Module, source: SourceT, setting: str, num: int, device: str
    ) -> dict[str, Tensor]:
        """Measure further metrics of a trained network, by name, on ``num`` test sets."""
        return {}

    def parts_of(self, sets: Any) -> dict[str, Tensor]:
        """Return masks of test sets; the first metric is also reported for each of these parts."""
        return {}

    def measure_source(self, source: SourceT) -> dict[str, dict[str, float]]:
        """Measure the data themselves: rows of numbers, each by a name."""
        return {}

    def targets_by_name(self, targets: Any) -> dict[str, Tensor]:
        """Return the targets of sets as they are kept: tensors by name."""
        return targets._asdict() if hasattr(targets, "_asdict") else {"target": targets}

    def example_inputs(self, x: Any) -> Tensor:
        """Return what is kept of example sets, as one tensor; the sets themselves if left out."""
        return x

    def example_arrays(self, source: SourceT) -> dict[str, Tensor]:
        """Return what a report needs to draw example sets, beside the sets and their targets."""
        return {}


def find_experiment(name: str) -> Experiment[Any]:
    """Return an experiment by its name."""
    check_choice("experiment", name, EXPERIMENTS)
    return import_module(f"symsets.experiments.{name}.experiment").EXPERIMENT


def scaled(channels: Sequence[int], width: float) -> list[int]:
    """Return a fraction of some numbers of channels, in multiples of eight.

    Example:
        >>> scaled([48, 100, 200], 0.25), scaled([50], 1)
        ([16, 24, 48], [50])
    """
    return [c if width == 1 else max(8, 8 * round(width * c / 8)) for c in channels]

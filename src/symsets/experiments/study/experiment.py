"""What makes one experiment differ from another, as a value."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from torch import Tensor, nn

from symsets._checks import check_choice
from symsets.data.labelled import SetDataset
from symsets.models._blocks import RECIPES
from symsets.train.metrics import Task
from symsets.train.plan import Plan

__all__ = [
    "EXPERIMENTS",
    "RECIPES",
    "Experiment",
    "Preset",
    "Settings",
    "Source",
    "find_experiment",
]

EXPERIMENTS = ("signals", "quality", "colors", "bursts", "frames", "shapes", "views")


@dataclass(frozen=True)
class Preset:
    """A size of an experiment.

    Attributes:
        models: What is compared.
        train_sizes: Numbers of training sets, largest first.
        seeds: Number of initialisations.
        epochs: Passes over the training sets, for each size.
        published_epochs: The same for recipe ``"published"``, if the paper says it.
        width: Networks have this fraction of the published channels.
        test_size: Number of validation sets, and of test sets.
        batch_size: Sets in a step; the published number if left out.
        settings: Settings of the experiment; all of them if left out.
        duration: How long that takes, in words.
    """

    models: tuple[str, ...]
    train_sizes: tuple[int, ...]
    seeds: int
    epochs: tuple[int, ...]
    published_epochs: int | None = None
    width: float = 1.0
    test_size: int = 3000
    batch_size: int | None = None
    settings: tuple[str, ...] = ()
    duration: str = ""

    def epochs_at(self, train_size: int) -> int:
        """Return the epochs of the preset's size that is nearest, on a scale of factors."""
        nearest = min(self.train_sizes, key=lambda size: abs(math.log(size / train_size)))
        return self.epochs[self.train_sizes.index(nearest)]


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


class Source(Protocol):
    """Where the data of an experiment come from."""

    @property
    def name(self) -> str:
        """What tables call the data."""
        ...


@dataclass(frozen=True)
class Experiment:
    """What makes one experiment differ from another.

    Attributes:
        name: As users type it.
        network: The registered name of its networks.
        story: What it is about, in a few lines.
        models: The words for its models.
        presets: By name.
        task: What is learnt and measured.
        make_network: Makes the network of a model word, a recipe, a fraction of its width, a
            setting and a source.
        prepare: Gives a network what it needs of a source beside its sets; one that was trained on
            other data needs it anew.
        make_plan: Says how a recipe trains, for so many epochs, at a setting.
        open_source: Opens the data that a user names, with a seed.
        make_sets: Makes the sets of a source, a setting and a split, so many, on a device; a seed
            fixes those of evaluation.
        settings_of: The settings that a source allows.
        check_source: Says in one sentence, before anything is made, why a preset cannot run on a
            source.
        learning_rates: The default of each recipe.
        baselines: Functions of sets that give what a network would.
        keep_more: Gives further arrays of a source that its example sets need to be seen.
        measure_more: Measures further metrics of a trained network on so many test sets of a
            source and a setting, on a device.
        parts_of: Says which test sets belong to which part of the data, where that is of interest;
            the first metric is then reported for each part, too.
        measure_source: Measures a source itself, by the name of the file that keeps it: rows of
            numbers, each by a name.
        relative_cost: Of models that are much cheaper or dearer than others.
        default_data: What a user who names no data gets.
    """

    name: str
    network: str
    story: str
    models: Collection[str]
    presets: Mapping[str, Preset]
    task: Task
    make_network: Callable[[str, str, float, str, Any], nn.Module]
    make_plan: Callable[[str, int, str], Plan]
    open_source: Callable[[str, int], Source]
    make_sets: Callable[[Any, str, str, int, str, int], SetDataset]
    prepare: Callable[[nn.Module, Any], None] = lambda network, source: None
    settings_of: Callable[[Source], tuple[str, ...]] = lambda source: ("",)
    check_source: Callable[[Any, Preset], None] = lambda source, preset: None
    learning_rates: Mapping[str, float] = field(
        default_factory=lambda: dict.fromkeys(RECIPES, 1e-3)
    )
    baselines: Mapping[str, Callable[[Tensor], Tensor]] = field(default_factory=dict)
    keep_more: Callable[[Any], dict[str, Tensor]] = lambda source: {}
    measure_more: Callable[[nn.Module, Any, str, int, str], dict[str, Tensor]] | None = None
    parts_of: Callable[[Any], dict[str, Tensor]] = lambda sets: {}
    measure_source: Mapping[str, Callable[[Any], dict[str, dict[str, float]]]] = field(
        default_factory=dict
    )
    relative_cost: Mapping[str, float] = field(default_factory=dict)
    default_data: str = ""


def find_experiment(name: str) -> Experiment:
    """Return an experiment by its name."""
    check_choice("experiment", name, EXPERIMENTS)
    experiment: Experiment = import_module(f"symsets.experiments.{name}.experiment").EXPERIMENT
    return experiment

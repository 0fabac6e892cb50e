"""What the paper printed, read from the ``published.toml`` of each experiment.

Maron, Litany, Chechik, Fetaya: "On Learning Sets of Symmetric Elements", ICML 2020. The files use
the words of ``results.json`` and the units of the paper. Here accuracies are shares of 1, mean
absolute errors grey levels of 255, and Chamfer distances are multiplied by 100.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from symsets.experiments.study.experiment import EXPERIMENTS


@dataclass(frozen=True)
class PublishedNumber:
    """One number of the paper; ``std`` is over initialisations, if one was printed."""

    mean: float
    std: float | None
    source: str


@dataclass(frozen=True)
class TrainingTime:
    """What the paper says about training times at one setting, or at all if it has no name."""

    sentence: str
    device: str
    setting: str = ""


@dataclass(frozen=True)
class Beats:
    """Each of ``models`` is better than each of ``others``, by more than ``margin``."""

    models: tuple[str, ...]
    others: tuple[str, ...]
    margin: float = 0.0


@dataclass(frozen=True)
class Below:
    """The value of ``model`` stays below ``value``."""

    model: str
    value: float


@dataclass(frozen=True)
class Improves:
    """At least so many of ``models`` are better here than at another setting."""

    over: str
    models: tuple[str, ...]
    at_least: int


@dataclass(frozen=True)
class Claim:
    """What the paper says, and what would have to be true of numbers for it to hold.

    Attributes:
        sentence: The claim, close to the paper's words.
        rule: What must be true.
        settings: The settings it speaks of; all if empty.
        reading: How a vague word was made exact.
    """

    sentence: str
    rule: Beats | Below | Improves
    settings: tuple[str, ...] = ()
    reading: str = ""


@dataclass(frozen=True)
class Published:
    """What the paper printed about one experiment; empty for an experiment of your own.

    Attributes:
        task: The question of the experiment.
        metric: What the numbers measure.
        data: The data of the paper, by the names that our sources give them.
        numbers: By setting and model, in the order of the paper.
        claims: What the paper says about its numbers.
        training_times: How long training took.
        chance: The accuracy of a random choice, where no table has it.
        mean_shape_by_skip: Validation accuracies of the mean shape, by distance between frames.
    """

    task: str = ""
    metric: str = ""
    data: tuple[str, ...] = ()
    numbers: Mapping[tuple[str, str], PublishedNumber] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    training_times: tuple[TrainingTime, ...] = ()
    chance: float | None = None
    mean_shape_by_skip: Mapping[str, float] = field(default_factory=dict)

    @property
    def settings(self) -> list[str]:
        """The settings that have numbers, if they have names."""
        return list(dict.fromkeys(setting for setting, _ in self.numbers if setting))

    def models(self, setting: str) -> list[str]:
        """Return the models of one row of the paper's tables, in its order."""
        return [model for where, model in self.numbers if where == setting]

    def chance_at(self, setting: str) -> float | None:
        """Return the accuracy of a random choice, if it is known."""
        number = self.numbers.get((setting, "random"))
        return number.mean if number else self.chance

    def training_time(self, setting: str) -> TrainingTime | None:
        """Return what is said about training times at a setting, if anything."""
        return next((time for time in self.training_times if time.setting in (setting, "")), None)


@cache
def published(experiment: str) -> Published:
    """Return what the paper printed about an experiment.

    Example:
        >>> published("frames").numbers["", "dss-sum"]
        PublishedNumber(mean=0.766, std=0.0151, source='Table 1')
    """
    if experiment not in (*EXPERIMENTS, "orbits"):
        return Published()
    path = resources.files("symsets.experiments").joinpath(experiment, "published.toml")
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    scale = 100 if content.get("metric") == "accuracy" else 1  # printed in per cent
    content["data"] = tuple(content.get("data", ()))
    content["numbers"] = _numbers(content.pop("tables", ()), scale)
    content["claims"] = tuple(_claim(**claim) for claim in content.get("claims", ()))
    times = content.get("training_times", ())
    content["training_times"] = tuple(TrainingTime(**time) for time in times)
    return Published(**content)


def _numbers(tables: Any, scale: float) -> dict[tuple[str, str], PublishedNumber]:
    return {
        (table.get("setting", ""), model): PublishedNumber(
            round(mean / scale, 6), round(std[0] / scale, 6) if std else None, table["source"]
        )
        for table in tables
        for model, (mean, *std) in table["numbers"].items()
    }


def _claim(*, settings: Any = (), **entries: Any) -> Claim:
    for key, kind in (("beats", Beats), ("below", Below), ("improves", Improves)):
        if key in entries:
            rule: dict[str, Any] = entries.pop(key)
            rule = {k: tuple(v) if isinstance(v, list) else v for k, v in rule.items()}
            return Claim(rule=kind(**rule), settings=tuple(settings), **entries)
    raise ValueError(f"a claim must have one of beats, below or improves, got {entries}")

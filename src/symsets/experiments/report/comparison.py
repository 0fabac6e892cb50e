"""Models that may be compared, and their scores."""

import math
import re
import statistics
from dataclasses import dataclass, field

from symsets.experiments.report.metrics import MetricDisplay, display_of
from symsets.experiments.report.published import Published, published
from symsets.experiments.report.runs import Run
from symsets.experiments.study.experiment import find_experiment
from symsets.experiments.study.records import Record
from symsets.pages.styles import rank

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
        return (*same_in(self), self.split)

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
        whole = [name for name in names if is_whole(self.experiment, name)]
        return [display_of(name) for name in sorted(whole, key=lambda n: n != self.paper.metric)]

    @property
    def by_elements(self) -> dict[str, dict[int, Score]]:
        """The first metric of all models at other numbers of elements, where it was measured."""
        found: dict[str, dict[int, Score]] = {model: {} for model in self.models}
        for (size, name, model), score in self.scores.items():
            if size == self.largest and (num := _num_elements(self.experiment, name)):
                found[model][num] = score
        return {model: series for model, series in found.items() if series}

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

    @property
    def published_epochs(self) -> int | None:
        """The epochs of the paper, if it says how many."""
        try:
            return find_experiment(self.experiment).presets["paper"].published_epochs
        except (ValueError, KeyError):  # somebody's own experiment
            return None

    def epochs(self, model: str) -> int:
        """Return how many epochs a model could train for, 0 if not known; it may stop early."""
        limits = [int(run.config.get("epochs") or 0) for run in self.runs_of(model)]
        return max([*limits, round(self.score(model).epochs)])

    def runs_of(self, model: str) -> list[Run]:
        """Return the runs of a model at the largest size that have a learning curve."""
        found = (run for run in self.runs if run.metric and run.model == model)
        return [run for run in found if run.train_size == self.largest]


def same_in(r: Record | Comparison) -> tuple[str, str, str, str, str]:
    """Return what compared runs agree in."""
    return r.experiment, r.setting, r.data, r.recipe, r.preset


def _num_elements(experiment: str, metric: str) -> int:
    """Return 5 for ``chamfer@5``, the first metric for sets of 5 elements; 0 for others."""
    name, _, num = metric.partition("@")
    return int(num) if name == published(experiment).metric and num.isdecimal() else 0


def is_whole(experiment: str, metric: str) -> bool:
    """Whether a metric is neither of a part of the data nor of a series."""
    return "/" not in metric and not _num_elements(experiment, metric)

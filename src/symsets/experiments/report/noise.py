"""How far two scores may differ by chance: other initialisations, other test sets."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from scipy.special import stdtrit
from torch import Tensor

from symsets.experiments.report.comparison import Comparison, Score
from symsets.experiments.report.runs import Run, read_tensors
from symsets.pages.styles import BASELINES, style_of

LEVEL = 0.975  # 95 %, on both sides


@dataclass(frozen=True)
class Measured:
    """The score of one model in a metric, and the runs that say how sure it is."""

    model: str
    metric: str
    score: Score
    runs: Sequence[Run]

    @property
    def label(self) -> str:
        """What the model is called."""
        return style_of(self.model).label

    @property
    def is_trained(self) -> bool:
        """Whether another initialisation would give another value."""
        return self.model not in BASELINES

    @cached_property
    def per_set(self) -> Tensor | None:
        """The mean over runs for each test set, where predictions are kept."""
        kept = [read_tensors(run.folder / "predictions.npz").get(self.metric) for run in self.runs]
        found = [values.double() for values in kept if values is not None and len(values) > 1]
        same = len(found) == len(self.score.values) and len({len(v) for v in found}) == 1
        return torch.stack(found).mean(0) if same else None

    @property
    def test_variance(self) -> float:
        """The variance of the score over draws of the test sets; 0 where nothing is known."""
        if self.per_set is not None:
            return self.per_set.var().item() / len(self.per_set)
        p, num = self.score.mean, self.score.share_of
        return p * (1 - p) / num if num else 0.0


def measured(comparison: Comparison, model: str, metric: str) -> Measured:
    """Return what a comparison knows about a model at the largest training size."""
    size = 0 if model in BASELINES else comparison.largest
    runs = [run for run in comparison.runs if (run.model, run.train_size) == (model, size)]
    return Measured(model, metric, comparison.score(model, metric=metric), runs)


def noise(*of: Measured, single_runs: float = math.inf) -> float:
    r"""Return how far a score, or the difference of two, may be from zero by chance.

    .. math:: \sqrt{\Bigl(t_f\, s \sqrt{\textstyle\sum 1/n}\Bigr)^2 + (z\, e)^2}

    Here :math:`s` is the standard deviation over the :math:`n` runs of each model, pooled, and
    :math:`t_f` the quantile of Student's distribution at its degrees of freedom. The error
    :math:`e` is that of the test sets: of the differences between the two models on each of them
    where they are known, else of both models. Test sets count as independent draws.

    Where each model has a single run, the first part is ``single_runs``: infinite, since one run
    says nothing about another one, or zero to ask about the test sets alone.
    """
    seeds = _seeds([one.score.values for one in of if one.is_trained], single_runs)
    return math.hypot(seeds, -stdtrit(math.inf, 1 - LEVEL) * math.sqrt(_test_variance(of)))


def _seeds(runs: Sequence[Sequence[float]], single_runs: float) -> float:
    freedom = sum(len(values) - 1 for values in runs)
    if not runs:
        return 0.0
    if not freedom:
        return single_runs
    squares = sum((v - sum(values) / len(values)) ** 2 for values in runs for v in values)
    each = sum(1 / len(values) for values in runs)
    return float(stdtrit(freedom, LEVEL)) * math.sqrt(squares / freedom * each)


def _test_variance(of: Sequence[Measured]) -> float:
    sets = [one.per_set for one in of if one.per_set is not None]
    if len(sets) == 2 and len(sets[0]) == len(sets[1]):
        return (sets[0] - sets[1]).var().item() / len(sets[0])
    return sum(one.test_variance for one in of)

"""The result of a comparison in one sentence."""

from __future__ import annotations

import math

from symsets.report.gather import Comparison, Score
from symsets.report.metrics import Metric
from symsets.report.models import BASELINES, SIAMESE, look

__all__ = ["headline"]


def headline(comparison: Comparison) -> str:
    """Say which model is best at the largest size, and by how much over the best Siamese one.

    Nothing is said about a metric of which nobody knows which way is better.
    """
    m = comparison.metrics[0]
    ranking = _ranking(comparison, m)
    if not ranking or m.better is None:
        return ""
    (best, score), rest = ranking[0], ranking[1:]
    sentence = f"{look(best).label} is best: {_value(score, m)}{_where(comparison)}"
    late = next(((model, s) for model, s in rest if model in SIAMESE), None)
    early = next(((model, s) for model, s in rest if model not in SIAMESE), None)
    if best in SIAMESE:
        return f"{sentence}{_lead(score, early, m, 'the best network that is not Siamese')}."
    if late is not None:
        return f"{sentence}{_lead(score, late, m, 'the best Siamese variant')}."
    return f"{sentence}{_lead(score, early, m, 'the next best')}."


def _ranking(comparison: Comparison, m: Metric) -> list[tuple[str, Score]]:
    scores = ((model, comparison.score(model, metric=m.name)) for model in comparison.models)
    known = [(model, s) for model, s in scores if s and s.values and model not in BASELINES]
    return sorted(known, key=lambda pair: pair[1].mean, reverse=m.better != "lower")


def _lead(score: Score, other: tuple[str, Score] | None, m: Metric, role: str) -> str:
    if other is None:
        return ""
    model, theirs = other
    gain = m.gain(score.mean, theirs.mean)
    noise = 2 * math.hypot(score.error, theirs.error)
    doubt = "" if gain >= noise else ", a difference within the noise"
    against = f"{role} ({look(model).label}, {m.with_unit(theirs.mean, theirs.std)})"
    return f", {m.show_gap(gain)} better than {against}{doubt}"


def _where(comparison: Comparison) -> str:
    size = comparison.largest
    return f" with {size:,} training sets" if size else ""


def _value(score: Score, m: Metric) -> str:
    return f"{m.name} {m.with_unit(score.mean, score.std)}"

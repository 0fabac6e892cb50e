"""The main result of a comparison, in one line of text."""

from collections.abc import Sequence

from symsets.experiments.report.comparison import Comparison
from symsets.experiments.report.metrics import MetricDisplay
from symsets.experiments.report.noise import Measured, measured, noise
from symsets.pages.styles import BASELINES, SIAMESE

SMOKE = " The preset smoke only shows that everything runs."

Ranking = Sequence[Measured]


def headline(comparison: Comparison) -> str:
    """Say which model is best at the largest size, and by how much over the best Siamese one.

    The text is empty if it is unknown which direction of the metric is better.
    """
    m = comparison.metrics[0]
    networks, baselines = (_ranking(comparison, m, which) for which in (False, True))
    if not networks or m.better is None:
        return ""
    best = networks[0]
    leaders = [one for one in networks if m.same(one.score.mean, best.score.mean)]
    rest = networks[len(leaders) :]
    value = m.with_unit(best.score.mean, best.score.std if len(leaders) == 1 else None)
    if len(leaders) == 1:
        value += _once(best, networks, " (one run)")
    name = best.label if len(networks) == 1 else _who(leaders, everyone=not rest)
    size = comparison.largest
    where = f" with {size:,} training sets" if size else ""
    caution = SMOKE if comparison.preset == "smoke" else ""
    beaten = _beaten(best, baselines, m)
    return f"{name}: {m.title} {value}{where}{_lead(leaders, rest, m)}.{beaten}{caution}"


def _ranking(comparison: Comparison, m: MetricDisplay, baselines: bool) -> Ranking:
    """Return all networks, or all baselines, that have a mean; the best comes first."""
    models = (model for model in comparison.models if (model in BASELINES) == baselines)
    found = [one for model in models if (one := measured(comparison, model, m.name)).score.values]
    return sorted(found, key=lambda one: one.score.mean, reverse=m.better != "lower")


def _who(leaders: Ranking, *, everyone: bool) -> str:
    names = [one.label for one in leaders]
    if len(names) == 1:
        return f"{names[0]} is the best network"
    return f"{', '.join(names[:-1])} and {names[-1]} are {'equal' if everyone else 'best'}"


def _lead(leaders: Ranking, rest: Ranking, m: MetricDisplay) -> str:
    """Compare with the best of the other kind; with the next best if the leaders are of both."""
    siamese = {one.model in SIAMESE for one in leaders}
    late = next((one for one in rest if one.model in SIAMESE), None)
    early = next((one for one in rest if one.model not in SIAMESE), None)
    if siamese == {True}:
        return _gap(leaders, early, m, "the best network that is not Siamese")
    if siamese == {False} and late is not None:
        return _gap(leaders, late, m, "the best Siamese variant")
    return _gap(leaders, rest[0] if rest else None, m, "the next best")


def _once(one: Measured, others: Ranking, words: str) -> str:
    """Return the words if a score is of a single run and others are means of several."""
    several = any(other.score.count > 1 for other in others)
    return words if one.score.count == 1 and several else ""


def _gap(leaders: Ranking, other: Measured | None, m: MetricDisplay, role: str) -> str:
    if other is None:
        return ""
    best, theirs = leaders[0], other.score
    gain = m.gain(best.score.mean, theirs.mean)
    by_chance = gain < noise(best, other, single_runs=0.0)
    doubt = ", a difference within the noise" if by_chance else ""
    once = _once(other, leaders, ", one run")
    against = f"{role} ({other.label}, {m.with_unit(theirs.mean, theirs.std)}{once})"
    return f", {m.show_gap(gain)} better than {against}{doubt}"


def _beaten(best: Measured, baselines: Ranking, m: MetricDisplay) -> str:
    """Name a baseline that is better than all networks, if there is one."""
    if not baselines or m.gain(baselines[0].score.mean, best.score.mean) <= 0:
        return ""
    first = baselines[0]
    return f" No network is better than the {first.label} ({m.with_unit(first.score.mean)})."

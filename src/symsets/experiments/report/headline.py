"""The main result of a comparison, in one line of text."""

from collections.abc import Sequence

from symsets.experiments.report.comparison import Comparison, Score
from symsets.experiments.report.metrics import MetricDisplay
from symsets.experiments.report.noise import measured, noise
from symsets.pages.styles import BASELINES, SIAMESE, style_of

SMOKE = " The preset smoke only shows that everything runs."

Ranking = Sequence[tuple[str, Score]]


def headline(comparison: Comparison) -> str:
    """Say which model is best at the largest size, and by how much over the best Siamese one.

    The text is empty if it is unknown which direction of the metric is better.
    """
    m = comparison.metrics[0]
    networks, baselines = (_ranking(comparison, m, which) for which in (False, True))
    if not networks or m.better is None:
        return ""
    best, first = networks[0]
    leaders = [(model, s) for model, s in networks if m.same(s.mean, first.mean)]
    rest = networks[len(leaders) :]
    value = m.with_unit(first.mean, first.std if len(leaders) == 1 else None)
    if len(leaders) == 1:
        value += _once(first, networks, " (one run)")
    name = style_of(best).label if len(networks) == 1 else _who(leaders, everyone=not rest)
    size = comparison.largest
    where = f" with {size:,} training sets" if size else ""
    caution = SMOKE if comparison.preset == "smoke" else ""
    beaten = _beaten(first, baselines, m)
    return (
        f"{name}: {m.title} {value}{where}{_lead(comparison, leaders, rest, m)}.{beaten}{caution}"
    )


def _ranking(comparison: Comparison, m: MetricDisplay, baselines: bool) -> Ranking:
    """Return all networks, or all baselines, that have a mean; the best comes first."""
    models = [model for model in comparison.models if (model in BASELINES) == baselines]
    scores = ((model, comparison.score(model, metric=m.name)) for model in models)
    known = [(model, s) for model, s in scores if s.values]
    return sorted(known, key=lambda pair: pair[1].mean, reverse=m.better != "lower")


def _who(leaders: Ranking, *, everyone: bool) -> str:
    names = [style_of(model).label for model, _ in leaders]
    if len(names) == 1:
        return f"{names[0]} is the best network"
    return f"{', '.join(names[:-1])} and {names[-1]} are {'equal' if everyone else 'best'}"


def _lead(comparison: Comparison, leaders: Ranking, rest: Ranking, m: MetricDisplay) -> str:
    """Compare with the best of the other kind; with the next best if the leaders are of both."""
    siamese = {model in SIAMESE for model, _ in leaders}
    late = next((pair for pair in rest if pair[0] in SIAMESE), None)
    early = next((pair for pair in rest if pair[0] not in SIAMESE), None)
    if siamese == {True}:
        return _gap(comparison, leaders, early, m, "the best network that is not Siamese")
    if siamese == {False} and late is not None:
        return _gap(comparison, leaders, late, m, "the best Siamese variant")
    return _gap(comparison, leaders, rest[0] if rest else None, m, "the next best")


def _once(score: Score, others: Ranking, words: str) -> str:
    """Return the words if a score is of a single run and others are means of several."""
    return words if score.count == 1 and any(s.count > 1 for _, s in others) else ""


def _gap(
    comparison: Comparison,
    leaders: Ranking,
    other: tuple[str, Score] | None,
    m: MetricDisplay,
    role: str,
) -> str:
    if other is None:
        return ""
    (model, theirs), score = other, leaders[0][1]
    gain = m.gain(score.mean, theirs.mean)
    pair = (measured(comparison, one, m.name) for one in (leaders[0][0], model))
    doubt = "" if gain >= noise(*pair, single_runs=0.0) else ", a difference within the noise"
    once = _once(theirs, leaders, ", one run")
    against = f"{role} ({style_of(model).label}, {m.with_unit(theirs.mean, theirs.std)}{once})"
    return f", {m.show_gap(gain)} better than {against}{doubt}"


def _beaten(best: Score, baselines: Ranking, m: MetricDisplay) -> str:
    """Name a baseline that is better than all networks, if there is one."""
    if not baselines or m.gain(baselines[0][1].mean, best.mean) <= 0:
        return ""
    model, score = baselines[0]
    return f" No network is better than the {style_of(model).label} ({m.with_unit(score.mean)})."

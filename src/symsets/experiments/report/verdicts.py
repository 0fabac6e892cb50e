"""Judge by our numbers whether the paper's claims hold."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from symsets.data.splits import group_by
from symsets.experiments.report.comparison import Comparison
from symsets.experiments.report.metrics import MetricDisplay, display_of
from symsets.experiments.report.noise import Measured, measured, noise
from symsets.experiments.report.published import Beats, Below, Claim, Improves
from symsets.pages.styles import style_of

State = Literal["holds", "does not hold", "cannot be judged yet"]

TOO_SMALL = ("smoke", "quick")  # presets
FEWEST_EPOCHS = 0.1  # of the published ones
RULE = (
    "Claims are judged on means at the largest training size, and only where the difference is "
    "larger than chance explains at a level of 95 %: by Student's t over the initialisations that "
    "there are, and by the error of the test sets, over pairs where the predictions of both "
    "networks are kept. Test sets count as independent, though some share a photograph or a clip. "
    "One run each cannot be judged, nor can a network that is no better than a guess, or that had "
    "less than a tenth of the published epochs."
)


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds in one comparison, and why one may say so.

    ``missing`` names models that it speaks of and that have no result.
    """

    claim: Claim
    comparison: Comparison
    state: State
    reason: str
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Finding:
    """One pair of numbers: ``gain`` beyond what was claimed, and the noise in it.

    ``doubt`` says why nothing follows from them, if so; ``missing`` which model has no result.
    """

    text: str = ""
    gain: float = 0.0
    noise: float = 0.0
    missing: str = ""
    doubt: str = ""

    @property
    def state(self) -> State:
        if self.missing or self.doubt or abs(self.gain) < self.noise:
            return "cannot be judged yet"
        return "holds" if self.gain > 0 else "does not hold"


def verdicts(comparison: Comparison, others: Sequence[Comparison] = ()) -> list[Verdict]:
    """Judge every claim about an experiment and setting; some compare it with other settings."""
    return [
        judge(claim, comparison, others)
        for claim in comparison.paper.claims
        if not claim.settings or comparison.setting in claim.settings
    ]


def judge(claim: Claim, comparison: Comparison, others: Sequence[Comparison] = ()) -> Verdict:
    """Judge one claim: it holds if all its comparisons do, and fails if one of them does."""
    if comparison.preset in TOO_SMALL:
        reason = f"preset {comparison.preset} is too small for that"
        return Verdict(claim, comparison, "cannot be judged yet", reason)
    findings = _findings(claim.rule, comparison, others)
    if refuting := [f.text for f in findings if f.state == "does not hold"]:
        return Verdict(claim, comparison, "does not hold", ", ".join(refuting))
    if undecided := [f for f in findings if f.state == "cannot be judged yet"]:
        missing = tuple(dict.fromkeys(f.missing for f in undecided if f.missing))
        close = group_by((f for f in undecided if not f.missing), lambda f: f.doubt or "too close")
        doubts = [f"{why}: {', '.join(f.text for f in of)}" for why, of in close.items()]
        num = len(findings) - len(undecided)
        reasons = {
            f"no result for {', '.join(style_of(m).label for m in missing)}": missing,
            "; ".join(doubts): doubts,
            f"{num} of {len(findings)} comparisons agree so far": num,
        }
        reason = "; ".join(text for text, applies in reasons.items() if applies)
        return Verdict(claim, comparison, "cannot be judged yet", reason, missing)
    closest = min(findings, key=lambda f: f.gain)
    reason = f"closest: {closest.text}" if len(findings) > 1 else closest.text
    return Verdict(claim, comparison, "holds", reason)


def _findings(
    rule: Beats | Below | Improves, here: Comparison, others: Sequence[Comparison]
) -> list[_Finding]:
    if isinstance(rule, Beats):
        return [_beats((here, a), (here, b), rule.margin) for a in rule.models for b in rule.others]
    if isinstance(rule, Below):
        return [_below(rule, here)]
    wanted = replace(here, setting=rule.over).key
    there = next((c for c in others if c.key == wanted), None)
    if there is None:
        return [_improves(rule, [_Finding(missing=model) for model in rule.models])]
    return [_improves(rule, [_beats((here, model), (there, model)) for model in rule.models])]


def _improves(rule: Improves, found: list[_Finding]) -> _Finding:
    """Count models; ``gain`` and ``noise`` are numbers of models, the noise from undecided ones."""
    missing = [f.missing for f in found if f.missing]
    states = [f.state for f in found]
    better, undecided = states.count("holds"), states.count("cannot be judged yet")
    text = f"{better} of {len(found)} models are better than on {rule.over}"
    text += f", {undecided - len(missing)} too close" if undecided > len(missing) else ""
    gain, noise = better + undecided / 2 - (rule.at_least - 0.5), undecided / 2
    return _Finding(text, gain, noise, missing[0] if missing and abs(gain) < noise else "")


def _below(rule: Below, here: Comparison) -> _Finding:
    m = display_of(here.paper.metric)
    one = measured(here, rule.model, m.name)
    if not one.score.values:
        return _Finding(missing=rule.model)
    text = f"{one.label} reaches {m.with_unit(one.score.mean, one.score.std)}"
    doubt = _untrained(here, one) or _single(one)
    return _Finding(text, rule.value - one.score.mean, noise(one), doubt=doubt)


def _beats(
    this: tuple[Comparison, str], that: tuple[Comparison, str], margin: float = 0.0
) -> _Finding:
    """Compare two models, or one at two settings."""
    m = display_of(this[0].paper.metric)
    a, b = (measured(*one, m.name) for one in (this, that))
    for one in (b, a):
        if not one.score.values:
            return _Finding(missing=one.model)
    gain = m.gain(a.score.mean, b.score.mean)
    text = f"{a.label} is {_gap(m, gain)} than {b.label}"
    if m.same(a.score.mean, b.score.mean):
        text = f"{a.label} and {b.label} are equal"
    numbers = [where.paper.numbers.get((where.setting, x)) for where, x in (this, that)]
    if numbers[0] and numbers[1]:
        text += f" (published: {_gap(m, m.gain(numbers[0].mean, numbers[1].mean))})"
    doubts = [
        _untrained(where, x) or _at_chance(where, x) for (where, _), x in ((this, a), (that, b))
    ]
    doubt = ", ".join(dict.fromkeys(filter(None, doubts))) or _single(a, b)
    return _Finding(text, gain - margin, noise(a, b), doubt=doubt)


def _gap(m: MetricDisplay, gain: float) -> str:
    return f"{m.show_gap(gain)} {'better' if gain >= 0 else 'worse'}"


def _untrained(where: Comparison, one: Measured) -> str:
    """Say that a network had too few epochs, if so."""
    epochs, published = where.epochs(one.model), where.published_epochs
    if not one.is_trained or not epochs or not published or epochs >= FEWEST_EPOCHS * published:
        return ""
    return f"{epochs} of {published} published epochs"


def _at_chance(where: Comparison, one: Measured) -> str:
    """Say that a network is no better than a guess, if so."""
    chance = where.paper.chance_at(where.setting)
    if where.paper.metric != "accuracy" or chance is None or not one.is_trained:
        return ""
    far = one.score.mean - chance > 2 * math.sqrt(one.test_variance)
    return "" if far else f"{one.label} is at chance"


def _single(*of: Measured) -> str:
    return "" if math.isfinite(noise(*of)) else "one run each"

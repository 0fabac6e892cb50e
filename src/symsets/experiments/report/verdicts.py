"""Judge by our numbers whether the paper's claims hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from symsets.experiments.report.load_records import Comparison, Score
from symsets.experiments.report.metrics import MetricDisplay, display_of
from symsets.experiments.report.published import Beats, Below, Claim, Improves
from symsets.pages.styles import style_of

State = Literal["holds", "does not hold", "cannot be judged yet"]

TOO_SMALL = ("smoke", "quick")  # presets
RULE = (
    "Claims are judged on means at the largest training size. A difference smaller than two "
    "standard errors is too close to be judged. The error is that of a mean over initialisations; "
    "for the accuracy of a single run, that of a share of the test sets. Other single runs are "
    "taken as they are."
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
    """One pair of numbers: ``gain`` beyond what was claimed, and the noise in it."""

    text: str = ""
    gain: float = 0.0
    noise: float = 0.0
    missing: str = ""

    @property
    def state(self) -> State:
        if self.missing or abs(self.gain) < self.noise:
            return "cannot be judged yet"
        return "holds" if self.gain > 0 else "does not hold"


def verdicts(comparison: Comparison, others: Sequence[Comparison] = ()) -> list[Verdict]:
    """Judge every claim that the paper makes about an experiment and setting.

    Args:
        comparison: What to judge.
        others: Comparisons at other settings, which some claims are about.
    """
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
        close = [f.text for f in undecided if not f.missing]
        num = len(findings) - len(undecided)
        reasons = {
            f"no result for {', '.join(style_of(m).label for m in missing)}": missing,
            f"too close: {', '.join(close)}": close,
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
    m = display_of(here.paper.metric)

    def score(model: str, where: Comparison | None = here) -> Score:
        return where.score(model, metric=m.name) if where else Score(())

    if isinstance(rule, Beats):
        pairs = [(a, b) for a in rule.models for b in rule.others]
        return [_beats(a, score(a), b, score(b), m, margin=rule.margin) for a, b in pairs]
    if isinstance(rule, Below):
        return [_below(rule, score(rule.model), m)]
    wanted = replace(here, setting=rule.over).key
    there = next((c for c in others if c.key == wanted), None)
    both = here if there else None
    found = [_beats(x, score(x, both), x, score(x, there), m) for x in rule.models]
    return [_improves(rule, found)]


def _improves(rule: Improves, found: list[_Finding]) -> _Finding:
    """Count models; ``gain`` and ``noise`` are numbers of models, the noise from undecided ones."""
    missing = [f.missing for f in found if f.missing]
    states = [f.state for f in found]
    better, undecided = states.count("holds"), states.count("cannot be judged yet")
    text = f"{better} of {len(found)} models are better than on {rule.over}"
    text += f", {undecided - len(missing)} too close" if undecided > len(missing) else ""
    gain, noise = better + undecided / 2 - (rule.at_least - 0.5), undecided / 2
    return _Finding(text, gain, noise, missing[0] if missing and abs(gain) < noise else "")


def _below(rule: Below, score: Score, m: MetricDisplay) -> _Finding:
    if not score.values:
        return _Finding(missing=rule.model)
    text = f"{style_of(rule.model).label} reaches {m.with_unit(score.mean, score.std)}"
    return _Finding(text, rule.value - score.mean, 2 * score.error)


def _beats(
    model: str,
    a: Score,
    other: str,
    b: Score,
    m: MetricDisplay,
    *,
    margin: float = 0.0,
) -> _Finding:
    if not a.values or not b.values:
        return _Finding(missing=other if a.values else model)
    gain, mine, theirs = m.gain(a.mean, b.mean), style_of(model).label, style_of(other).label
    text = f"{mine} is {m.show_gap(gain)} {'better' if gain >= 0 else 'worse'} than {theirs}"
    text += " (one run each)" if a.count == b.count == 1 else ""
    if m.same(a.mean, b.mean):
        text = f"{mine} and {theirs} are equal"
    return _Finding(text, gain - margin, 2 * math.hypot(a.error, b.error))

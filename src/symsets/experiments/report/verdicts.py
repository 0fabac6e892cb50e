"""Judge by our numbers whether the paper's claims hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from symsets.experiments.report.load_records import Comparison, Score
from symsets.experiments.report.metrics import MetricDisplay, display_of
from symsets.experiments.report.models import style_of
from symsets.experiments.report.published import Beats, Below, Claim, Improves

__all__ = ["RULE", "State", "Verdict", "judge", "verdicts"]

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

    text: str
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
    m = display_of(comparison.paper.metric)
    preset = comparison.preset
    if preset in TOO_SMALL:
        reason = f"preset {preset} is too small for that"
        return Verdict(claim, comparison, "cannot be judged yet", reason)
    findings = _findings(claim.rule, comparison, others, m)
    refuting = [f for f in findings if f.state == "does not hold"]
    open_ = [f for f in findings if f.state == "cannot be judged yet"]
    if refuting:
        return Verdict(claim, comparison, "does not hold", _listed(f.text for f in refuting))
    if open_:
        missing = tuple(dict.fromkeys(f.missing for f in open_ if f.missing))
        reason = _why_open(open_, findings, missing)
        return Verdict(claim, comparison, "cannot be judged yet", reason, missing)
    closest = min(findings, key=lambda f: f.gain)
    reason = f"closest: {closest.text}" if len(findings) > 1 else closest.text
    return Verdict(claim, comparison, "holds", reason)


def _why_open(open_: list[_Finding], findings: list[_Finding], missing: Sequence[str]) -> str:
    close = [f.text for f in open_ if not f.missing]
    parts = [
        *(
            [f"no result for {_listed(style_of(model).label for model in missing)}"]
            if missing
            else []
        ),
        *([f"too close: {_listed(close)}"] if close else []),
    ]
    true = len(findings) - len(open_)
    if true:
        parts.append(f"{true} of {len(findings)} comparisons agree so far")
    return "; ".join(parts)


def _findings(
    rule: Beats | Below | Improves,
    comparison: Comparison,
    others: Sequence[Comparison],
    m: MetricDisplay,
) -> list[_Finding]:
    def score(model: str, where: Comparison = comparison) -> Score | None:
        found = where.score(model, metric=m.name)
        return found if found is not None and found.values else None

    if isinstance(rule, Below):
        return [_below(rule, score(rule.model), m)]
    if isinstance(rule, Improves):
        wanted = replace(comparison, setting=rule.over).key
        other = next((c for c in others if c.key == wanted), None)
        both = {x: (score(x), score(x, other)) if other else (None, None) for x in rule.models}
        return [_improves(rule, both, m)]
    pairs = [(a, b) for a in rule.models for b in rule.others]
    return [_beats(a, score(a), b, score(b), rule.margin, m) for a, b in pairs]


def _improves(
    rule: Improves, both: dict[str, tuple[Score | None, Score | None]], m: MetricDisplay
) -> _Finding:
    """Count models; ``gain`` and ``noise`` are numbers of models, the noise from undecided ones."""
    found = [_beats(model, here, model, there, 0.0, m) for model, (here, there) in both.items()]
    missing = [f.missing for f in found if f.missing]
    states = [f.state for f in found]
    better, open_ = states.count("holds"), states.count("cannot be judged yet")
    text = f"{better} of {len(found)} models are better than on {rule.over}"
    text += f", {open_ - len(missing)} too close" if open_ > len(missing) else ""
    gain = better + open_ / 2 - (rule.at_least - 0.5)
    undecided = abs(gain) < open_ / 2
    return _Finding(text, gain, open_ / 2, missing[0] if missing and undecided else "")


def _below(rule: Below, score: Score | None, m: MetricDisplay) -> _Finding:
    if score is None:
        return _Finding("", missing=rule.model)
    text = f"{style_of(rule.model).label} reaches {m.with_unit(score.mean, score.std)}"
    return _Finding(text, rule.value - score.mean, 2 * score.error)


def _beats(
    model: str, a: Score | None, other: str, b: Score | None, margin: float, m: MetricDisplay
) -> _Finding:
    if a is None:
        return _Finding("", missing=model)
    if b is None:
        return _Finding("", missing=other)
    gain = m.gain(a.mean, b.mean)
    word = "better" if gain >= 0 else "worse"
    text = f"{style_of(model).label} is {m.show_gap(gain)} {word} than {style_of(other).label}"
    if a.count == b.count == 1:
        text += " (one run each)"
    if m.same(a.mean, b.mean):
        text = f"{style_of(model).label} and {style_of(other).label} are equal"
    return _Finding(text, gain - margin, 2 * math.hypot(a.error, b.error))


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(texts)

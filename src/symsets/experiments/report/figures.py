"""Figures of a comparison: against training-set size, along training, and of time."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from symsets.experiments.report._drawing import INK, Picture, canvas, far_apart, label_ends, style
from symsets.experiments.report.load_records import Comparison
from symsets.experiments.report.metrics import MetricDisplay, display_of
from symsets.experiments.report.models import BASELINES, style_of
from symsets.experiments.report.runs import Run
from symsets.experiments.report.tables import duration

__all__ = ["pictures"]

WIDTH, HEIGHT = 5.6, 3.6  # inches: at the width of a phone the letters are still letters
TIMES = {
    0.1: "0.1 s",
    1: "1 s",
    10: "10 s",
    60: "1 min",
    600: "10 min",
    3600: "1 h",
    36_000: "10 h",
}

Points = Sequence[tuple[float, float, float]]
End = tuple[float, str, str]
"""The end of a line: its height, label and colour."""


def pictures(comparison: Comparison) -> list[Picture]:
    """Return all figures that the comparison has numbers for."""
    with style():
        drawn = [
            *(_sizes(comparison, m) for m in comparison.metrics),
            _curves(comparison),
            _times(comparison),
        ]
    return [picture for picture in drawn if picture is not None]


def _sizes(comparison: Comparison, m: MetricDisplay) -> Picture | None:
    """Draw a metric against the number of training sets."""
    if len(comparison.sizes) < 2:
        return None
    lines: dict[str, Points] = {}
    for model in comparison.models:
        found = ((n, comparison.score(model, metric=m.name, size=n)) for n in comparison.sizes)
        points = [(n, s.mean, s.std or 0.0) for n, s in found if s is not None and s.values]
        if points:
            lines[model] = points
    if not lines:
        return None
    figure, (axis,) = canvas(WIDTH, HEIGHT)
    axis.set_xscale("log")
    axis.set_xticks(comparison.sizes, [f"{n:,}" for n in comparison.sizes])
    axis.minorticks_off()
    axis.set(xlabel="training sets (log scale)", ylabel=m.header)
    _draw_lines(axis, lines, m, markers=True)
    guess, far = _draw_chance(axis, comparison, m)
    label_ends(axis, [*_ends(lines, m), *guess])
    return Picture(
        name=f"{comparison.slug}-{m.name}-by-size",
        caption=f"{m.title[:1].upper()}{m.title[1:]} against the number of training sets"
        f"{far}{_seeds(comparison)}.",
        description=f"{m.title} of {len(lines)} models at {len(comparison.sizes)} training sizes",
        figure=figure,
        models=tuple(lines),
    )


def _curves(comparison: Comparison) -> Picture | None:
    """Draw the validation metric along training, at the largest training-set size."""
    by_model = {model: comparison.runs_of(model) for model in comparison.models}
    lines = {model: points for model, runs in by_model.items() if (points := _mean_curve(runs))}
    if not lines:
        return None
    m = display_of(next(runs[0].metric for runs in by_model.values() if runs))
    figure, (axis,) = canvas(WIDTH, HEIGHT)
    axis.set(xlabel="epoch", ylabel=f"validation {m.header}")
    axis.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    drawn = [p for points in lines.values() for p in points]
    if m.better == "lower" and far_apart(v for p in drawn for v in (p[1], p[1] + p[2])):
        axis.set_yscale("log")
    _draw_lines(axis, lines, m, markers=False)
    guess, far = _draw_chance(axis, comparison, m)
    label_ends(axis, [*_ends(lines, m), *guess])
    size = comparison.largest
    ends = ({run.curve[-1][0] for run in runs if run.curve} for runs in by_model.values())
    stopped = any(len(last) > 1 for last in ends)
    rest = " Where runs stopped early, the mean is over those that went on." if stopped else ""
    return Picture(
        name=f"{comparison.slug}-curves",
        caption=f"Validation {m.title} along training"
        f"{f', {size:,} training sets' if size else ''}{far}{_seeds(comparison)}.{rest}",
        description=f"validation {m.title} along training of {len(lines)} models",
        figure=figure,
        models=tuple(lines),
    )


def _mean_curve(runs: Sequence[Run]) -> Points:
    values: dict[int, list[float]] = defaultdict(list)
    for run in runs:
        for epoch, value in run.curve:
            if math.isfinite(value):
                values[epoch].append(value)
    return [
        (epoch, statistics.fmean(found), statistics.stdev(found) if len(found) > 1 else 0.0)
        for epoch, found in sorted(values.items())
    ]


def _times(comparison: Comparison) -> Picture | None:
    """Draw seconds per epoch, and the time of a whole run beside the published one."""
    trained = [model for model in comparison.models if model not in BASELINES]
    epochs = {m: s for m in trained if (s := _seconds_per_epoch(comparison, m))}
    if not epochs:
        return None
    theirs = comparison.paper.training_time(comparison.setting)
    models = list(epochs)
    figure, (left, right) = canvas(WIDTH, 1.1 + 0.24 * len(models), columns=2)
    rows = range(len(models))
    colours = [style_of(model).colour for model in models]
    left.barh(rows, [epochs[model] for model in models], 0.62, color=colours)
    for row, model in enumerate(models):
        left.annotate(
            duration(epochs[model]),
            (epochs[model], row),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    left.set_yticks(rows, [style_of(model).label for model in models])
    left.set(xlabel="seconds per epoch", xlim=(0, 1.35 * max(epochs.values())))
    left.locator_params(axis="x", nbins=4)
    left.invert_yaxis()
    left.grid(visible=False)  # bars say how long they are
    hours = theirs.hours if theirs else {}
    _draw_whole_runs(right, comparison, models, {m: 3600 * hours[m] for m in hours})
    said = f" Published ({theirs.device}): “{theirs.sentence}”" if theirs else ""
    return Picture(
        name=f"{comparison.slug}-time",
        caption="Time per epoch, and of a whole run, at the largest training size; longer where "
        f"runs shared a device.{said}",
        description=f"time per epoch and per run of {len(models)} models",
        figure=figure,
        models=tuple(models),
    )


def _draw_whole_runs(
    axis: Any, comparison: Comparison, models: Sequence[str], theirs: dict[str, float]
) -> None:
    shown = []
    for row, model in enumerate(models):
        score = comparison.score(model)
        ours = score.seconds if score else 0.0
        if ours:
            axis.plot(ours, row, "o", color=style_of(model).colour, ms=6)
        if model in theirs:
            axis.plot(theirs[model], row, "D", color=INK, fillstyle="none", ms=6)
        both = (ours, theirs.get(model, 0.0))
        if all(both):
            axis.plot(both, (row, row), color=INK, lw=0.6, ls=":", zorder=0)
        shown += [seconds for seconds in both if seconds]
    axis.set(xscale="log", xlabel="whole run")
    if shown:
        _time_axis(axis, min(shown), max(shown))
    axis.grid(visible=False, axis="y")
    axis.tick_params(axis="y", length=0)
    if not theirs.keys().isdisjoint(models):
        axis.plot([], [], "o", color=INK, label="ours")
        axis.plot([], [], "D", color=INK, fillstyle="none", label="published")
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, borderpad=0.2)


def _time_axis(axis: Any, low: float, high: float) -> None:
    """Mark the times that people know around ``low`` to ``high``.

    Where they are few, there is one more on each side that would have none near it.
    """
    left, right = low / 1.6, high * 1.6
    known = [t for t in TIMES if left <= t <= right]
    if len(known) < 2 or (len(known) < 4 and known[0] > 2.5 * low):
        left = max((t for t in TIMES if t <= low), default=low) / 1.6
    if len(known) < 2 or (len(known) < 4 and known[-1] < high / 2.5):
        right = min((t for t in TIMES if t >= high), default=high) * 1.6
    inside = {t: name for t, name in TIMES.items() if left <= t <= right}
    crowded = len(inside) > 4
    names = ["" if crowded and name.startswith("10 ") else name for name in inside.values()]
    axis.set_xlim(left, right)
    axis.set_xticks(list(inside), names, fontsize=8)
    axis.minorticks_off()


def _seconds_per_epoch(comparison: Comparison, model: str) -> float | None:
    """Return the mean over runs or, without their folders, what the records say."""
    measured = [s for run in comparison.runs_of(model) if (s := run.seconds_per_epoch)]
    if measured:
        return statistics.fmean(measured)
    score = comparison.score(model)
    return score.seconds / score.epochs if score and score.epochs and score.seconds else None


def _draw_lines(axis: Any, lines: dict[str, Points], m: MetricDisplay, *, markers: bool) -> None:
    for model, points in lines.items():
        seen = style_of(model)
        x = [p[0] for p in points]
        y = [p[1] * m.scale for p in points]
        band = [p[2] * m.scale for p in points]
        width = 2.2 if model == "dss-sum" else 1.4
        marker = seen.marker if markers or len(points) == 1 else ""
        axis.plot(x, y, seen.line, color=seen.colour, marker=marker, ms=4.5, lw=width)
        if any(band) and model not in BASELINES:
            least = 0.0 if m.better == "lower" else -math.inf  # no error is negative
            low = [max(a - b, least) for a, b in zip(y, band, strict=True)]
            high = [a + b for a, b in zip(y, band, strict=True)]
            if axis.get_yscale() == "log":  # as far down as up: it has no zero to end at
                low = [a * a / b if b else a for a, b in zip(y, high, strict=True)]
            axis.fill_between(x, low, high, color=seen.colour, alpha=0.15, linewidth=0)
    axis.margins(x=0.02)


def _ends(lines: dict[str, Points], m: MetricDisplay) -> list[End]:
    return [
        (points[-1][1] * m.scale, style_of(model).label, style_of(model).colour)
        for model, points in lines.items()
    ]


def _draw_chance(axis: Any, comparison: Comparison, m: MetricDisplay) -> tuple[list[End], str]:
    """Draw the accuracy of a random choice, if it is known, and return the end of the line.

    Far below all others it would press them together: then words for the caption come back.
    """
    found = comparison.paper.chance_at(comparison.setting)
    if found is None or m.name != "accuracy" or "random" in comparison.models:
        return [], ""
    level, (low, high) = found * m.scale, axis.dataLim.intervaly
    if low - level > max(high - low, level):
        return [], f"; chance, {level:.3g}{m.unit}, is far below"
    axis.axhline(level, color=INK, lw=0.8, ls=(0, (1, 3)))
    return [(level, "chance", INK)], ""


def _seeds(comparison: Comparison) -> str:
    several = any(score.std is not None for score in comparison.scores.values())
    return "; shaded: standard deviation over initialisations" if several else ""

"""Figures of a comparison: lines against size, epoch and number of elements, and bars of time."""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from symsets.experiments.report.comparison import Comparison, Score
from symsets.experiments.report.metrics import MetricDisplay, display_of
from symsets.pages.drawing import INK, Picture, canvas, far_apart, style
from symsets.pages.styles import BASELINES, style_of
from symsets.pages.tables import duration

WIDTH, HEIGHT = 5.6, 3.6  # inches: at the width of a phone the letters are still letters

Points = dict[float, Score]
"""A line: what was measured at each place."""


def pictures(comparison: Comparison) -> list[Picture]:
    """Return all figures that the comparison has numbers for."""
    with style():
        drawn = [
            *(_sizes(comparison, m) for m in comparison.metrics),
            _curves(comparison),
            _times(comparison),
            _elements(comparison),
        ]
    return [picture for picture in drawn if picture is not None]


def _sizes(comparison: Comparison, m: MetricDisplay) -> Picture | None:
    """Draw a metric against the number of training sets."""
    sizes = comparison.sizes
    if len(sizes) < 2:
        return None
    lines = {
        model: {n: comparison.score(model, metric=m.name, size=n) for n in sizes}
        for model in comparison.models
    }
    return _lines(
        comparison,
        m,
        lines,
        name=f"{m.name}-by-size",
        caption=f"{m.title[:1].upper()}{m.title[1:]} against the number of training sets",
        description=f"{m.title} of {{}} models at {len(sizes)} training sizes",
        ticks=sizes,
        xscale="log",
        xlabel="training sets (log scale)",
    )


def _curves(comparison: Comparison) -> Picture | None:
    """Draw the validation metric along training, at the largest training-set size."""
    by_model = {model: runs for model in comparison.models if (runs := comparison.runs_of(model))}
    if not by_model:
        return None
    lines: dict[str, Points] = {}
    for model, runs in by_model.items():
        values: dict[float, list[float]] = defaultdict(list)
        for epoch, value in (point for run in runs for point in run.curve):
            if math.isfinite(value):
                values[epoch].append(value)
        lines[model] = {epoch: Score(tuple(found)) for epoch, found in sorted(values.items())}
    m, size = display_of(next(iter(by_model.values()))[0].metric), comparison.largest
    ends = ({run.curve[-1][0] for run in runs} for runs in by_model.values())
    stopped = any(len(last) > 1 for last in ends)
    return _lines(
        comparison,
        m,
        lines,
        name="curves",
        caption=f"Validation {m.title} along training{f', {size:,} training sets' if size else ''}",
        rest=" Where runs stopped early, the mean is over those that went on." if stopped else "",
        description=f"validation {m.title} along training of {{}} models",
        xlabel="epoch",
        ylabel=f"validation {m.header}",
    )


def _elements(comparison: Comparison) -> Picture | None:
    """Draw the first metric against the number of elements, where that was measured."""
    lines = comparison.by_elements
    counts = sorted({count for points in lines.values() for count in points})
    if not counts:
        return None
    return _lines(
        comparison,
        comparison.metrics[0],
        lines,
        name="elements",
        caption="Error against the number of views, for networks trained with 3",
        description=f"Lines of {{}} models over {counts} views.",
        ticks=counts,
        xlabel="views",
    )


def _lines(
    comparison: Comparison,
    m: MetricDisplay,
    found: Mapping[str, Mapping[Any, Score]],
    *,
    name: str,
    caption: str,
    description: str,
    rest: str = "",
    ticks: Sequence[int] = (),
    **axes: str,
) -> Picture | None:
    """Draw a line for each model, with a band where there are several runs.

    The description is for those who cannot see, with {} for the number of models. Few places are
    named by ticks and get markers.
    """
    known = {m: {x: s for x, s in line.items() if s.values} for m, line in found.items()}
    lines = {model: points for model, points in known.items() if points}
    if not lines:
        return None
    figure, axis = canvas(WIDTH, HEIGHT)
    axis.set(**{"ylabel": m.header} | axes)
    if ticks:
        axis.set_xticks(ticks, [f"{n:,}" for n in ticks])
        axis.minorticks_off()
    else:
        axis.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    everything = [score for points in lines.values() for score in points.values()]
    tops = (v for s in everything for v in (s.mean, s.mean + (s.std or 0.0)))
    if m.better == "lower" and far_apart(tops):
        axis.set_yscale("log")
    for model, points in lines.items():
        _draw_line(axis, model, points, m, markers=bool(ticks))
    axis.margins(x=0.02)
    far = _draw_chance(axis, comparison, m)
    # The order of the legend is that in which lines end.
    drawn = sorted(axis.lines, key=lambda line: -line.get_ydata()[-1])
    axis.legend(handles=drawn, loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8.5)
    several = any(score.std is not None for score in everything)
    band = "; shaded: standard deviation over initialisations" if several else ""
    return Picture(
        name=f"{comparison.slug}-{name}",
        caption=f"{caption}{far}{band}.{rest}",
        description=description.format(len(lines)),
        figure=figure,
    )


def _draw_line(axis: Any, model: str, points: Points, m: MetricDisplay, *, markers: bool) -> None:
    seen = style_of(model)
    y = [score.mean * m.scale for score in points.values()]
    band = [(score.std or 0.0) * m.scale for score in points.values()]
    width = 2.2 if model == "dss-sum" else 1.4
    marker = seen.marker if markers or len(points) == 1 else ""
    looks = {"color": seen.colour, "marker": marker, "ms": 4.5, "lw": width, "label": seen.label}
    axis.plot([*points], y, seen.line, **looks)
    if any(band) and model not in BASELINES:
        least = 0.0 if m.better == "lower" else -math.inf  # no error is negative
        low = [max(a - b, least) for a, b in zip(y, band, strict=True)]
        high = [a + b for a, b in zip(y, band, strict=True)]
        if axis.get_yscale() == "log":  # as far down as up: it has no zero to end at
            low = [a * a / b if b else a for a, b in zip(y, high, strict=True)]
        axis.fill_between([*points], low, high, color=seen.colour, alpha=0.15, linewidth=0)


def _draw_chance(axis: Any, comparison: Comparison, m: MetricDisplay) -> str:
    """Draw the accuracy of a random choice, if it is known.

    Far below all others it would press them together: then words for the caption come back.
    """
    found = comparison.paper.chance_at(comparison.setting)
    if found is None or m.name != "accuracy" or "random" in comparison.models:
        return ""
    level, (low, high) = found * m.scale, axis.dataLim.intervaly
    if low - level > max(high - low, level):
        return f"; chance, {level:.3g}{m.unit}, is far below"
    axis.axhline(level, color=INK, lw=0.8, ls=(0, (1, 3)), label="chance")
    return ""


def _times(comparison: Comparison) -> Picture | None:
    """Draw the time of an epoch."""
    trained = [model for model in comparison.models if model not in BASELINES]
    epochs = {m: s for m in trained if (s := _seconds_per_epoch(comparison, m))}
    if not epochs:
        return None
    figure, axis = canvas(WIDTH, 0.9 + 0.24 * len(epochs))
    colours = [style_of(model).colour for model in epochs]
    bars = axis.barh(range(len(epochs)), [*epochs.values()], 0.62, color=colours)
    axis.bar_label(bars, [duration(s) for s in epochs.values()], padding=3, fontsize=8)
    axis.set_yticks(range(len(epochs)), [style_of(model).label for model in epochs])
    axis.set(xlabel="seconds per epoch", xlim=(0, 1.2 * max(epochs.values())))
    axis.locator_params(axis="x", nbins=5)
    axis.invert_yaxis()
    axis.grid(visible=False)  # bars say how long they are
    theirs = comparison.paper.training_time(comparison.setting)
    said = f" Published ({theirs.device}): “{theirs.sentence}”" if theirs else ""
    return Picture(
        name=f"{comparison.slug}-time",
        caption="Time per epoch at the largest training size; longer where runs shared a "
        f"device.{said}",
        description=f"time per epoch of {len(epochs)} models",
        figure=figure,
    )


def _seconds_per_epoch(comparison: Comparison, model: str) -> float | None:
    """Return the mean over runs or, without their folders, what the records say."""
    measured = [s for run in comparison.runs_of(model) if (s := run.seconds_per_epoch)]
    if measured:
        return statistics.fmean(measured)
    score = comparison.score(model)
    return score.seconds / score.epochs if score.epochs and score.seconds else None

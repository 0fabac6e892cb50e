"""The table and the figure of the ``orbits`` experiment."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from rich.table import Table

from symsets._extras import require
from symsets._files import atomic_write
from symsets.experiments.orbits.experiment import HEIGHTS, MODELS, TEST_PAIRS, Outcome, make_sets

LABELS = {
    "siamese": "Siamese",
    "dss-sum": "DSS(sum), one layer",
    "dss-power2": "DSS(powers), one layer",
    "dss-sum-twice": "DSS(sum), two layers",
}
BLIND = {"any-sum": ("siamese",), "equal-sums": ("siamese", "dss-sum")}  # whatever the weights
# Four standard errors of a guess above chance.
CLEARLY_ABOVE_CHANCE = 0.5 + 4 * math.sqrt(0.25 / (2 * TEST_PAIRS))
Values = dict[tuple[str, str], list[float]]  # of model and setting
COLOURS = {"any-sum": "#2a6f97", "equal-sums": "#e07a3f"}


def _by_run(outcomes: Sequence[Outcome], value: Callable[[Outcome], float]) -> Values:
    """Collect a number of all outcomes, by model and setting."""
    values: Values = defaultdict(list)
    for outcome in outcomes:
        values[outcome.record.model, outcome.record.setting].append(value(outcome))
    return values


def _accuracies(outcomes: Sequence[Outcome]) -> Values:
    return _by_run(outcomes, lambda outcome: 100 * outcome.record.value)


def table(outcomes: Sequence[Outcome]) -> Table:
    """Return the accuracies, and whether the two classes can be told apart at all."""
    accuracy = _accuracies(outcomes)
    seen = _by_run(outcomes, lambda outcome: outcome.largest_difference)
    made = Table(title="Are the elements of the set aligned? (test accuracy, chance 50 %)")
    made.add_column("network")
    for column in ("any sum", "equal sums", "max |f(X)−f(moved X)|"):
        made.add_column(column, justify="right")
    for model in MODELS:
        cells = [f"{mean(accuracy[model, s]):.1f} %" for s in HEIGHTS]
        differences = "   ".join(f"{max(seen[model, s]):.0e}" for s in HEIGHTS)
        made.add_row(LABELS[model], *cells, differences)
    return made


def conclusions(outcomes: Sequence[Outcome]) -> list[str]:
    """Say which networks were found to tell the sets apart, and which would need more training."""
    accuracy = _accuracies(outcomes)
    differences = [
        o.largest_difference for o in outcomes if o.record.model in BLIND[o.record.setting]
    ]
    sentences = [
        "Siamese answers alike for a set X and for X with elements moved, and so does DSS(sum) in "
        "one layer where all entries of the set's sum are equal: answers differ by rounding "
        f"({max(differences):.0e}), and no training can change that."
    ]
    for setting in HEIGHTS:
        seeing = [m for m in MODELS if mean(accuracy[m, setting]) > 100 * CLEARLY_ABOVE_CHANCE]
        late = [m for m in MODELS if m not in seeing and m not in BLIND[setting]]
        told, short = ("; ".join(LABELS[m] for m in some) for some in (seeing, late))
        name = setting.replace("-", " ").capitalize()
        sentences.append(f"{name}: told apart by {told or 'no network'}.")
        if late:
            sentences[-1] += f" Training was too short for {short}: try more --steps."
    return sentences


def figure(outcomes: Sequence[Outcome], path: Path) -> None:
    """Draw the two kinds of sets, and what the networks make of them."""
    # Not pyplot, which wants a screen where somebody has chosen a backend with windows.
    Figure = require("matplotlib.figure", "experiments").Figure
    drawing = Figure(figsize=(11, 3.4), layout="constrained")
    axes = drawing.subplots(1, 3, width_ratios=[1, 1, 1.6])
    x, moved = make_sets(1, "any-sum", torch.Generator().manual_seed(5))
    _draw_set(axes[0], x[0, :, 0], title="aligned: X", ylabel="elements of the set")
    _draw_set(axes[1], moved[0, :, 0], title="two elements moved: X′")
    _draw_bars(axes[2], _accuracies(outcomes))
    with atomic_write(path) as part:
        drawing.savefig(part, format="png", dpi=150)


def _draw_set(axis: Any, elements: torch.Tensor, **labels: str) -> None:
    for i, element in enumerate(elements):
        colour = "#2a6f97" if i < 2 else "#e07a3f"
        axis.step(range(len(element)), element + 3 * (3 - i), where="mid", color=colour)
    axis.set(yticks=[], xticks=[], xlabel="time (periodic)", **labels)
    axis.spines[["top", "right", "left"]].set_visible(False)


def _draw_bars(axis: Any, runs: Values) -> None:
    height = 0.38
    several = any(len(values) > 1 for values in runs.values())
    for k, (setting, colour) in enumerate(COLOURS.items()):
        values = [mean(runs[model, setting]) for model in MODELS]
        positions = [row + (k - 0.5) * height for row in range(len(MODELS))]
        axis.barh(positions, values, height, color=colour, label=setting.replace("-", " "))
        for y, value, model in zip(positions, values, MODELS, strict=True):
            found = runs[model, setting] if several else []
            axis.plot(found, [y] * len(found), "o", color="black", ms=2.5, clip_on=False)
            axis.text(max([value, *found]) + 1.8, y, f"{value:.1f}", va="center", fontsize=8)
    axis.axvline(50, color="grey", linewidth=1, linestyle=":")
    axis.set_yticks(range(len(MODELS)), [LABELS[model] for model in MODELS])
    dots = "; dots: runs" if several else ""
    axis.set(xlim=(0, 112), xlabel=f"accuracy at telling X from X′, % (chance: 50{dots})")
    axis.invert_yaxis()
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(
        title="column sums", loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False
    )

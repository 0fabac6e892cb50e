"""Draw the figures of the pages about concepts: ``make numbers``."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import idea
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from idea import BLUE, GREY, ORANGE, arrow, box
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from symsets.pages.styles import style_of

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "results"
STYLE = {"svg.hashsalt": "symsets", "font.size": 11, "svg.fonttype": "path"}
NO_DATE = {"Date": None}  # the same figure is the same file
LIGHT = "#e8eef2"


def main() -> None:
    """Write all figures beside this file."""
    mpl.use("agg")
    with mpl.rc_context(STYLE):
        idea.draw(HERE / "idea.svg", metadata=NO_DATE)
        made = {"early": early(), "schemes": schemes(), "signals": signals()}
        for name, figure in made.items():
            figure.savefig(HERE / f"{name}.svg", metadata=NO_DATE)
        symmetry().savefig(HERE / "symmetry.jpg", dpi=150, pil_kwargs={"quality": 90})


def _canvas(width: float, height: float, size: tuple[float, float]) -> tuple[Figure, Axes]:
    figure, axis = plt.subplots(figsize=size, layout="constrained")
    axis.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    axis.axis("off")
    return figure, axis


def early() -> Figure:
    """Late and early aggregation side by side: where the elements of a set meet."""
    figure, axis = _canvas(25, 7.6, (10, 3.3))
    for left, is_early in ((0.2, False), (13, True)):
        title = "early: they meet in every layer" if is_early else "late: elements meet once"
        axis.text(left + 5.6, 7.1, title, ha="center", fontsize=13, color="black")
        for y in (5, 3.2, 1.4):
            axis.add_patch(plt.Rectangle((left, y), 0.9, 0.9, fc=LIGHT, ec=GREY, lw=0.8))
            for k in range(3):
                x = left + 2 + 2.4 * k
                box(axis, x, y + 0.05, f"$L_{k + 1}$", BLUE)
                arrow(axis, (x - 1.1 + 0.1 * (k == 0), y + 0.45), (x - 0.1, y + 0.45), BLUE)
                if is_early:
                    start = x - 1.2 if k else x - 1
                    for other in {5, 3.2, 1.4} - {y}:
                        arrow(axis, (start, other + 0.45), (x - 0.12, y + 0.45), ORANGE)
            arrow(axis, (left + 7.95, y + 0.45), (left + 9.3, 3.65), GREY)
        axis.add_patch(plt.Circle((left + 9.75, 3.65), 0.45, fc=ORANGE, ec="none"))
        axis.text(left + 9.75, 3.63, "Σ", color="white", ha="center", va="center", fontsize=13)
        arrow(axis, (left + 10.2, 3.65), (left + 11.1, 3.65), GREY)
        axis.text(left + 11.25, 3.62, "?", fontsize=15, va="center", color=GREY)
    axis.text(5.8, 0.3, "what one element cannot tell, is lost before", ha="center", color=GREY)
    axis.text(18.6, 0.3, "every layer compares each element with its set", ha="center", color=GREY)
    return figure


SCHEMES = (
    ("siamese", r"$L(x_i)$", ()),
    ("dss-sum, -mean, -max, …", r"$L_1(x_i) + L_2(\mathrm{pool}_j\, x_j)$", ("pool", "L2")),
    ("aittala", r"$[\,L(x_i),\ \max_j L(x_j)\,]$", ("max",)),
    ("sridhar", r"$L(x_i) - \mathrm{mean}_j\, L(x_j)$", ("– mean",)),
    ("attention", r"$L_1(x_i) + \sum_j \alpha_{ij}\, h(x_j)$", ("α",)),
    ("wreath", r"$L(x_i) + \beta \sum_j \sum_k x_{jk}$", ("ΣΣ",)),
)


def schemes() -> Figure:
    """What travels between the elements of a set in each scheme."""
    figure, axes = plt.subplots(2, 3, figsize=(10, 5.2), layout="constrained")
    for axis, (name, formula, middle) in zip(axes.flat, SCHEMES, strict=True):
        axis.set(xlim=(-0.4, 6.6), ylim=(-1.9, 4.3), aspect="equal")
        axis.axis("off")
        axis.set_title(name, fontsize=12, fontweight="bold")
        for y in (3, 1.5, 0):
            for x in (0, 5.4):
                axis.add_patch(plt.Circle((x + 0.3, y + 0.3), 0.36, fc=LIGHT, ec=GREY, lw=0.9))
            arrow(axis, (0.75, y + 0.3), (5.25, y + 0.3), BLUE)
            if middle:
                arrow(axis, (0.62, y + 0.1), (2, 1.75), ORANGE)
                arrow(axis, (4.2, 1.75), (5.3, y + 0.1), ORANGE)
        if middle:
            text = " → ".join(middle).replace("L2", "$L_2$")
            axis.add_patch(plt.Rectangle((1.95, 1.4), 2.3, 0.8, fc=ORANGE, ec="none", zorder=3))
            axis.text(3.1, 1.77, text, ha="center", va="center", color="white", zorder=4)
        axis.text(3, -1.3, formula, ha="center", fontsize=13)
    return figure


def symmetry() -> Figure:
    """A set, and the same set after its two symmetries: another order, and a shift of all."""
    page = plt.imread(HERE / "bursts.png")
    shots = [page[22:138, x : x + 117, :3] for x in (169, 293, 418)]
    rows = (
        ("a set", shots),
        ("another order", [shots[k] for k in (2, 0, 1)]),
        ("all shifted alike", [np.roll(shot, (30, 40), (0, 1)) for shot in shots]),
    )
    widths = [1, 1, 1, 0.3, 1, 1, 1, 0.3, 1, 1, 1]
    figure, axes = plt.subplots(
        1, 11, figsize=(10, 1.35), width_ratios=widths, layout="constrained"
    )
    for k, (title, pictures) in enumerate(rows):
        for j, picture in enumerate(pictures):
            axes[4 * k + j].imshow(picture)
        axes[4 * k + 1].set_title(title, fontsize=11)
    for axis in axes:
        axis.axis("off")
    return figure


def signals() -> Figure:
    """Accuracy against the number of training sets, from `results/signals`."""
    records = json.loads((RESULTS / "signals" / "results.json").read_text("utf-8"))["records"]
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for r in records:
        if r["metric"] == "accuracy":
            found[r["model"]][r["train_size"]].append(100 * r["value"])
    figure, axis = plt.subplots(figsize=(8, 3.8), layout="constrained")
    for model in ("dss-sum", "siamese-ds", "deepsets", "siamese"):
        sizes = sorted(found[model])
        means = [fmean(found[model][size]) for size in sizes]
        style = style_of(model)
        axis.plot(sizes, means, "o-", color=style.colour, label=style.label, lw=2)
        axis.annotate(
            f" {style.label}", (sizes[-1], means[-1]), va="center", color=style.colour, fontsize=11
        )
    axis.set(xscale="log", xlabel="training sets", ylabel="test accuracy, %", xlim=(250, 90_000))
    axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axis.minorticks_off()
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", color="#dddddd", lw=0.7)
    return figure


if __name__ == "__main__":
    main()

"""Draw without pyplot's global state, and embed figures as SVG."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from symsets._extras import require
from symsets.experiments.report.models import MODEL_STYLES, style_of

__all__ = [
    "DPI",
    "GRID",
    "INK",
    "NO",
    "YES",
    "Picture",
    "canvas",
    "colour_name",
    "far_apart",
    "label_ends",
    "style",
]

INK, GRID = "#24313a", "#d9dfe4"
YES, NO = "#2a8f5b", "#c0453a"  # right and wrong
FAR_APART = 30.0  # largest over smallest error
DPI = 180  # of files, and of what is too much to be drawn by lines in a page

_STYLE = {
    "font.size": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "image.composite_image": False,  # every picture keeps its own pixels
    "svg.fonttype": "none",  # text stays text: it can be read aloud, searched and copied
    "svg.hashsalt": "symsets",  # the same numbers give the same file
}


@dataclass(frozen=True)
class Picture:
    """A figure with a name for its file, what it shows, and a sentence for those who cannot see.

    A wide one takes the whole width of the page.
    """

    name: str
    caption: str
    description: str
    figure: Any
    models: tuple[str, ...]
    wide: bool = False

    def save_png(self, folder: Path) -> Path:
        """Write the figure on white ground."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.png"
        with style():
            self.figure.savefig(path, dpi=DPI, facecolor="white")
        return path

    def svg(self) -> str:
        """Return the figure as SVG, in colours that follow the light or dark theme of the page."""
        buffer = StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        with style():
            self.figure.savefig(buffer, format="svg", dpi=DPI, transparent=True, metadata=nothing)
        drawn = buffer.getvalue()
        return self._in_page_colours(_own_ids(drawn[drawn.index("<svg") :], self.name))

    def _in_page_colours(self, drawn: str) -> str:
        drawn = drawn.replace(INK, "currentColor").replace(GRID, "var(--rule)")
        drawn = drawn.replace(YES, f"var(--yes, {YES})").replace(NO, f"var(--no, {NO})")
        for model in self.models:
            colour = style_of(model).colour
            drawn = drawn.replace(colour, f"var({colour_name(model)}, {colour})")
        return drawn


def colour_name(model: str) -> str:
    """Return the name of a model's colour in the page's style sheet."""
    # Baselines share one colour, and so must share its name.
    known = next(
        (word for word, seen in MODEL_STYLES.items() if seen.colour == style_of(model).colour),
        model,
    )
    return f"--{re.sub(r'[^a-z0-9-]', '-', known.lower())}"


def _own_ids(drawn: str, name: str) -> str:
    """Prefix the ids of an SVG, so that several can be embedded in one page."""
    # Equal pictures would have equal names, which nothing refers to.
    drawn = re.sub(r'(<image\b[^>]*?) id="[^"]*"', r"\1", drawn)
    drawn = re.sub(r'\bid="', f'id="{name}-', drawn)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", drawn)


def style() -> AbstractContextManager[None]:
    """Return a context in which figures look like ours."""
    return require("matplotlib", "experiments").rc_context(_STYLE)


def canvas(width: float, height: float, *, columns: int = 1) -> tuple[Any, list[Any]]:
    """Return a figure that pyplot does not know about, and its axes."""
    figure = require("matplotlib.figure", "experiments").Figure(
        figsize=(width, height), layout="constrained"
    )
    axes = figure.subplots(1, columns, sharey=columns > 1, squeeze=False)
    return figure, list(axes[0])


def far_apart(errors: Iterable[float]) -> bool:
    """Return whether the largest error would hide the differences between all others.

    Example:
        >>> far_apart([1.0, 2.0, 3.0]), far_apart([1.0, 2.0, 300.0])
        (False, True)
    """
    values = list(errors)
    return 0 < FAR_APART * min(values, default=0.0) < max(values, default=0.0)


def label_ends(axis: Any, ends: Sequence[tuple[float, str, str]]) -> None:
    """Write the label of each line beside its end, moved apart where they would touch.

    Args:
        axis: With all its lines.
        ends: The height at which a line ends, its label and its colour.
    """
    axis.get_ylim()  # lets the axis look at its lines: until then its limits are 0 and 1
    points = axis.figure.get_size_inches()[1] * 72 * 0.78  # height of the axes, about
    gap = 10.5 / points
    heights = [
        axis.transAxes.inverted().transform(axis.transData.transform((1, y)))[1] for y, *_ in ends
    ]
    order = sorted(range(len(ends)), key=lambda k: heights[k])
    for k, place in zip(order, _spread([heights[k] for k in order], gap), strict=True):
        _, label, colour = ends[k]
        axis.annotate(
            label,
            xy=(1, heights[k]),
            xytext=(1.05, place),
            xycoords="axes fraction",
            color=colour,
            va="center",
            fontsize=8.5,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "lw": 0.6,
                "shrinkA": 1,
                "relpos": (0, 0.5),
                "shrinkB": 1,
            },
            annotation_clip=False,
        )


def _spread(heights: Sequence[float], gap: float) -> list[float]:
    """Move sorted heights apart until all gaps are large enough, keeping groups centred."""
    groups: list[list[float]] = []
    for height in heights:
        groups.append([height])
        while len(groups) > 1 and _bottom(groups[-1], gap) - _top(groups[-2], gap) < gap:
            last = groups.pop()
            groups[-1] += last
    return [_bottom(group, gap) + k * gap for group in groups for k in range(len(group))]


def _bottom(group: Sequence[float], gap: float) -> float:
    return sum(group) / len(group) - gap * (len(group) - 1) / 2


def _top(group: Sequence[float], gap: float) -> float:
    return sum(group) / len(group) + gap * (len(group) - 1) / 2

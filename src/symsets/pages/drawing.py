"""Draw without pyplot's global state, and embed figures as SVG."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from symsets._extras import require
from symsets._files import atomic_write, below

INK, GRID = "#24313a", "#d9dfe4"
YES, NO = "#2a8f5b", "#c0453a"  # right and wrong
FAR_APART = 30.0  # largest over smallest error
SOFTWARE = 305  # the tag in EXIF and TIFF
NAME = "symsets"  # what it says of our pictures
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
    wide: bool = False

    def save_png(self, folder: Path) -> Path:
        """Write the figure on white ground."""
        path = below(folder, f"{self.name}.png")
        with style(), _any_letters(), atomic_write(path) as part:
            looks = {"dpi": DPI, "facecolor": "white"}
            self.figure.savefig(part, format="png", pil_kwargs={"exif": mark()}, **looks)
        return path

    def svg(self) -> str:
        """Return the figure as SVG."""
        buffer = StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        with style(), _any_letters():
            self.figure.savefig(buffer, format="svg", dpi=DPI, facecolor="white", metadata=nothing)
        drawn = buffer.getvalue()
        return _own_ids(drawn[drawn.index("<svg") :], self.name)


def mark() -> bytes:
    """Return the EXIF data of a picture, which say that we wrote it."""
    exif = require("PIL.Image", "images").Exif()
    exif[SOFTWARE] = NAME
    return exif.tobytes()


@contextmanager
def _any_letters() -> Iterator[None]:
    """Accept signs that our font lacks: browsers have them, and pictures show a box."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def _own_ids(drawn: str, name: str) -> str:
    """Prefix the ids of an SVG, so that several can be embedded in one page."""
    # Equal pictures would have equal names, which nothing refers to.
    drawn = re.sub(r'(<image\b[^>]*?) id="[^"]*"', r"\1", drawn)
    drawn = re.sub(r'\bid="', f'id="{name}-', drawn)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", drawn)


def style() -> AbstractContextManager[None]:
    """Return a context in which figures look like ours."""
    return require("matplotlib", "experiments").rc_context(_STYLE)


def canvas(width: float, height: float) -> tuple[Any, Any]:
    """Return a figure that pyplot does not know about, and its axis."""
    matplotlib = require("matplotlib.figure", "experiments")
    figure = matplotlib.Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def far_apart(errors: Iterable[float]) -> bool:
    """Return whether the largest error would hide the differences between all others.

    Example:
        >>> far_apart([1.0, 2.0, 3.0]), far_apart([1.0, 2.0, 300.0])
        (False, True)
    """
    values = list(errors)
    return 0 < FAR_APART * min(values, default=0.0) < max(values, default=0.0)

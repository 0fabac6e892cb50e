"""Sheets of pictures: sets and answers, laid out by hand in inches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from symsets._extras import require
from symsets.experiments.report._drawing import INK
from symsets.experiments.report.models import style_of

__all__ = ["GAP", "LINE", "Answer", "Sets", "Sheet", "named", "side_of"]

WIDTH = 9.0  # of a full sheet
GAP, LINE = 0.08, 0.165  # between pictures, and from one line of text to the next
LETTERS = 8.0  # points


@dataclass(frozen=True)
class Answer:
    """What a run made of the sets."""

    output: Tensor
    seed: int = 0


@dataclass(frozen=True)
class Sets:
    """Sets of pictures ``(S, N, C, H, W)`` or shapes, what is right, and the answers of models.

    Pixel values are in [0, 1]; those of answers may lie outside, which counts as an error. More
    is what an experiment needs besides to show its sets.
    """

    x: Tensor
    target: Tensor
    answers: Mapping[str, Answer]
    more: Mapping[str, Tensor] = field(default_factory=dict)


class Sheet:
    """A page that grows downwards; places are in inches from its upper left corner."""

    def __init__(self) -> None:
        self.figure = require("matplotlib.figure", "experiments").Figure()
        self.axis = self.figure.add_axes((0, 0, 1, 1))
        self.axis.set_axis_off()
        self.axis.autoscale(enable=False)
        self.width = 0.0
        self.y = GAP

    def picture(self, pixels: Tensor, x: float, y: float, side: float) -> None:
        """Show a picture ``(C, H, W)``, clipped to [0, 1]; a fourth channel is its opacity."""
        shown = pixels.clamp(0, 1).movedim(0, -1).mul(255).round().byte().numpy()
        self.axis.imshow(shown, extent=(x, x + side, y + side, y), interpolation="none")
        self.width = max(self.width, x + side + GAP)

    def points(self, x: Any, y: Any, *, right: float, **looks: Any) -> None:
        """Draw points as pixels, since there are many; they end at ``right``."""
        self.axis.scatter(x, y, linewidths=0, rasterized=True, **looks)
        self.width = max(self.width, right + GAP)

    def faces(self, corners: Any, colours: Any, *, right: float) -> None:
        """Draw polygons ``(F, K, 2)`` as pixels, since there are many; they end at ``right``."""
        collections = require("matplotlib.collections", "experiments")
        # Lines of their own colour hide the seams between faces.
        looks = {"facecolors": colours, "edgecolors": colours, "linewidths": 0.2}
        self.axis.add_collection(collections.PolyCollection(corners, rasterized=True, **looks))
        self.width = max(self.width, right + GAP)

    def text(self, text: str, x: float, y: float, **looks: Any) -> None:
        """Write a line of text, vertically centred at ``y``."""
        looks = {"ha": "center", "va": "center_baseline", "fontsize": LETTERS, "color": INK} | looks
        self.axis.text(x, y, text, **looks)

    def words(self, text: str, x: float, y: float, width: float, **looks: Any) -> None:
        """Write a line of text, in smaller letters if it would be wider than ``width``."""
        fitting = 72 * width / (0.6 * max(1, len(text)))
        self.text(text, x, y, **({"fontsize": min(LETTERS, fitting)} | looks))

    def box(self, x: float, y: float, width: float, height: float, **looks: Any) -> None:
        """Draw a rectangle."""
        patches = require("matplotlib.patches", "experiments")
        looks = {"fill": False, "edgecolor": INK, "linewidth": 1.0} | looks
        self.axis.add_patch(patches.Rectangle((x, y), width, height, **looks))

    def close(self) -> Any:
        """Return the figure, with the size of all that was drawn."""
        self.figure.set_size_inches(self.width, self.y)
        self.axis.set(xlim=(0, self.width), ylim=(self.y, 0), aspect="auto")
        return self.figure


def side_of(columns: int, taken: float, largest: float) -> float:
    """Return the width at which ``columns`` pictures fill the sheet beside what is taken."""
    return min(largest, (WIDTH - taken - GAP) / columns - GAP)


def named(model: str, answer: Answer) -> str:
    """Return the label of a model, with its seed if that is not the first."""
    return style_of(model).label + (f", seed {answer.seed}" if answer.seed else "")

"""Sheets of pictures: rows of tiles with words around them, laid out in inches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor

from symsets._extras import require
from symsets.pages.drawing import INK, Picture

WIDTH = 9.0  # of a full sheet
GAP, LINE = 0.08, 0.165  # between pictures, and from one line of text to the next
LETTERS = 8.0  # points


class Line(NamedTuple):
    """A line of text on a sheet."""

    text: str
    colour: str = INK
    bold: bool = False


@dataclass(frozen=True)
class Tile:
    """A square of a sheet: a picture ``(C, H, W)``, or what a function draws at a corner."""

    content: Tensor | Callable[[Sheet, float, float], None]
    above: Line | None = None  # what is written over it
    below: Sequence[Line] = ()  # what is written under it
    framed: bool = False  # all of this has a thick frame
    space: float = 0.0  # extra room to its left


class Sheet:
    """A page that grows downwards, row by row.

    Args:
        columns: Tiles in a row.
        left: Width of the column of names.
        largest: Width of a tile where there is room.
        space: Extra room between the tiles of a row, all together.
    """

    def __init__(
        self, columns: int = 1, *, left: float = 0.5, largest: float = 1.0, space: float = 0.0
    ) -> None:
        self.figure = require("matplotlib.figure", "experiments").Figure()
        self.axis = self.figure.add_axes((0, 0, 1, 1))
        self.axis.set_axis_off()
        self.axis.autoscale(enable=False)
        self.left = left
        self.side = min(largest, (WIDTH - left - space - GAP) / columns - GAP)
        self.width = 0.0
        self.y = GAP

    def row(
        self, tiles: Sequence[Tile], title: Sequence[Line] = (), names: Sequence[Line] = ()
    ) -> None:
        """Add a row, with a title to the left of its tiles and names to the left of what is below.

        A title of several lines is centred.
        """
        top = self.y + LINE * any(tile.above for tile in tiles)
        bottom = top + self.side + 0.03
        height = bottom + LINE * max(len(tile.below) for tile in tiles)
        room, middle = self.left - 2 * GAP, top + self.side / 2 - LINE * (len(title) - 1) / 2
        for k, line in enumerate(title):
            self.write(line, GAP, middle + k * LINE, room, ha="left")
        for k, line in enumerate(names):
            self.write(line, GAP, bottom + (k + 0.5) * LINE, room, ha="left")
        x = self.left
        for tile in tiles:
            x += tile.space
            if isinstance(tile.content, Tensor):
                self.picture(tile.content, x, top, self.side)
            else:
                tile.content(self, x, top)
            above = [(top, tile.above)] if tile.above else []
            below = [(bottom + (k + 1) * LINE, line) for k, line in enumerate(tile.below)]
            for y, line in (*above, *below):
                self.write(line, x + self.side / 2, y - LINE / 2, self.side + GAP, ha="center")
            if tile.framed:
                self._frame(x, self.y, height - self.y)
            x += self.side + GAP
        self.width = max(self.width, x)
        self.y = height + 0.12

    def picture(self, pixels: Tensor, x: float, y: float, side: float) -> None:
        """Show a picture ``(C, H, W)``, clipped to [0, 1]; a fourth channel is its opacity."""
        pixels = pixels.detach().cpu().expand(max(len(pixels), 3), -1, -1)  # grey ones in colour
        shown = pixels.clamp(0, 1).movedim(0, -1).mul(255).round().byte().numpy()
        self.axis.imshow(shown, extent=(x, x + side, y + side, y), interpolation="none")

    def points(self, x: Any, y: Any, **looks: Any) -> None:
        """Draw points as pixels, since there are many."""
        self.axis.scatter(x, y, linewidths=0, rasterized=True, **looks)

    def faces(self, corners: Any, colours: Any) -> None:
        """Draw polygons ``(F, K, 2)`` as pixels, since there are many."""
        collections = require("matplotlib.collections", "experiments")
        # Lines of their own colour hide the seams between faces.
        looks = {"facecolors": colours, "edgecolors": colours, "linewidths": 0.2}
        self.axis.add_collection(collections.PolyCollection(corners, rasterized=True, **looks))

    def write(self, line: Line, x: float, y: float, width: float, *, ha: str) -> None:
        """Write a line centred at height ``y``, in smaller letters if it would be too wide."""
        size = min(LETTERS, 72 * width / (0.6 * max(1, len(line.text))))
        weight = "bold" if line.bold else "normal"
        looks = {"ha": ha, "va": "center_baseline", "fontsize": size, "weight": weight}
        self.axis.text(x, y, line.text, color=line.colour, parse_math=False, **looks)

    def _frame(self, x: float, y: float, height: float) -> None:
        patches = require("matplotlib.patches", "experiments")
        corner, sides = (x - 0.03, y - 0.03), (self.side + 0.06, height + 0.06)
        self.axis.add_patch(
            patches.Rectangle(corner, *sides, fill=False, edgecolor=INK, linewidth=2)
        )

    def close(self, caption: str, description: str) -> Picture:
        """Return the figure, with the size of all that was drawn."""
        self.figure.set_size_inches(self.width, self.y)
        self.axis.set(xlim=(0, self.width), ylim=(self.y, 0), aspect="auto")
        return Picture("examples", caption, description, self.figure, wide=True)

"""Sheets of sets of pictures, with what a network says about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from symsets.pages.drawing import INK, NO, YES, Picture
from symsets.pages.sheets import GAP, Line, Sheet, Tile

MOST_TILES = 12  # of a set
LARGEST = 1.2  # inches


@dataclass(frozen=True)
class ShownSet:
    """A set with its answer.

    Attributes:
        name: Of the set.
        pictures: ``(N, C, H, W)`` with values from 0 to 1.
        lines: What to say about it, such as what is right and what the network says.
        right: Whether the network is right; None if that is not known.
        below: A word under each picture, such as its score.
        marked: Pictures with a frame, such as the chosen one.
        results: Further pictures with a title each, such as the merged one and the truth.
    """

    name: str
    pictures: Tensor
    lines: Sequence[str] = ()
    right: bool | None = None
    below: Sequence[str] = ()
    marked: Sequence[int] = ()
    results: Sequence[tuple[str, Tensor]] = ()


def sheet(sets: Sequence[ShownSet], name: str, caption: str) -> Picture:
    """Draw sets of pictures, one in a row."""
    columns = max(min(len(one.pictures), MOST_TILES) + len(one.results) for one in sets)
    drawn = Sheet(columns, left=1.9, largest=LARGEST, space=0.2)
    for one in sets:
        colour = {True: YES, False: NO, None: INK}[one.right]
        title = [Line(short(one.name), bold=True), *(Line(short(x), colour) for x in one.lines)]
        drawn.row(_tiles(one), title=title)
    more = max(len(one.pictures) for one in sets) > MOST_TILES
    note = f" Of larger sets, the first {MOST_TILES} elements are shown." if more else ""
    said = "; ".join(f"{one.name}: {', '.join(one.lines)}" for one in sets)
    return replace(drawn.close(f"{caption}{note}", said), name=name)


def _tiles(one: ShownSet) -> list[Tile]:
    tiles = []
    for k, picture in enumerate(one.pictures[:MOST_TILES]):
        word = [Line(short(one.below[k]))] if k < len(one.below) else []
        tiles.append(Tile(_in_colour(picture), below=word, framed=k in one.marked))
    for k, (title, picture) in enumerate(one.results):
        tiles.append(Tile(_in_colour(picture), below=[Line(title)], space=0 if k else 2 * GAP))
    return tiles


def _in_colour(picture: Tensor) -> Tensor:
    picture = picture.detach().float().cpu()
    return picture.expand(3, *picture.shape[1:]) if picture.shape[0] == 1 else picture


def short(text: str, most: int = 34) -> str:
    """Return a name or an answer in one line that leaves room for others.

    Example:
        >>> short("photos/of/a/holiday", most=10)
        '…a/holiday'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"…{line[1 - most :]}"

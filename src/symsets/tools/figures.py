"""Figures of what networks learnt: curves, confusions, scatter, ranks; sheets of sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from symsets.pages.drawing import INK, NO, YES, Picture, canvas, style
from symsets.pages.sheets import GAP, Line, Sheet, Tile
from symsets.pages.styles import style_of
from symsets.sets import RaggedSets, Sets

MOST_TILES = 12  # of a set
LARGEST = 1.2  # inches
MOST_CLASSES = 30  # whose confusions can be read
MOST_POINTS = 3000  # in a scatter

History = Sequence[Mapping[str, float]]


def curves(histories: Mapping[str, History], metric: str) -> list[Picture]:
    """Draw the metric on validation sets and both losses of every network, epoch by epoch."""
    names = ", ".join(style_of(name).label for name in histories)
    pictures = []
    for title, lines in (
        (f"{metric} on validation sets", ((f"val_{metric}", "-"),)),
        ("loss on training sets (solid) and validation sets (dashed)",
         (("train_loss", "-"), ("val_loss", "--"))),
    ):  # fmt: skip
        with style():
            figure, axis = canvas(5.2, 3.2)
            for name, history in histories.items():
                label: str | None = style_of(name).label
                for key, line in lines:
                    points = [(row["epoch"], row[key]) for row in history if key in row]
                    if points:
                        mark = "o" if len(points) == 1 else None  # a line of one point is nothing
                        axis.plot(*zip(*points, strict=True), line, color=style_of(name).colour,
                                  label=label, marker=mark)  # fmt: skip
                        label = None
            axis.set_xlabel("epoch")
            axis.xaxis.get_major_locator().set_params(integer=True)
            axis.set_ylabel(metric if len(lines) == 1 else "loss")
            if len(histories) > 1:
                axis.legend()
        stem = "curves" if len(lines) == 1 else "losses"
        pictures.append(Picture(stem, f"The {title}.", f"Curves of {names}: {title}.", figure))
    return pictures


def confusion(outputs: Sets, targets: Sets, classes: Sequence[str]) -> Picture | None:
    """Draw how often sets of each class were taken for each class; None if there are too many."""
    assert isinstance(outputs, Tensor)
    assert isinstance(targets, Tensor)
    num = len(classes)
    if not 1 < num <= MOST_CLASSES:
        return None
    pairs = targets.long() * num + outputs.argmax(1)
    counts = torch.bincount(pairs, minlength=num * num).view(num, num)
    shares = counts / counts.sum(1, keepdim=True).clamp(min=1)
    side = min(6.0, max(2.8, 0.45 * num + 1.2))
    with style():
        figure, axis = canvas(side + 0.6, side)
        axis.imshow(shares.numpy(), cmap="Blues", vmin=0, vmax=1)
        names = [_plain(name) for name in classes]
        axis.set_xticks(range(num), names, rotation=90 if num > 4 else 0)
        axis.set_yticks(range(num), names)
        axis.set_xlabel("what the network says")
        axis.set_ylabel("what is right")
        axis.grid(visible=False)
        for i in range(num):
            for j in range(num):
                if counts[i, j]:
                    colour = "white" if shares[i, j] > 0.5 else INK
                    axis.text(j, i, int(counts[i, j]), ha="center", va="center", color=colour,
                              fontsize=8 if num <= 12 else 6)  # fmt: skip
    right = int(counts.diagonal().sum())
    return Picture(
        "confusion",
        "Test sets of each class, and what they were taken for.",
        f"Confusion matrix: {right} of {int(counts.sum())} test sets are right.",
        figure,
    )


def scatter(predicted: Sets, true: Sets, names: Sequence[str]) -> Picture:
    """Draw what a network says against what is right."""
    x, y = (_numbers(values) for values in (true, predicted))
    with style():
        figure, axis = canvas(4.2, 4.0)
        for k in range(x.shape[1]):
            label = _plain(names[k]) if len(names) == x.shape[1] > 1 else None
            axis.scatter(x[:MOST_POINTS, k], y[:MOST_POINTS, k], s=9, alpha=0.6, linewidths=0,
                         label=label, color=None if x.shape[1] > 1 else "#0072b2")  # fmt: skip
        ends = [min(x.min(), y.min()), max(x.max(), y.max())]
        axis.plot(ends, ends, ":", color=INK, linewidth=1)
        axis.set_xlabel("what is right")
        axis.set_ylabel("what the network says")
        if len(names) == x.shape[1] > 1:
            axis.legend()
    error = float((x - y).abs().mean())
    return Picture(
        "scatter",
        "Numbers of the test sets; on the dotted line the network is right.",
        f"Scatter plot of {len(x)} test numbers, with a mean absolute error of {error:.3g}.",
        figure,
    )


def ranks(scores: Sets, targets: Sets) -> Picture:
    """Draw how often the right element came first, second, and so on."""
    assert isinstance(targets, Tensor)
    each = scores.to_list() if isinstance(scores, RaggedSets) else list(scores)
    places = [int((own > own[k]).sum()) for own, k in zip(each, targets.tolist(), strict=True)]
    most = max(len(own) for own in each)
    counts = torch.bincount(torch.tensor(places), minlength=most)[:20]
    with style():
        figure, axis = canvas(4.6, 3.0)
        colours = [YES, *["#9aa8b3"] * (len(counts) - 1)]
        axis.bar(range(1, len(counts) + 1), counts.tolist(), color=colours)
        axis.set_xlabel("place of the right element in the network's order")
        axis.set_ylabel("test sets")
    first = int(counts[0])
    return Picture(
        "ranks",
        "How often the right element came first, second, …",
        f"Bar chart: the right element came first in {first} of {len(places)} test sets.",
        figure,
    )


def _plain(name: str) -> str:
    """Return a name that matplotlib does not take for a formula, nor makes the figure small."""
    return short(name, 24).replace("$", r"\$")


def _numbers(values: Sets) -> Tensor:
    rows = values.elements if isinstance(values, RaggedSets) else values
    assert isinstance(rows, Tensor)
    return rows.reshape(len(rows), -1).double()


@dataclass(frozen=True)
class ShownSet:
    """A set with its answer."""

    name: str
    pictures: Tensor  # (N, C, H, W) with values from 0 to 1
    lines: Sequence[str] = ()  # such as what is right and what the network says
    right: bool | None = None  # whether the network is right, if that is known
    below: Sequence[str] = ()  # a word under each picture, such as its score
    marked: Sequence[int] = ()  # pictures with a frame, such as the chosen one
    results: Sequence[tuple[str, Tensor]] = ()  # further pictures, such as the truth, with titles


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
        tiles.append(Tile(picture, below=word, framed=k in one.marked))
    for k, (title, picture) in enumerate(one.results):
        tiles.append(Tile(picture, below=[Line(title)], space=0 if k else 2 * GAP))
    return tiles


def short(text: str, most: int = 34) -> str:
    """Return a name or an answer in one line that leaves room for others.

    Example:
        >>> short("photos/of/a/holiday", most=10)
        '…a/holiday'
    """
    line = " ".join(text.encode(errors="replace").decode().split())  # names may be any bytes
    return line if len(line) <= most else f"…{line[1 - most :]}"

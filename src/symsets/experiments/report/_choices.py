"""Sheets of selection: a set, and under every picture the probabilities of each model."""

from __future__ import annotations

from collections.abc import Sequence

from symsets.experiments.report._drawing import Picture
from symsets.experiments.report._sheets import GAP, LINE, Sets, Sheet, named, side_of
from symsets.experiments.report.models import style_of

__all__ = ["draw_choices"]

LEFT = 1.0  # width of the column that names models
LARGEST = 1.0
MOST_IN_A_LINE = 10


def draw_choices(sets: Sets, *, goal: str) -> Picture:
    """Draw sets with every model's probabilities under the pictures.

    Args:
        sets: With targets ``(S,)`` and answers ``(S, N)``, scores.
        goal: What the target is, in words.
    """
    sheet, S, N = Sheet(), *sets.x.shape[:2]
    columns = -(-N // -(-N // MOST_IN_A_LINE))  # lines of equal length
    side = side_of(columns, LEFT, LARGEST)
    _draw_legend(sheet)
    for s in range(S):
        sheet.text(f"set {s + 1}", GAP, sheet.y + side / 2, ha="left", weight="bold")
        for first in range(0, N, columns):
            _draw_line(sheet, sets, s, range(first, min(N, first + columns)), side)
        sheet.y += 0.12
    chosen = {model: answer.output.argmax(1) for model, answer in sets.answers.items()}
    right = {model: int((pick == sets.target).sum()) for model, pick in chosen.items()}
    counts = ", ".join(f"{style_of(model).label} {count} of {S}" for model, count in right.items())
    return Picture(
        name="choices",
        caption=f"To be found is {goal} (thick frame). Under each picture: the probability, in %, "
        "that each model gives it. A box marks the model's choice, ✓ right or ✗ wrong. "
        f"Right here: {counts}.",
        description=f"{S} sets of {N} pictures with probabilities under them. Right: {counts}.",
        figure=sheet.close(),
        models=tuple(sets.answers),
        wide=True,
    )


def _draw_legend(sheet: Sheet) -> None:
    y = sheet.y + LINE / 2
    sheet.box(LEFT, y - 0.07, 0.16, 0.14, linewidth=2)
    sheet.text("to be found", LEFT + 0.24, y, ha="left")
    for mark, word, x in (("✓", "chosen, right", 2.3), ("✗", "chosen, wrong", 3.9)):
        sheet.box(x, y - 0.075, 0.42, 0.15)
        sheet.text(f"37 {mark}", x + 0.21, y, weight="bold")
        sheet.text(word, x + 0.5, y, ha="left")
    sheet.y += LINE + GAP


def _draw_line(sheet: Sheet, sets: Sets, s: int, which: Sequence[int], side: float) -> None:
    """Draw some elements of a set, and under each a row for every model."""
    top, truth = sheet.y, int(sets.target[s])
    places = {element: LEFT + k * (side + GAP) for k, element in enumerate(which)}
    for element, x in places.items():
        sheet.picture(sets.x[s, element], x, top, side)
    sheet.y += side + 0.03
    for model, answer in sets.answers.items():
        scores, colour = answer.output[s], style_of(model).colour
        y = sheet.y + LINE / 2
        sheet.words(named(model, answer), GAP, y, LEFT - 2 * GAP, ha="left", color=colour)
        shares, pick = scores.softmax(0).tolist(), int(scores.argmax())
        for element, x in places.items():
            mark = ("✓" if pick == truth else "✗") if element == pick else ""
            _draw_share(sheet, shares[element], mark, x, side, colour)
        sheet.y += LINE
    if truth in places:
        height = sheet.y - top + 0.06
        sheet.box(places[truth] - 0.03, top - 0.03, side + 0.06, height, linewidth=2)
    sheet.y += 0.1


def _draw_share(sheet: Sheet, share: float, mark: str, x: float, side: float, colour: str) -> None:
    """Write a probability before a bar of that length; box it if there is a mark."""
    y, height = sheet.y + 0.012, LINE - 0.024
    sheet.box(x, y, side * share, height, fill=True, facecolor=colour, alpha=0.3, linewidth=0)
    percent = 100 * share
    text = f"{percent:.0f}" if percent >= 9.95 else f"{percent:.1f}"
    weight = "bold" if mark else "normal"
    sheet.text(f"{text} {mark}".strip(), x + side / 2, y + height / 2, weight=weight)
    if mark:
        sheet.box(x, y, side, height, edgecolor=colour, linewidth=1.4)

"""Sheets of pictures that models make: colours for every element, or one picture of a burst."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from torch import Tensor

from symsets.experiments.report._drawing import Picture
from symsets.experiments.report._sheets import GAP, LINE, Sets, Sheet, named, side_of
from symsets.experiments.report.models import style_of
from symsets.train.metrics import mean_absolute_error, psnr

__all__ = ["draw_bursts", "draw_colors"]

LEFT, AIR = 0.5, 0.12  # for the names of sets; between elements, target and answers
LARGEST_PHOTO, LARGEST_SHOT = 1.0, 1.3

Errors = dict[str, list[float]]

_mae, _psnr = mean_absolute_error(255), psnr(1.0)


def draw_colors(sets: Sets) -> Picture:
    """Draw the elements of each photograph, the photograph, and what models made of it.

    Args:
        sets: With targets and answers ``(S, N, C, H, W)``; elements of one photograph have equal
            targets.
    """
    sheet, S = Sheet(), len(sets.x)
    photographs = [_same_target(sets.target[s]) for s in range(S)]
    parts = max(len(elements) for found in photographs for elements in found)
    side = side_of(parts + 1 + len(sets.answers), LEFT + 2 * AIR, LARGEST_PHOTO)
    places = [LEFT + k * (side + GAP) for k in range(parts)]
    target = places[-1] + side + GAP + AIR
    answers = {m: target + AIR + (k + 1) * (side + GAP) for k, m in enumerate(sets.answers)}
    y = sheet.y + LINE / 2
    sheet.text("elements", (places[0] + places[-1] + side) / 2, y)
    sheet.text("target", target + side / 2, y)
    for model, x in answers.items():
        label, colour = named(model, sets.answers[model]), style_of(model).colour
        sheet.words(label, x + side / 2, y, side + GAP, color=colour)
    sheet.y += LINE + 0.03
    errors: Errors = defaultdict(list)
    for s, found in enumerate(photographs):
        sheet.text(f"set {s + 1}", GAP, sheet.y + side / 2, ha="left", weight="bold")
        for elements in found:
            for element, x in zip(elements, places, strict=False):
                sheet.picture(sets.x[s, element], x, sheet.y, side)
            sheet.box(LEFT - 0.03, sheet.y - 0.03, side + 0.06, side + 0.06, linewidth=1.6)
            truth = sets.target[s, elements[0]]
            sheet.picture(truth, target, sheet.y, side)
            for model, x in answers.items():
                output = sets.answers[model].output[s, elements[0]]
                _draw_answer(sheet, output, truth, x, side, errors[model], decibels=False)
            sheet.y += side + LINE + 0.05
        sheet.y += 0.1
    return Picture(
        name="colors",
        caption="A set holds the colour channels of two photographs, shuffled; here those of a "
        "photograph stand side by side. Models give every element its colours back. The answers "
        "shown are those to the framed element, which comes first in the set; under them, the "
        "mean absolute error in grey levels of 255.",
        description=f"{S} sets of colour channels, the photographs they come from, and the "
        f"answers of models. Mean absolute errors: {_means(errors)}.",
        figure=sheet.close(),
        models=tuple(sets.answers),
        wide=True,
    )


def draw_bursts(sets: Sets) -> Picture:
    """Draw bursts, the scene, and what models made of them.

    Args:
        sets: With targets and answers ``(S, C, H, W)``.
    """
    sheet, S, N = Sheet(), *sets.x.shape[:2]
    columns = max(N, 1 + len(sets.answers))
    side = side_of(columns, LEFT, LARGEST_SHOT)
    places = [LEFT + k * (side + GAP) for k in range(columns)]
    errors: Errors = defaultdict(list)
    for s in range(S):
        sheet.text(f"set {s + 1}", GAP, sheet.y + LINE + side / 2, ha="left", weight="bold")
        for k in range(N):
            sheet.text(f"shot {k + 1}", places[k] + side / 2, sheet.y + LINE / 2)
            sheet.picture(sets.x[s, k], places[k], sheet.y + LINE, side)
        sheet.y += LINE + side + 0.05
        sheet.text("target", places[0] + side / 2, sheet.y + LINE / 2, weight="bold")
        for (model, answer), x in zip(sets.answers.items(), places[1:], strict=False):
            middle, colour = x + side / 2, style_of(model).colour
            sheet.words(named(model, answer), middle, sheet.y + LINE / 2, side + GAP, color=colour)
        sheet.y += LINE
        sheet.picture(sets.target[s], places[0], sheet.y, side)
        for (model, answer), x in zip(sets.answers.items(), places[1:], strict=False):
            found = errors[model]
            _draw_answer(sheet, answer.output[s], sets.target[s], x, side, found, decibels=True)
        sheet.y += side + LINE + 0.15
    return Picture(
        name="bursts",
        caption="Above, the shots of a burst; below, the scene and what models made of the burst, "
        "with the mean absolute error in grey levels of 255 and the peak signal-to-noise ratio "
        "(dB).",
        description=f"{S} bursts of {N} shots, their scenes, and the answers of models. "
        f"Mean absolute errors: {_means(errors)}.",
        figure=sheet.close(),
        models=tuple(sets.answers),
        wide=True,
    )


def _draw_answer(
    sheet: Sheet,
    output: Tensor,
    truth: Tensor,
    x: float,
    side: float,
    errors: list[float],
    *,
    decibels: bool,
) -> None:
    """Show an answer ``(C, H, W)`` and how wrong it is, and note its error."""
    sheet.picture(output, x, sheet.y, side)
    errors.append(float(_mae(output[None], truth[None])))
    text = f"MAE {errors[-1]:.1f}"
    if decibels:
        text += f", {float(_psnr(output[None], truth[None])):.1f} dB"
    sheet.words(text, x + side / 2, sheet.y + side + 0.02 + LINE / 2, side + GAP)


def _same_target(target: Tensor) -> list[list[int]]:
    """Group the elements of a set ``(N, C, H, W)`` by the photograph they belong to.

    Example:
        >>> import torch
        >>> _same_target(torch.tensor([5, 7, 7, 5]).reshape(4, 1, 1, 1))
        [[0, 3], [1, 2]]
    """
    groups: list[list[int]] = []
    for k, picture in enumerate(target):
        own = next((group for group in groups if target[group[0]].equal(picture)), None)
        if own is None:
            groups.append([k])
        else:
            own.append(k)
    return groups


def _means(errors: Mapping[str, Sequence[float]]) -> str:
    return ", ".join(
        f"{style_of(m).label} {sum(found) / len(found):.1f}" for m, found in errors.items()
    )

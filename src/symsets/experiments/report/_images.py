"""Sheets of images: selected ones, colours for every element, one picture of a burst."""

from collections import defaultdict

from torch import Tensor

from symsets.data.splits import group_by
from symsets.experiments.report._answers import Sets
from symsets.pages.drawing import Picture
from symsets.pages.sheets import Line, Sheet, Tile
from symsets.pages.styles import style_of
from symsets.train.metrics import mean_absolute_error, psnr

MOST_IN_A_LINE = 10
AIR = 0.12  # between elements, target and answers

_mae, _psnr = mean_absolute_error(255), psnr(1.0)


def draw_choices(sets: Sets, *, goal: str) -> Picture:
    """Draw sets with every model's probabilities under the pictures.

    Targets are ``(S,)``, which ``goal`` puts in words; answers are scores ``(S, N)``.
    """
    S, N = sets.x.shape[:2]
    columns = -(-N // -(-N // MOST_IN_A_LINE))  # lines of equal length
    sheet = Sheet(columns, left=1.0)
    names = [sets.name(model) for model in sets.answers]
    for s, truth in enumerate(sets.target.tolist()):
        tiles = [
            Tile(sets.x[s, k], below=_shares(sets, s, k, truth), framed=k == truth)
            for k in range(N)
        ]
        for first in range(0, N, columns):
            sheet.row(tiles[first : first + columns], [Line(f"set {s + 1}", bold=True)], names)
    right = {
        model: f"{int((answer.output.argmax(1) == sets.target).sum())} of {S}"
        for model, answer in sets.answers.items()
    }
    counted = sets.counted(right)
    return sheet.close(
        f"To be found is {goal} (thick frame). Under each picture: the probability, in %, that "
        "each model gives it. Bold is the model's choice, ✓ right or ✗ wrong. "
        f"Right here: {counted}.",
        f"{S} sets of {N} pictures with probabilities under them. Right: {counted}.",
    )


def _shares(sets: Sets, s: int, element: int, truth: int) -> list[Line]:
    """Return the probability that each model gives an element of a set."""
    lines = []
    for model, answer in sets.answers.items():
        scores = answer.output[s]
        percent, chosen = 100 * float(scores.softmax(0)[element]), int(scores.argmax()) == element
        mark = (" ✓" if element == truth else " ✗") if chosen else ""
        text = f"{percent:.0f}" if percent >= 9.95 else f"{percent:.1f}"
        lines.append(Line(text + mark, style_of(model).colour, chosen))
    return lines


def draw_colors(sets: Sets) -> Picture:
    """Draw the elements of each photograph, the photograph, and what models made of it.

    Targets and answers are ``(S, N, C, H, W)``; elements of one photograph have equal targets.
    """
    photographs = [_same_target(target) for target in sets.target]
    parts = max(len(elements) for found in photographs for elements in found)
    sheet = Sheet(parts + 1 + len(sets.answers), space=2 * AIR)
    errors: dict[str, list[float]] = defaultdict(list)
    for s, found in enumerate(photographs):
        for first, *others in found:
            tiles = [
                Tile(sets.x[s, first], Line("elements"), framed=True),
                *(Tile(sets.x[s, element]) for element in others),
                *_answers(sets, sets.target[s, first], (s, first), errors),
            ]
            sheet.row(tiles, [Line(f"set {s + 1}", bold=True)])
    return sheet.close(
        "A set holds the colour channels of two photographs, shuffled; here those of a "
        "photograph stand side by side. Models give every element its colours back. The answers "
        "shown are those to the framed element, which comes first in the set; under them, the "
        "mean absolute error in grey levels of 255.",
        f"{len(sets.x)} sets of colour channels, the photographs they come from, and the "
        f"answers of models. Mean absolute errors: {sets.means(errors, 1)}.",
    )


def draw_bursts(sets: Sets) -> Picture:
    """Draw bursts, the scene, and what models made of them: ``(S, C, H, W)``."""
    S, N = sets.x.shape[:2]
    sheet = Sheet(max(N, 1 + len(sets.answers)), largest=1.3, space=2 * AIR)
    errors: dict[str, list[float]] = defaultdict(list)
    for s in range(S):
        shots = [Tile(shot, Line(f"shot {k + 1}")) for k, shot in enumerate(sets.x[s])]
        sheet.row(shots, [Line(f"set {s + 1}", bold=True)])
        sheet.row(_answers(sets, sets.target[s], (s,), errors, decibels=True))
    return sheet.close(
        "Above, the shots of a burst; below, the scene and what models made of the burst, "
        "with the mean absolute error in grey levels of 255 and the peak signal-to-noise ratio "
        "(dB).",
        f"{S} bursts of {N} shots, their scenes, and the answers of models. "
        f"Mean absolute errors: {sets.means(errors, 1)}.",
    )


def _answers(
    sets: Sets,
    truth: Tensor,
    place: tuple[int, ...],
    errors: dict[str, list[float]],
    *,
    decibels: bool = False,
) -> list[Tile]:
    """Return the target ``(C, H, W)`` and the answers at a place, and note how wrong they are."""
    tiles = [Tile(truth, Line("target"), space=AIR)]
    for model, answer in sets.answers.items():
        output = answer.output[place]
        errors[model].append(float(_mae(output[None], truth[None])))
        text = f"MAE {errors[model][-1]:.1f}"
        if decibels:
            text += f", {float(_psnr(output[None], truth[None])):.1f} dB"
        tiles.append(Tile(output, sets.name(model), [Line(text)], space=AIR * (len(tiles) == 1)))
    return tiles


def _same_target(target: Tensor) -> list[list[int]]:
    """Group the elements of a set ``(N, C, H, W)`` by the photograph they belong to.

    Example:
        >>> import torch
        >>> _same_target(torch.tensor([5, 7, 7, 5]).reshape(4, 1, 1, 1))
        [[0, 3], [1, 2]]
    """
    contents = [picture.numpy().tobytes() for picture in target]
    return list(group_by(range(len(target)), contents.__getitem__).values())

"""What is asked of each set: the task, the names of the classes, and the targets."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from symsets._checks import shown
from symsets.data.set_folder.labels import Labels

MOST_NUMBERED = 20  # classes that are called by whole numbers
MOST_LOST = 1e-3  # of the deviation of a column: what rounding to float32 may take away
FEW = 0.05  # the share of labels other than 0 and 1 up to which these are taken for mistakes
COMMA = re.compile(r"[+-]?\d+,\d+")
CLASS_COLUMNS = ("label", "class")
NUMBERED = 'whole numbers taken for classes; task="regress" takes them as they are'


@dataclass(frozen=True)
class Targets:
    """The task of a folder, the names of its classes or columns, and a target for each set."""

    task: str | None  # one of those of symsets.models.Card, or None if there are no labels
    classes: tuple[str, ...] = ()  # names of the classes or of the columns
    values: Tensor | list[Tensor] | None = None  # a row for each set; a list for scores
    note: str = ""  # what was guessed, and how to say otherwise


def from_columns(labels: Labels, task: str | None, classes: tuple[str, ...] = ()) -> Targets:
    """Return the targets that columns of labels stand for.

    One column of words makes classes, and one of numbers a regression; but a column called
    ``label`` or ``class`` of the whole numbers from 0 or 1 up to at most 20, each at least twice,
    makes classes. Several columns make several labels if all are 0 or 1, else a regression. A
    ``task`` that is given is not guessed, and ``classes`` of a trained network keep their order.
    """
    note = ""
    if task is None:
        task, note = _guess(labels)
    if task == "classify":
        return Targets(task, *_classify(labels, classes), note)
    names = labels.columns
    if classes and sorted(classes) != sorted(names):
        raise ValueError(f"{labels.path} must have the columns {classes}, got {names}")
    places = [(names.index(name), name) for name in classes or names]
    numbers = [
        [to_number(row.values[k], f"{row.where}: {name}") for k, name in places]
        for row in labels.rows
    ]
    for row, own in zip(labels.rows, numbers, strict=True):
        if task == "labels" and (wrong := set(own) - {0, 1}):
            k, name = places[own.index(wrong.pop())]
            raise ValueError(f"{row.where}: {name} must be 0 or 1, got {row.values[k]}")
    return Targets(task, classes or names, _numbers(numbers), note)


def _numbers(values: list[list[float]]) -> Tensor:
    """Return numbers as float32, or as float64 where they would run together."""
    exact = torch.tensor(values, dtype=torch.float64)
    rounded = exact.float()
    loss, spread = (rounded - exact).abs().amax(0), exact.std(0, correction=0)
    return exact if bool((loss > MOST_LOST * spread).any()) else rounded


def _guess(labels: Labels) -> tuple[str, str]:
    """Return the task, and what was guessed, if anything."""
    columns = enumerate(labels.columns)
    cells = ((f"{row.where}: {name}", row.values[k]) for k, name in columns for row in labels.rows)
    what, word = next((cell for cell in cells if not _is_number(cell[1])), ("", None))
    if len(labels.columns) > 1:
        if word is not None:
            raise ValueError(f"{what} must be a number, beside other columns, got {shown(word)}")
        return _guess_of_several(labels), ""
    commas = [row for row in labels.rows if COMMA.fullmatch(row.values[0])]
    if 2 * len(commas) > len(labels.rows):
        row = commas[0]
        raise ValueError(
            f"{row.where}: {labels.columns[0]} must have a point, not a comma, in numbers, got "
            f'{shown(row.values[0])}; task="classify" takes them all for names of classes'
        )
    numbers = [row.values[0] for row in labels.rows if _is_number(row.values[0])]
    numbered = bool(numbers) and _are_numbered(labels.columns[0], numbers)
    if word is None:
        return ("classify", NUMBERED) if numbered else ("regress", "")
    if 2 * len(numbers) > len(labels.rows) and not numbered:  # a NaN or "n/a", for example
        raise ValueError(
            f"{what} must be a finite number, as most of the column are, got {shown(word)}; "
            'task="classify" takes them all for names of classes'
        )
    return "classify", ""


def _guess_of_several(labels: Labels) -> str:
    """Return the task of several columns of numbers."""
    numbers = [float(value) for row in labels.rows for value in row.values]
    others = [k for k, number in enumerate(numbers) if number not in (0, 1)]
    if not others:
        return "labels"
    if len(others) > FEW * len(numbers):
        return "regress"
    line, column = divmod(others[0], len(labels.columns))
    row = labels.rows[line]
    raise ValueError(
        f"{row.where}: {labels.columns[column]} must be 0 or 1, as nearly all labels are, got "
        f'{row.values[column]}; task="regress" takes them as numbers'
    )


def _are_numbered(name: str, values: Sequence[str]) -> bool:
    """Whether a column of numbers holds classes 0, 1, 2, … or 1, 2, 3, …."""
    if name.lower() not in CLASS_COLUMNS or not all(value.isdecimal() for value in values):
        return False
    times = Counter(map(int, values))
    numbers = sorted(times)
    run = numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(numbers) - 1
    return run and 2 <= len(numbers) <= MOST_NUMBERED and min(times.values()) > 1


def _classify(labels: Labels, classes: tuple[str, ...]) -> tuple[tuple[str, ...], Tensor]:
    if len(labels.columns) > 1:
        raise ValueError(f"{labels.path} must have one column to classify, got {labels.columns}")
    classes = classes or tuple(sorted({row.values[0] for row in labels.rows}, key=_natural))
    number = {name: k for k, name in enumerate(classes)}
    for row in labels.rows:
        if row.values[0] not in number:
            raise ValueError(f"{row.where}: label must be one of {classes}, got {row.values[0]!r}")
    return classes, torch.tensor([number[row.values[0]] for row in labels.rows])


def check_classes(
    targets: Targets, names: Sequence[str], root: str, *, divided: bool = False
) -> None:
    """Raise ValueError if there is one class only, or a class with one set only.

    Of sets that folders or a column have ``divided``, a class may have one.
    """
    if targets.task != "classify" or not isinstance(targets.values, Tensor):
        return
    times = Counter(targets.values.tolist())
    if len(times) < 2:
        found = targets.classes[next(iter(times))]
        raise ValueError(f"{root} must have sets of at least two classes, found only {found!r}")
    rare = [number for number, count in times.items() if count == 1]
    if rare and not divided:
        name = names[targets.values.tolist().index(rare[0])]
        raise ValueError(
            f"{root} must have at least three sets of each class, or folders train, val and test, "
            f"found only {name!r} of class {targets.classes[rare[0]]!r}"
        )


def _natural(value: str) -> tuple[Any, ...]:
    return (0, float(value), value) if _is_number(value) else (1, value)


def _is_number(value: str) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


def to_number(value: str, what: str) -> float:
    """Return a finite number; raise ValueError saying what it must be."""
    if not _is_number(value):
        raise ValueError(f"{what} must be a finite number, got {shown(value)}")
    return float(value)

"""What is asked of each set: the task, the names of the classes, and the targets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from symsets._checks import shown

MOST_NUMBERED = 20  # classes that are called by whole numbers
CLASS_COLUMNS = ("label", "class")


@dataclass(frozen=True)
class Column:
    """A column of labels, one for each set.

    Attributes:
        name: Its header.
        values: Its cells.
        where: Where each of them stands, for messages.
    """

    name: str
    values: tuple[str, ...]
    where: tuple[str, ...]


@dataclass(frozen=True)
class Targets:
    """The task of a folder, the names of its classes or columns, and a target for each set.

    Attributes:
        task: One of those of :class:`symsets.models.Card`, or None if there are no labels.
        classes: Names of the classes or of the columns.
        values: A row for each set, or a list of tensors for scores; None if there are none.
        note: What was guessed, and how to say otherwise.
    """

    task: str | None
    classes: tuple[str, ...] = ()
    values: Tensor | list[Tensor] | None = None
    note: str = ""


def from_columns(
    columns: Sequence[Column], task: str | None, classes: tuple[str, ...] = ()
) -> Targets:
    """Return the targets that columns of labels stand for.

    One column of words makes classes, and one of numbers a regression; but a column called
    ``label`` or ``class`` of the whole numbers from 0 or 1 up to at most 20, each at least twice,
    makes classes. Several columns make several labels if all are 0 or 1, else a regression.

    Args:
        columns: The columns.
        task: ``"classify"``, ``"labels"`` or ``"regress"``; guessed if None.
        classes: Names of a trained network, in its order.
    """
    note = ""
    if task is None:
        task, note = _guess(columns)
    if task == "classify":
        return Targets(task, *_classify(columns, classes), note)
    names = tuple(column.name for column in columns)
    if classes:
        if sorted(classes) != sorted(names):
            raise ValueError(
                f"{columns[0].where[0]}: columns must be {list(classes)}, got {list(names)}"
            )
        columns = [columns[names.index(name)] for name in classes]
    numbers = [
        [
            to_number(value, f"{where}: {column.name}")
            for value, where in zip(column.values, column.where, strict=True)
        ]
        for column in columns
    ]
    if task == "labels":
        for column, values in zip(columns, numbers, strict=True):
            if wrong := [k for k, value in enumerate(values) if value not in (0, 1)]:
                raise ValueError(
                    f"{column.where[wrong[0]]}: {column.name} must be 0 or 1, got "
                    f"{column.values[wrong[0]]}"
                )
    return Targets(task, classes or names, torch.tensor(numbers).T.contiguous(), note)


def _guess(columns: Sequence[Column]) -> tuple[str, str]:
    numeric = [all(_is_number(value) for value in column.values) for column in columns]
    if len(columns) == 1:
        if not numeric[0]:
            _check_words(columns[0])
            return "classify", ""
        if _are_numbered(columns[0]):
            return (
                "classify",
                'whole numbers taken for classes; task="regress" takes them as they are',
            )
        return "regress", ""
    if not all(numeric):
        column = columns[numeric.index(False)]
        wrong = next(k for k, value in enumerate(column.values) if not _is_number(value))
        raise ValueError(
            f"{column.where[wrong]}: {column.name} must be a number, as there are several columns, "
            f"got {shown(column.values[wrong])}; one column may hold words"
        )
    binary = all(float(value) in (0, 1) for column in columns for value in column.values)
    return ("labels" if binary else "regress"), ""


def _check_words(column: Column) -> None:
    """Raise ValueError if words stand among numbers that are no classes, such as NaN or "n/a"."""
    numbers = tuple(value for value in column.values if _is_number(value))
    rest = Column(column.name, numbers, column.where)
    if 2 * len(numbers) <= len(column.values) or _are_numbered(rest):
        return
    wrong, value = next((k, v) for k, v in enumerate(column.values) if not _is_number(v))
    raise ValueError(
        f"{column.where[wrong]}: {column.name} must be a finite number, as most of the column are, "
        f'got {shown(value)}; task="classify" takes them all for names of classes'
    )


def _are_numbered(column: Column) -> bool:
    """Whether a column of numbers holds classes 0, 1, 2, … or 1, 2, 3, …."""
    if column.name.lower() not in CLASS_COLUMNS or not all(v.isdecimal() for v in column.values):
        return False
    times = Counter(map(int, column.values))
    numbers = sorted(times)
    run = numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(numbers) - 1
    return run and 2 <= len(numbers) <= MOST_NUMBERED and min(times.values()) > 1


def _classify(
    columns: Sequence[Column], classes: tuple[str, ...]
) -> tuple[tuple[str, ...], Tensor]:
    if len(columns) > 1:
        raise ValueError(
            f"{columns[0].where[0]}: task 'classify' must have one column of labels, got "
            f"{[column.name for column in columns]}"
        )
    (column,) = columns
    classes = classes or tuple(sorted(set(column.values), key=_natural))
    number = {name: k for k, name in enumerate(classes)}
    for where, value in zip(column.where, column.values, strict=True):
        if value not in number:
            raise ValueError(f"{where}: label must be one of {list(classes)}, got {value!r}")
    return classes, torch.tensor([number[value] for value in column.values])


def check_classes(targets: Targets, names: Sequence[str], root: str) -> None:
    """Raise ValueError if there is one class only, or a class with one set only."""
    if targets.task != "classify" or not isinstance(targets.values, Tensor):
        return
    times = Counter(targets.values.tolist())
    if len(times) < 2:
        found = targets.classes[next(iter(times))]
        raise ValueError(f"{root} must have sets of at least two classes, found only {found!r}")
    if rare := [number for number, count in times.items() if count == 1]:
        name = names[targets.values.tolist().index(rare[0])]
        raise ValueError(
            f"{root} must have at least two sets of each class, found only {name!r} of class "
            f"{targets.classes[rare[0]]!r}"
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

"""Which task a folder poses, and the target of each of its sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from symsets.data.set_folder.elements import Examined
from symsets.data.set_folder.labels import Labels, Row
from symsets.data.set_folder.layouts import FoundSet
from symsets.data.set_folder.targets import Column, Targets, from_columns, to_number

OF_ELEMENTS = ("select", "score")


def find_task(
    root: Path,
    task: str | None,
    tables: Sequence[Labels],
    sets: Sequence[FoundSet],
    *,
    learn: bool,
) -> str | None:
    """Return the task, or None if columns of labels decide, or there are no labels.

    Raises:
        ValueError: Labels are there in two forms, or not in that of the task.
    """
    merged = next((one.target for one in sets if one.target), None)
    of_elements = bool(tables) and tables[0].of_elements
    if task is None:
        if merged and tables:
            raise ValueError(
                f"{root} must pose one task, found {tables[0].path} and {merged}: choose by task="
            )
        if merged:
            task = "merge"
        elif of_elements:
            task = "score" if tables[0].columns else "select"
        elif not tables and sets[0].label is not None:
            task = "classify"
    if task == "merge":
        lacks = next((one.name for one in sets if not one.target), None)
        if lacks and (merged or learn):
            like = f", like {merged}" if merged else ""
            raise ValueError(f"set {lacks!r} must hold a picture called target{like}, found none")
    elif task is not None and (learn or tables):
        _check_labels(root, task, tables, of_elements, sets)
    return task


def _check_labels(
    root: Path, task: str, tables: Sequence[Labels], of_elements: bool, sets: Sequence[FoundSet]
) -> None:
    """Raise ValueError unless there are labels of the kind that a task needs."""
    header = {"select": "set,file", "score": "set,file,score"}.get(task, "set,label")
    if tables:
        fits = of_elements == (task in OF_ELEMENTS) and (task != "score" or tables[0].columns)
    else:
        fits = task == "classify" and sets[0].label is not None
    if not fits:
        found = tables[0].path if tables else root
        also = ", or a folder for each class" if task == "classify" else ""
        raise ValueError(
            f"{found} must have labels for task {task!r}: labels.csv with {header}{also}"
        )


def find_targets(
    root: Path,
    found: Examined,
    tables: Sequence[Labels],
    rows: Sequence[list[Row]],
    task: str | None,
    classes: tuple[str, ...] | None,
) -> tuple[list[int], Targets]:
    """Return which sets can be used, and the targets of all.

    Args:
        root: The folder.
        found: Its sets.
        tables: Its labels.
        rows: The lines about each set.
        task: What is asked; None if columns decide.
        classes: Those of the network that the sets are for; None if one is to learn from them.
    """
    everything = list(range(len(found.sets)))
    if task == "merge" or (not tables and found.sets[0].label is None):
        return everything, Targets(task, classes or ())
    if task in OF_ELEMENTS and tables:
        return _of_elements(found, tables, rows, task, learn=classes is None)
    if tables:
        where = tuple(f"{tables[0].path}, line {own[0].line}" for own in rows)
        columns = [
            Column(name, tuple(own[0].values[k] for own in rows), where)
            for k, name in enumerate(tables[0].columns)
        ]
        return everything, from_columns(columns, task, classes or ())
    if task not in (None, "classify"):  # folders of classes say nothing about another task
        return everything, Targets(task, classes or ())
    labels = tuple(str(one.label) for one in found.sets)
    where = tuple(str(root / one.name) for one in found.sets)
    return everything, from_columns([Column("label", labels, where)], "classify", classes or ())


def _of_elements(
    found: Examined,
    tables: Sequence[Labels],
    rows: Sequence[list[Row]],
    task: str,
    *,
    learn: bool,
) -> tuple[list[int], Targets]:
    """Return the place of the best element of each set, or the scores of all its elements."""
    kept, values = [], []
    unusable = {path for path, _ in found.skipped}
    for k, (one, own) in enumerate(zip(found.sets, rows, strict=True)):
        names = found.store.names(k)
        lost = [path for path in unusable if Path(path).parent == Path(one.files[0]).parent]
        known = {*names, *(Path(path).name for path in lost)}
        for row in own:
            if row.file not in known:
                raise ValueError(
                    f"{tables[0].path}, line {row.line}: file must be an element of set "
                    f"{one.name!r}, got {row.file!r}, which is not there"
                )
        if task == "select" and learn and len(names) + len(lost) < 2:
            raise ValueError(
                f"set {one.name!r} must have at least two elements to select the best of, found "
                f"one: {found.store.place(k, 0)}"
            )
        scores = {
            str(row.file): to_number(row.values[0], f"{tables[0].path}, line {row.line}: score")
            for row in own
            if row.values
        }
        if scores and (missing := [name for name in names if name not in scores]):
            place = found.store.place(k, names.index(missing[0]))
            raise ValueError(f"{tables[0].path} must have a score for {place}, found none")
        if task == "score":
            values.append(torch.tensor([scores[name] for name in names]))
            kept.append(k)
            continue
        best = max(names, key=scores.__getitem__) if scores else str(own[0].file)
        values.append(torch.tensor(names.index(best) if best in names else -1))
        if best in names and (len(names) > 1 or not learn):
            kept.append(k)
        else:
            found.skipped.append((one.name, "without its best element, or with nothing else"))
    return kept, Targets(task, values=values if task == "score" else torch.stack(values))

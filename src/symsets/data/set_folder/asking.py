"""Which task a folder poses, and the target of each of its sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from symsets.data.set_folder.elements import Examined
from symsets.data.set_folder.labels import Labels, Row
from symsets.data.set_folder.layouts import FoundSet
from symsets.data.set_folder.targets import Targets, from_columns, to_number

OF_ELEMENTS = ("select", "score")
LOST = "without its best element, or with nothing else"


def find_task(
    root: Path, task: str | None, labels: Labels | None, sets: Sequence[FoundSet], *, learn: bool
) -> str | None:
    """Return the task, or None if columns of labels decide, or there are no labels.

    Raises:
        ValueError: Labels are there in two forms, or not in that of the task.
    """
    merged = next((one.target for one in sets if one.target), None)
    classes = labels is None and sets[0].label is not None
    if task is None:
        if merged and labels:
            raise ValueError(
                f"{root} must pose one task, found {labels.path} and {merged}: choose by task="
            )
        if merged:
            task = "merge"
        elif labels and labels.of_elements:
            task = "score" if labels.columns else "select"
        elif classes:
            task = "classify"
    if task == "merge":
        lacks = next((one.name for one in sets if not one.target), None)
        if lacks and (merged or learn):
            like = f", like {merged}" if merged else ""
            raise ValueError(f"set {lacks!r} must hold a picture called target{like}, found none")
    elif task is not None and (learn or labels):
        fits = classes and task == "classify"
        if labels:
            fits = labels.of_elements == (task in OF_ELEMENTS)
            fits = fits and (task != "score" or bool(labels.columns))
        if not fits:
            header = {"select": "set,file", "score": "set,file,score"}.get(task, "set,label")
            also = ", or a folder for each class" if task == "classify" else ""
            raise ValueError(
                f"{labels.path if labels else root} must have labels for task {task!r}: labels.csv "
                f"with {header}{also}"
            )
    return task


def find_targets(
    root: Path,
    found: Examined,
    labels: Labels | None,
    rows: Sequence[list[Row]],
    task: str | None,
    classes: tuple[str, ...] | None,
) -> tuple[list[int], Targets]:
    """Return which sets can be used, and the targets of all.

    Args:
        root: The folder.
        found: Its sets.
        labels: Its labels.
        rows: The lines about each set.
        task: What is asked; None if columns decide.
        classes: Those of the network that the sets are for; None if one is to learn from them.
    """
    everything = list(range(len(found.sets)))
    if task == "classify" and labels is None and found.sets[0].label is not None:
        said = [
            Row(str(root / one.name), one.name, None, (str(one.label),), None) for one in found.sets
        ]
        labels, rows = Labels(root, ("label",), False, said), [[row] for row in said]
    if task == "merge" or labels is None:
        return everything, Targets(task, classes or ())
    if labels.of_elements:
        return _of_elements(found, labels, rows, task, learn=classes is None)
    labels = replace(labels, rows=[own[0] for own in rows])
    return everything, from_columns(labels, task, classes or ())


def _of_elements(
    found: Examined, labels: Labels, rows: Sequence[list[Row]], task: str | None, *, learn: bool
) -> tuple[list[int], Targets]:
    """Return the place of the best element of each set, or the scores of all its elements."""
    kept, values = [], []
    unusable = [Path(path) for path, _ in found.skipped]
    for k, (one, own) in enumerate(zip(found.sets, rows, strict=True)):
        names = found.store.names(k)
        lost = [path.name for path in unusable if path.parent == Path(one.files[0]).parent]
        known, scores = {*names, *lost}, {}
        for row in own:
            if row.file not in known:
                raise ValueError(
                    f"{row.where}: file must be an element of set {one.name!r}, got {row.file!r}, "
                    "which is not there"
                )
            score = to_number(row.values[0], f"{row.where}: score") if row.values else 0.0
            scores[str(row.file)] = score
        if task == "select" and learn and len(names) + len(lost) < 2:
            raise ValueError(
                f"set {one.name!r} must have at least two elements to select the best of, found "
                f"one: {found.store.place(k, 0)}"
            )
        if labels.columns and (missing := [name for name in names if name not in scores]):
            place = found.store.place(k, names.index(missing[0]))
            raise ValueError(f"{labels.path} must have a score for {place}, found none")
        if task == "score":
            values.append(torch.tensor([scores[name] for name in names]))
            kept.append(k)
            continue
        best = max(names if labels.columns else scores, key=scores.__getitem__)
        values.append(torch.tensor(names.index(best) if best in names else -1))
        if best in names and (len(names) > 1 or not learn):
            kept.append(k)
        else:
            found.skipped.append((one.name, LOST))
    return kept, Targets(task, values=values if task == "score" else torch.stack(values))

"""Open a folder of sets: layout, labels, elements and task together, all of it checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from symsets.data.folders import checked_folder
from symsets.data.set_folder.elements import Examined, Preparation, examine, examine_table
from symsets.data.set_folder.labels import Labels, Row, match, read_labels
from symsets.data.set_folder.layouts import LABELS, FoundSet, find_sets
from symsets.data.set_folder.tables import find_table
from symsets.data.set_folder.targets import Targets, check_classes, from_columns, to_number
from symsets.data.splits import SPLITS

OF_ELEMENTS = ("select", "score")
LOST = "without its best element, or with nothing else"


def open_sets(
    root: Path, task: str | None, how: Preparation, classes: tuple[str, ...] | None
) -> tuple[Examined, list[str | None], Targets, list[int]]:
    """Find, match and examine the sets of a folder or table.

    ``task`` and ``how`` are what was said about sets and elements; ``classes`` are those of the
    network that the sets are for, None if one is to learn from them.

    Returns:
        The sets, and how their elements are read; their splits, as folders or a column name them,
        all None if nothing does; task, classes and targets; and which sets have a target that can
        be used.
    """
    learn = classes is None
    if not root.is_file():
        checked_folder(root)
    labels = _read_labels(root) if root.is_dir() else None
    store = None
    if table := find_table(root):
        sets, store, own = table
        if own and labels:
            raise ValueError(f"{root} must say its labels once, found {own.path} and {labels.path}")
        labels = labels or own
    else:
        named = {row.set for row in labels.rows} if labels else ()
        sets = find_sets(root, kind=how.kind, merge=task in (None, "merge"), named=named)
    lines = match(labels, sets) if labels else {}
    task = _find_task(root, task, labels, sets, learn=learn)
    if learn and len(sets) < 2:
        raise ValueError(
            f"{root} must hold at least two sets to learn from, found {sets[0].name!r}; one table "
            "of all sets names them in a column 'set'"
        )
    found = examine_table(sets, store, how) if store else examine(sets, how)
    rows = [lines.get(one.name, []) for one in found.sets]
    kept, targets = _find_targets(root, found, labels, rows, task, classes)
    splits = [_split_of(one, own) for one, own in zip(found.sets, rows, strict=True)]
    if learn:
        if len(kept) < 2:
            path, why = found.skipped[0]
            raise ValueError(
                f"{root} must hold at least two usable sets, found {len(kept)}; {path} is {why}"
            )
        names = [one.name for one in found.sets]
        check_classes(targets, names, str(root), divided=any(splits))
    return found, splits, targets, kept


def _read_labels(root: Path) -> Labels | None:
    """Read the tables of labels of a folder, or of its folders for splits."""
    places = {root / LABELS: "", **{root / split / LABELS: f"{split}/" for split in SPLITS}}
    found = [(path, prefix) for path, prefix in places.items() if path.is_file()]
    if len(found) > 1 and found[0][0].parent == root:
        raise ValueError(f"{root} must have one {LABELS}, found another: {found[1][0]}")
    tables = [read_labels(path, prefix) for path, prefix in found]
    for table in tables[1:]:
        if (table.columns, table.of_elements) != (tables[0].columns, tables[0].of_elements):
            raise ValueError(f"{table.path} must have the header of {tables[0].path}")
    rows = [row for table in tables for row in table.rows]
    return replace(tables[0], rows=rows) if tables else None


def _split_of(one: FoundSet, rows: list[Row]) -> str | None:
    """Return the split of a set; raise ValueError if that is said in two ways."""
    said = {split for split in (one.split, *(row.split for row in rows)) if split}
    if len(said) > 1:
        raise ValueError(f"{rows[0].where}: set must have one split, got {sorted(said)}")
    return next(iter(said), None)


def _find_task(
    root: Path, task: str | None, labels: Labels | None, sets: Sequence[FoundSet], *, learn: bool
) -> str | None:
    """Return the task, or None if columns of labels decide, or there are no labels."""
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
            where = labels.path if labels else root
            raise ValueError(
                f"{where} must have labels for task {task!r}: labels.csv with {header}"
            )
    return task


def _find_targets(
    root: Path,
    found: Examined,
    labels: Labels | None,
    rows: Sequence[list[Row]],
    task: str | None,
    classes: tuple[str, ...] | None,
) -> tuple[list[int], Targets]:
    """Return which sets can be used, and the targets of all; ``rows`` are the lines about each."""
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
                raise ValueError(f"{row.where}: file must be in the set, got {row.file!r}")
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

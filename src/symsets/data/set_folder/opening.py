"""Open a folder of sets: layout, labels and elements together, all of it checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from symsets.data.folders import checked_folder
from symsets.data.set_folder.asking import find_targets, find_task
from symsets.data.set_folder.elements import Examined, Preparation, examine, examine_table
from symsets.data.set_folder.labels import Labels, Row, match, read_labels
from symsets.data.set_folder.layouts import LABELS, FoundSet, find_sets, suffix_of
from symsets.data.set_folder.tables import SUFFIXES, find_table
from symsets.data.set_folder.targets import Targets, check_classes
from symsets.data.splits import SPLITS


def open_sets(
    root: Path, task: str | None, how: Preparation, classes: tuple[str, ...] | None
) -> tuple[Examined, list[str | None], Targets, list[int]]:
    """Find, match and examine the sets of a folder or table.

    Args:
        root: The folder or table.
        task: If it was said.
        how: What was said about elements.
        classes: Those of the network that the sets are for; None if one is to learn from them.

    Returns:
        The sets, and how their elements are read; their splits, as folders or a column name them,
        all None if nothing does; task, classes and targets; and which sets have a target that can
        be used.

    Raises:
        ValueError: Naming the file, and what was expected.
    """
    learn = classes is None
    if not root.is_file():
        checked_folder(root)
    labels = _read_labels(root) if root.is_dir() else None
    table = find_table(root)
    if table is not None:
        if table.labels is not None and labels is not None:
            raise ValueError(
                f"{root} must say its labels once, found {table.labels.path} and {labels.path}"
            )
        labels, sets = labels or table.labels, table.sets
    else:
        named = {row.set for row in labels.rows} if labels else ()
        sets = find_sets(root, kind=how.kind, merge=task in (None, "merge"), named=named)
    lines = match(labels, sets) if labels else {}
    task = find_task(root, task, labels, sets, learn=learn)
    if learn and len(sets) < 2:
        one = sets[0]
        is_table = one.whole and suffix_of(one.files[0]) in SUFFIXES
        hint = "; in one table of all sets, a column 'set' names them" if is_table else ""
        raise ValueError(
            f"{root} must hold at least two sets to learn from, found {one.name!r}{hint}"
        )
    found = examine(sets, how) if table is None else examine_table(table, how)
    rows = [lines.get(one.name, []) for one in found.sets]
    kept, targets = find_targets(root, found, labels, rows, task, classes)
    if learn:
        if len(kept) < 2:
            path, why = found.skipped[0]
            raise ValueError(
                f"{root} must hold at least two usable sets, found {len(kept)}; {path} is {why}"
            )
        check_classes(targets, [one.name for one in found.sets], str(root))
    splits = [_split_of(one, own) for one, own in zip(found.sets, rows, strict=True)]
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
        raise ValueError(
            f"{rows[0].where}: set {one.name!r} must have one split, got {sorted(said)}"
        )
    return next(iter(said), None)

"""Open a folder of sets: layout, labels and elements together, all of it checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from symsets.data.folders import checked_folder
from symsets.data.set_folder.asking import find_targets, find_task
from symsets.data.set_folder.elements import Examined, Skips, check_elements, examine
from symsets.data.set_folder.labels import Labels, Row, read_labels
from symsets.data.set_folder.layouts import LABELS, FoundSet, find_sets, suffix_of
from symsets.data.set_folder.matching import match
from symsets.data.set_folder.preparation import Preparation
from symsets.data.set_folder.stores import Store
from symsets.data.set_folder.tables import SUFFIXES, find_table, read_table
from symsets.data.set_folder.targets import Targets, check_classes
from symsets.data.splits import SPLITS


@dataclass(frozen=True)
class Opened:
    """All that a folder holds.

    Attributes:
        names: Of sets.
        splits: Of sets, as folders or a column name them; all None if nothing does.
        store: The elements.
        how: How they are prepared.
        targets: Task, classes and targets.
        pictures: Targets that are pictures.
        kept: Which of the sets have a target that can be used.
        skipped: What was left out, and why.
    """

    names: list[str]
    splits: list[str | None]
    store: Store
    how: Preparation
    targets: Targets
    pictures: Store | None
    kept: list[int]
    skipped: Skips


def open_sets(
    root: Path, task: str | None, how: Preparation, classes: tuple[str, ...] | None
) -> Opened:
    """Find, match and examine the sets of a folder or table.

    Args:
        root: The folder or table.
        task: If it was said.
        how: What was said about elements.
        classes: Those of the network that the sets are for; None if one is to learn from them.

    Raises:
        ValueError: Naming the file, and what was expected.
    """
    learn = classes is None
    if not root.is_file():
        checked_folder(root)
    tables = _label_files(root) if root.is_dir() else []
    found, sets = None, []
    if (path := find_table(root)) is not None:
        table = read_table(path)
        if table.labels is not None and tables:
            raise ValueError(f"{root} must say its labels once, found {path} and {tables[0].path}")
        tables = tables or ([table.labels] if table.labels else [])
        sets = table.sets
        found = _of_table(path, sets, table.store, how)
    else:
        named = {row.set for labels in tables for row in labels.rows}
        sets = find_sets(root, kind=how.kind, merge=task in (None, "merge"), named=named)
    rows = match(tables, sets) if tables else [[] for _ in sets]
    task = find_task(root, task, tables, sets, learn=learn)
    if learn and len(sets) < 2:
        one = sets[0]
        is_table = one.whole and suffix_of(one.files[0]) in SUFFIXES
        hint = "; in one table of all sets, a column 'set' names them" if is_table else ""
        raise ValueError(
            f"{root} must hold at least two sets to learn from, found {one.name!r}{hint}"
        )
    found = found or examine(sets, how)
    lines = {one.name: own for one, own in zip(sets, rows, strict=True)}
    rows = [lines[one.name] for one in found.sets]
    kept, targets = find_targets(root, found, tables, rows, task, classes)
    if learn:
        if len(kept) < 2:
            path_, why = found.skipped[0]
            raise ValueError(
                f"{root} must hold at least two usable sets, found {len(kept)}; {path_} is {why}"
            )
        check_classes(targets, [one.name for one in found.sets], str(root))
    return Opened(
        [one.name for one in found.sets],
        [_split_of(one, own, tables) for one, own in zip(found.sets, rows, strict=True)],
        found.store,
        found.how,
        targets,
        found.targets,
        kept,
        found.skipped,
    )


def _of_table(path: Path, sets: list[FoundSet], store: Store, how: Preparation) -> Examined:
    if how.kind not in (None, "vectors"):
        raise ValueError(f"kind must be 'vectors' for the table {path}, got {how.kind!r}")
    assert store.shape is not None
    if how.channels is not None:
        check_elements(str(path), store.shape, (how.channels,), "")
    return Examined(sets, store, replace(how, kind="vectors", channels=store.shape[0]))


def _label_files(root: Path) -> list[Labels]:
    """Read the tables of labels of a folder, or of its folders for splits."""
    places = [(root / LABELS, "")]
    places += [(root / split / LABELS, f"{split}/") for split in SPLITS]
    found = [(path, prefix) for path, prefix in places if path.is_file()]
    if found and found[0][0].parent == root and len(found) > 1:
        raise ValueError(f"{root} must have one {LABELS}, found another: {found[1][0]}")
    tables = [read_labels(path, prefix) for path, prefix in found]
    for table in tables[1:]:
        if (table.columns, table.of_elements) != (tables[0].columns, tables[0].of_elements):
            raise ValueError(f"{table.path} must have the header of {tables[0].path}")
    return tables


def _split_of(one: FoundSet, rows: list[Row], tables: list[Labels]) -> str | None:
    """Return the split of a set; raise ValueError if that is said in two ways."""
    said = {split for split in (one.split, *(row.split for row in rows)) if split}
    if len(said) > 1:
        raise ValueError(
            f"{tables[0].path}, line {rows[0].line}: set {one.name!r} must have one split, got "
            f"{sorted(said)}"
        )
    return next(iter(said), None)

"""All sets in one table, with a column that names the set of each row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from symsets._extras import require
from symsets._files import check_regular, named_errors
from symsets.data.set_folder.arrays import Array, check_finite
from symsets.data.set_folder.labels import Labels, parse_labels, read_csv
from symsets.data.set_folder.layouts import FoundSet, list_folder, suffix_of
from symsets.data.set_folder.stores import TableStore
from symsets.data.splits import group_by

RESERVED = ("set", "element", "score", "best", "split")
SUFFIXES = (".csv", ".parquet")
Columns = dict[str, Any]  # lists of text, or arrays of numbers
Table = tuple[list[FoundSet], TableStore, Labels | None]  # the labels that it has for its sets


def find_table(root: Path) -> Table | None:
    """Read the table that a path is, or that is the only file beside labels in a folder.

    It has a column ``set``, perhaps ``element``, labels and ``split``, and columns of numbers.
    Labels are columns ``label`` or ``label_…`` that are the same in all rows of a set, a column
    ``score``, or a column ``best`` that is 1 in one row of each set and 0 in the others.
    """
    path = root
    if not root.is_file():
        top = list_folder(root)
        if len(top.files) != 1 or top.folders or suffix_of(top.files[0]) not in SUFFIXES:
            return None
        path = root / top.files[0]
    columns = _read_columns(path)
    if "set" not in columns and path is not root:
        return None
    if "set" not in columns:
        raise ValueError(f"{path} must have a column 'set' for each row, got {list(columns)}")
    marks = [name for name in columns if name == "label" or name.startswith("label_")]
    features = [name for name in columns if name not in (*RESERVED, *marks)]
    if not features:
        raise ValueError(f"{path} must have columns of numbers, got only {list(columns)}")
    # The rows of each set
    members = group_by(range(len(columns["set"])), lambda row: str(columns["set"][row]))
    if not members:
        raise ValueError(f"{path} must have rows below its header, found none")
    if "element" not in columns:
        number = {row: n for own in members.values() for n, row in enumerate(own)}
        columns["element"] = [number[row] for row in range(len(number))]
    values = np.stack([_numbers(path, name, columns[name]) for name in features], axis=1)
    names = [[str(columns["element"][row]) for row in own] for own in members.values()]
    sets = [FoundSet(name, (str(path),), whole=True) for name in members]
    rows = [values[own] for own in members.values()]
    store = TableStore(str(path), rows, names, tuple(features))
    return sets, store, _labels(path, columns, marks)


def _read_columns(path: Path) -> Columns:
    with named_errors(path):
        check_regular(path)
        if suffix_of(path.name) == ".parquet":
            table = require("pyarrow.parquet", "tables").read_table(path)
            _check_names(table.column_names)
            return {name: table[name].to_numpy() for name in table.column_names}
        if suffix_of(path.name) != ".csv":
            raise ValueError(f"it must be a folder, or a table in {' or '.join(SUFFIXES)}")
        (_, header), *lines = list(read_csv(path)) or [(0, [])]
        _check_names(header)
        return {name: [cells[k] for _, cells in lines] for k, name in enumerate(header)}


def _check_names(names: list[str]) -> None:
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"columns must have different names, got {twice!r} twice")


def _numbers(path: Path, name: str, values: Any) -> Array:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"column {name!r} of {path} must hold numbers: {error}") from None
    check_finite(f"column {name!r} of {path}", numbers)
    return numbers.astype(np.float32)


def _labels(path: Path, columns: Columns, marks: list[str]) -> Labels | None:
    """Return what the table says about its sets, as ``labels.csv`` would say it."""
    kinds = {"label": marks, "score": ["score"], "best": []}
    found = [kind for kind in kinds if kind in columns or (kind == "label" and marks)]
    if len(found) > 1:
        raise ValueError(f"{path} must have columns for one kind of target, got {found}")
    if not found:
        return None
    values = kinds[found[0]]
    names = ["set", *(["element"] if found != ["label"] else []), *values]
    names += ["split"] if "split" in columns else []
    lines: dict[tuple[Any, ...], int] = {}  # what all rows of a set say is said once
    for row, cells in enumerate(zip(*(columns[name] for name in names), strict=True)):
        if found != ["best"] or str(columns["best"][row]).lower() in ("1", "1.0", "true"):
            lines.setdefault(tuple(map(str, cells)), row + 2)
    header = ["file" if name == "element" else name for name in names]
    return parse_labels(path, header, [(line, list(cells)) for cells, line in lines.items()])

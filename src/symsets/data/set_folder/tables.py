"""All sets in one table, with a column that names the set of each row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from symsets._extras import require
from symsets._files import check_regular, named_errors
from symsets.data.set_folder.arrays import Array
from symsets.data.set_folder.labels import SPLIT_NAMES, Labels, Row, read_csv
from symsets.data.set_folder.layouts import FoundSet, list_folder, suffix_of
from symsets.data.set_folder.stores import TableStore

RESERVED = ("set", "element", "score", "best", "split")
SUFFIXES = (".csv", ".parquet")
Columns = dict[str, list[str] | Array]


@dataclass(frozen=True)
class Table:
    """Sets of vectors, and the labels that the table has for them."""

    sets: list[FoundSet]
    store: TableStore
    labels: Labels | None


def find_table(root: Path) -> Path | None:
    """Return the table that a path is, or that is the only file beside labels in a folder."""
    if root.is_file():
        return root
    top = list_folder(root)
    found = [root / name for name in top.files]
    if len(found) == 1 and not top.folders and suffix_of(found[0].name) in SUFFIXES:
        return found[0] if "set" in _header(found[0]) else None
    return None


def _header(path: Path) -> list[str]:
    if suffix_of(path.name) == ".parquet":
        return list(require("pyarrow.parquet", "tables").ParquetFile(path).schema_arrow.names)
    with path.open("rb") as file:
        line = file.readline(2**16).decode("utf-8-sig", "replace").strip()
    return [
        cell.strip().strip('"') for cell in line.replace(";", ",").replace("\t", ",").split(",")
    ]


def read_table(path: Path) -> Table:
    """Read a table: ``set``, perhaps ``element``, labels and ``split``, and columns of numbers.

    Labels are columns ``label`` or ``label_…`` that are the same in all rows of a set, a column
    ``score``, or a column ``best`` that is 1 in one row of each set and 0 in the others.

    Raises:
        ValueError: The table has no such columns, or entries that are no numbers.
    """
    columns = _read_columns(path)
    if "set" not in columns:
        raise ValueError(
            f"{path} must have a column 'set' that names the set of each row, got {list(columns)}"
        )
    names = [str(name) for name in columns["set"]]
    order = {name: k for k, name in enumerate(dict.fromkeys(names))}
    if not order:
        raise ValueError(f"{path} must have rows below its header, found none")
    of_row = np.array([order[name] for name in names])
    rows = np.argsort(of_row, kind="stable")
    counts = np.bincount(of_row).tolist()
    marks = [name for name in columns if name == "label" or name.startswith("label_")]
    features = [name for name in columns if name not in (*RESERVED, *marks)]
    if not features:
        raise ValueError(f"{path} must have columns of numbers, got only {list(columns)}")
    values = np.stack([_numbers(path, name, columns[name]) for name in features], axis=1)[rows]
    bounds = np.cumsum(counts)[:-1]
    members = np.split(rows, bounds)
    given = columns.get("element")
    elements = [
        [str(given[j]) if given is not None else str(n) for n, j in enumerate(own)]
        for own in members
    ]
    sets = [FoundSet(name, (str(path),), whole=True) for name in order]
    return Table(
        sets,
        TableStore(path, values, counts, elements),
        _labels(path, columns, marks, sets, members, elements),
    )


def _read_columns(path: Path) -> Columns:
    with named_errors(path):
        check_regular(path)
        if suffix_of(path.name) == ".parquet":
            table = require("pyarrow.parquet", "tables").read_table(path)
            return {name: table[name].to_numpy() for name in table.column_names}
        if suffix_of(path.name) != ".csv":
            raise ValueError(f"it must be a folder, or a table in {' or '.join(SUFFIXES)}")
        (_, header), *lines = list(read_csv(path)) or [(0, [])]
        for line, cells in lines:
            if len(cells) != len(header):
                raise ValueError(
                    f"{path}, line {line}: must have {len(header)} values, got {len(cells)}"
                )
        return {name: [cells[k] for _, cells in lines] for k, name in enumerate(header)}


def _numbers(path: Path, name: str, values: list[str] | Array) -> Array:
    try:
        with np.errstate(over="ignore"):
            numbers = np.asarray(values, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise ValueError(f"column {name!r} of {path} must hold numbers: {error}") from None
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"column {name!r} of {path} must hold finite numbers, found NaN or infinity in row "
            f"{int(np.isfinite(numbers).argmin())} (from 0)"
        )
    return numbers


def _labels(
    path: Path,
    columns: Columns,
    marks: list[str],
    sets: list[FoundSet],
    members: list[Array],
    elements: list[list[str]],
) -> Labels | None:
    """Return what the table says about its sets, as ``labels.csv`` would say it."""
    found = [
        name
        for name in ("label", "score", "best")
        if name in columns or (name == "label" and marks)
    ]
    if len(found) > 1:
        raise ValueError(f"{path} must have columns for one kind of target, got {found}")
    if not found:
        return None

    def row(k: int, n: int, names: list[str], file: str | None = None) -> Row:
        j = members[k][n]
        split = _one_of_set(path, columns, "split", sets[k].name, members[k])
        if split is not None and split not in SPLIT_NAMES:
            raise ValueError(
                f"{path}, line {j + 2}: split must be train, val or test, got {split!r}"
            )
        values = tuple(str(columns[name][j]) for name in names)
        return Row(int(j) + 2, sets[k].name, file, values, SPLIT_NAMES.get(split or ""))

    if found == ["label"]:
        for k, one in enumerate(sets):
            for name in marks:
                _one_of_set(path, columns, name, one.name, members[k])
        return Labels(path, tuple(marks), False, tuple(row(k, 0, marks) for k in range(len(sets))))
    names = ["score"] if found == ["score"] else []
    rows = [
        row(k, n, names, elements[k][n])
        for k, own in enumerate(members)
        for n, j in enumerate(own)
        if names or str(columns["best"][j]).lower() in ("1", "1.0", "true")
    ]
    return Labels(path, tuple(names), True, tuple(rows))


def _one_of_set(path: Path, columns: Columns, name: str, of: str, members: Array) -> str | None:
    """Return the entry that all rows of a set share."""
    if name not in columns:
        return None
    found = sorted({str(columns[name][j]) for j in members})
    if len(found) > 1:
        raise ValueError(
            f"column {name!r} of {path} must be the same in all rows of set {of!r}, got {found[:3]}"
        )
    return found[0]

"""What is right for sets or elements, as ``labels.csv`` says it, and for which of them."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from symsets._checks import shown
from symsets._files import named_errors, read_bytes
from symsets.data.set_folder.layouts import FoundSet, suffix_of
from symsets.data.splits import SPLITS

EXPECTED = "'set,label', 'set,file' or 'set,file,score'"
MOST_BYTES = 2**28
SPLIT_NAMES = {**{split: split for split in SPLITS}, "valid": "val", "validation": "val"}


@dataclass(frozen=True)
class Row:
    """What is said about a set or an element, and where: the file and its line, for messages."""

    where: str
    set: str
    file: str | None
    values: tuple[str, ...]
    split: str | None


@dataclass(frozen=True)
class Labels:
    """All labels of a folder, from one table or from one for each split."""

    path: Path  # the file, or the first of several
    columns: tuple[str, ...]  # names of the columns of values
    of_elements: bool  # a row is about an element, not about a set
    rows: list[Row]  # the lines below the header


def read_csv(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Give the number and the cells of every line that is not empty.

    Commas, semicolons or tabs separate cells, whichever the first line has most of. Raise
    ValueError unless the file is text in UTF-8 with as many cells in every line.
    """
    with named_errors(path):
        content = read_bytes(path, MOST_BYTES)
    with named_errors(path, "must be text in UTF-8 (in a spreadsheet, save it as 'CSV UTF-8')"):
        text = content.decode("utf-8-sig")
    sign = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True)
    first: list[str] = []
    try:
        for row in reader:
            if not any(cells := [cell.strip() for cell in row]):
                continue
            first = first or cells
            if len(cells) != len(first):
                raise _wrong_line(f"{path}, line {reader.line_num}", first, cells)
            yield reader.line_num, cells
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: must be CSV: {error}") from error


def _wrong_line(where: str, first: list[str], cells: list[str]) -> ValueError:
    rule, got = (shown(",".join(line)) for line in (first, cells))
    return ValueError(f"{where}: must have {len(first)} values, as in {rule}, got {got}")


def read_labels(path: Path, prefix: str = "") -> Labels:
    """Read ``labels.csv``; ``prefix`` goes before the names of sets, for one in ``train/``."""
    (_, header), *lines = list(read_csv(path)) or [(0, [])]
    labels = parse_labels(path, header, lines)
    rows = []
    for row in labels.rows:
        name = row.set.replace("\\", "/").strip("/")
        file = row.file and row.file.replace("\\", "/").rpartition("/")[2]
        rows.append(replace(row, set=prefix + name, file=file))
    return replace(labels, rows=rows)


def parse_labels(path: Path, header: list[str], lines: Iterable[tuple[int, list[str]]]) -> Labels:
    """Return what numbered lines below a header say about sets."""
    names = [name.lower() for name in header]
    values = [name for name in names if name not in ("set", "file", "split")]
    wrong = (
        names.count("set") != 1
        or len(set(names)) < len(names)
        or ("file" in names and values not in ([], ["score"]))
        or not (values or "file" in names)
    )
    if wrong:
        raise ValueError(
            f"{path} must have the header {EXPECTED}, with several columns for several labels and "
            f"a column 'split' if wanted, got {shown(','.join(header))}"
        )
    rows = []
    for line, cells in lines:
        where = f"{path}, line {line}"
        if not all(cells):
            raise _wrong_line(where, header, cells)
        cell = dict(zip(names, cells, strict=True))
        split = cell.get("split", "").lower()
        if split and split not in SPLIT_NAMES:
            raise ValueError(f"{where}: split must be one of {list(SPLITS)}, got {split!r}")
        found = tuple(cell[name] for name in values)
        rows.append(Row(where, cell["set"], cell.get("file"), found, SPLIT_NAMES.get(split)))
    if not rows:
        raise ValueError(f"{path} must have a line for each set below its header, found none")
    columns = tuple(name for name, small in zip(header, names, strict=True) if small in values)
    return Labels(path, columns, "file" in names, rows)


def match(labels: Labels, sets: Sequence[FoundSet]) -> dict[str, list[Row]]:
    """Return the lines about each set, by the name of the set.

    A line names a set by its path below the root, or by as much of the end of it as only one set
    has; a file with or without its suffix. Raise ValueError if a line names no set, or more than
    one line does, or a set has no line.
    """
    called = _names(sets)
    rows: dict[str, list[Row]] = {one.name: [] for one in sets}
    seen: dict[tuple[str, str | None], str] = {}
    scored = labels.of_elements and bool(labels.columns)
    rule = "one score" if scored else "one best file" if labels.of_elements else "one label"
    for row in labels.rows:
        if (name := called.get(row.set)) is None:
            known = ", ".join(repr(one.name) for one in sets[:3]) + (", …" if sets[3:] else "")
            raise ValueError(f"{row.where}: set must be one of {known}, got {row.set!r}")
        key = (name, row.file if scored else None)
        if key in seen:
            what = f"file {row.file!r} of set {row.set!r}" if scored else f"set {row.set!r}"
            raise ValueError(f"{row.where}: {what} must have {rule}, found another in {seen[key]}")
        seen[key] = row.where
        rows[name].append(row)
    if missing := [name for name, own in rows.items() if not own]:
        raise ValueError(f"{labels.path} must have a line for set {missing[0]!r}, found none")
    return rows


def _names(sets: Sequence[FoundSet]) -> dict[str, str]:
    """Return the set that is meant by every name that only one of them has."""
    ends: list[tuple[str, str]] = []
    for one in sets:
        parts = one.name.split("/")
        own = ["/".join(parts[k:]) for k in range(len(parts))]
        own += [end + suffix_of(one.files[0]) for end in own] if one.whole else []
        ends += [(end, one.name) for end in own]
    times = Counter(end for end, _ in ends)
    exact = {one.name: one.name for one in sets}
    return {end: name for end, name in ends if times[end] == 1} | exact

"""What is right for sets or elements, as ``labels.csv`` says it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from symsets._checks import shown
from symsets._files import named_errors, read_bytes
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
    """All labels of a folder, from one table or from one for each split.

    Attributes:
        path: The file, or the first of several.
        columns: Names of the columns of values.
        of_elements: Whether a row is about an element and not about a set.
        rows: The lines below the header.
    """

    path: Path
    columns: tuple[str, ...]
    of_elements: bool
    rows: list[Row]


def read_csv(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Give the number and the cells of every line that is not empty.

    Commas, semicolons or tabs separate cells, whichever the first line has most of.

    Raises:
        ValueError: The file is no text in UTF-8, or no table.
    """
    with named_errors(path):
        content = read_bytes(path, MOST_BYTES)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(
            f"{path} must be text in UTF-8, found the byte 0x{content[error.start]:02x} in line "
            f"{line}: save it as 'CSV UTF-8'"
        ) from error
    sign = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: must be CSV: {error}") from error


def read_labels(path: Path, prefix: str = "") -> Labels:
    """Read ``labels.csv``.

    Args:
        path: The file.
        prefix: What to put before the names of sets, for a table in a folder ``train``.

    Raises:
        ValueError: Its header or one of its lines is not as expected.
    """
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
        if len(cells) != len(names) or not all(cells):
            raise ValueError(
                f"{where}: must have {len(names)} values ({','.join(header)}), got "
                f"{shown(','.join(cells))}"
            )
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

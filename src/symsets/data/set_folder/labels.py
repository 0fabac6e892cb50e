"""Read ``labels.csv``."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from symsets._checks import shown
from symsets._files import named_errors, read_bytes
from symsets.data.splits import SPLITS

EXPECTED = "'set,label', 'set,file' or 'set,file,score'"
MOST_BYTES = 2**28
SPLIT_NAMES = {**{split: split for split in SPLITS}, "valid": "val", "validation": "val"}


@dataclass(frozen=True)
class Row:
    """One line of a table of labels."""

    line: int
    set: str
    file: str | None
    values: tuple[str, ...]
    split: str | None


@dataclass(frozen=True)
class Labels:
    """A table of labels.

    Attributes:
        path: The file.
        columns: Names of the columns of values.
        of_elements: Whether a row is about an element and not about a set.
        rows: The lines below the header.
    """

    path: Path
    columns: tuple[str, ...]
    of_elements: bool
    rows: tuple[Row, ...]


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
    """Read a table of labels.

    Args:
        path: The file.
        prefix: What to put before the names of sets, for a table in a folder ``train``.

    Raises:
        ValueError: Its header or one of its lines is not as expected.
    """
    table = read_csv(path)
    _, header = next(table, (0, []))
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
    place = {name: number for number, name in enumerate(names)}
    rows = []
    for line, cells in table:
        if len(cells) != len(names) or not all(cells):
            raise ValueError(
                f"{path}, line {line}: must have {len(names)} values ({','.join(header)}), got "
                f"{shown(','.join(cells))}"
            )
        split = cells[place["split"]].lower() if "split" in place else None
        if split is not None and split not in SPLIT_NAMES:
            raise ValueError(
                f"{path}, line {line}: split must be one of {list(SPLITS)}, got {split!r}"
            )
        rows.append(
            Row(
                line,
                prefix + cells[place["set"]].strip("/").replace("\\", "/"),
                cells[place["file"]].replace("\\", "/").rpartition("/")[2]
                if "file" in place
                else None,
                tuple(cells[place[name]] for name in values),
                SPLIT_NAMES[split] if split else None,
            )
        )
    if not rows:
        raise ValueError(f"{path} must have a line for each set below its header, found none")
    columns = tuple(name for name, small in zip(header, names, strict=True) if small in values)
    return Labels(path, columns, "file" in names, tuple(rows))

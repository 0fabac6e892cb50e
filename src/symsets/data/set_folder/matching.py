"""Which line of ``labels.csv`` is about which set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from symsets.data.set_folder.labels import Labels, Row
from symsets.data.set_folder.layouts import FoundSet, suffix_of

Rows = list[list[Row]]
"""The lines about each set."""


def match(tables: Sequence[Labels], sets: Sequence[FoundSet]) -> Rows:
    """Return the lines about each set.

    A line names a set by its path below the root, or by as much of the end of it as only one set
    has; a file with or without its suffix.

    Raises:
        ValueError: A line names no set, or more than one line does; a set has no line.
    """
    place = _places(sets)
    rows: Rows = [[] for _ in sets]
    for table in tables:
        for row in table.rows:
            number = place.get(row.set)
            if number is None:
                raise ValueError(
                    f"{table.path}, line {row.line}: set must be the name of a folder or file, got "
                    f"{row.set!r}, which is not there; {_some(sets)}"
                )
            if rows[number] and not table.of_elements:
                raise ValueError(
                    f"{table.path}, line {row.line}: set {row.set!r} must have one line, found "
                    f"another in line {rows[number][0].line}"
                )
            rows[number].append(row)
    missing = [one.name for one, lines in zip(sets, rows, strict=True) if not lines]
    if missing:
        more = f" (and {len(missing) - 1} more sets)" if len(missing) > 1 else ""
        raise ValueError(
            f"{tables[0].path} must have a line for set {missing[0]!r}{more}, found none"
        )
    for table in tables if any(t.of_elements for t in tables) else ():
        _check_elements(table)
    return rows


def _check_elements(table: Labels) -> None:
    """Raise ValueError if an element has two lines or, where only the best has one, a set."""
    seen: dict[tuple[str, ...], int] = {}
    for row in table.rows:
        key = (row.set, row.file or "") if table.columns else (row.set,)
        if key in seen:
            what = f"file {row.file!r} of set {row.set!r}" if table.columns else f"set {row.set!r}"
            rule = "one score" if table.columns else "one best file"
            raise ValueError(
                f"{table.path}, line {row.line}: {what} must have {rule}, found another in line "
                f"{seen[key]}"
            )
        seen[key] = row.line


def _places(sets: Sequence[FoundSet]) -> dict[str, int]:
    """Number sets by every name that only one of them has."""
    names: list[tuple[str, int]] = []
    for number, one in enumerate(sets):
        parts = one.name.split("/")
        ends = ["/".join(parts[k:]) for k in range(len(parts))]
        if one.whole:
            ends += [end + suffix_of(one.files[0]) for end in ends]
        names += [(end, number) for end in ends]
    times = Counter(name for name, _ in names)
    exact = {one.name: number for number, one in enumerate(sets)}
    return {name: number for name, number in names if times[name] == 1} | exact


def _some(sets: Sequence[FoundSet]) -> str:
    names = ", ".join(repr(one.name) for one in sets[:3])
    return f"sets are {names}{', …' if len(sets) > 3 else ''}"

"""A table, as one object that the terminal, Markdown and HTML all show."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """What stands in one place of a table."""

    text: str
    best: bool = False  # of its column
    note: str = ""  # in smaller letters, such as runs that failed


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows and whose other columns hold numbers."""

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def duration(seconds: float) -> str:
    """Return a time in the unit that people would use.

    Example:
        >>> duration(0.42), duration(42), duration(200), duration(5400)
        ('0.42 s', '42 s', '3.3 min', '1.5 h')
    """
    if seconds < 120:
        return f"{seconds:.{2 if seconds < 1 else 1 if seconds < 10 else 0}f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"

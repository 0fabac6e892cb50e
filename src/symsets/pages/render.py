"""Show a table in the terminal or as Markdown (HTML is made by the template of the page)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import rich.box
import rich.table
from rich.cells import cell_len
from rich.text import Text

from symsets.pages.tables import Cell, Table

SHORT = {"parameters": "params", "time per run": "time/run"}
DISPENSABLE = ("time per run", "parameters", "runs")  # the first of them goes first
BETWEEN = 2  # cells between two columns
NUMBER = re.compile(r"[-−]?\d\S*( ± \S+)?( \S+)?")  # which may have an error and a unit


class _Column(NamedTuple):
    """A head and what stands below it."""

    head: str
    cells: Sequence[Cell]

    @property
    def texts(self) -> list[str]:
        """All that may be broken on its own."""
        return [self.head, *(text for cell in self.cells for text in (cell.text, cell.note))]

    @property
    def most(self) -> int:
        """The width at which nothing is broken."""
        return max(map(cell_len, self.texts))

    @property
    def least(self) -> int:
        """The width at which only words are parted, and no number is broken."""
        parts = ([text] if NUMBER.fullmatch(text) else text.split() for text in self.texts)
        return max(cell_len(part) for part in ("", *chain.from_iterable(parts)))


def to_rich(table: Table, *, width: int | None = None) -> rich.table.Table:
    """Return the table for a terminal with so many columns.

    A table that is wider gets shorter heads, then loses what is not a result; its caption says so.
    If it still is, text is broken between words, and columns without room follow below, beside the
    names of the rows: numbers are never broken.
    """
    room = math.inf if width is None else width
    columns = [_Column(n, [row[k] for row in table.rows]) for k, n in enumerate(table.columns)]
    shown: Sequence[_Column] = columns
    without: Sequence[str] = ()
    for num in range(len(DISPENSABLE) + 1):
        if _total(column.most for column in shown) <= room:
            break
        without = DISPENSABLE[:num]
        kept = (column for column in columns if column.head not in without)
        shown = [column._replace(head=SHORT.get(column.head, column.head)) for column in kept]
    left_out = ", ".join(name for name in table.columns if name in without)
    note = f" Not shown here: {left_out}." if left_out else ""
    made = rich.table.Table(
        title=Text(table.title, style="bold"),
        title_justify="left",
        caption=Text(f"{table.caption}{note}", style="dim"),
        caption_justify="left",
        box=None,
        padding=0,
        show_header=False,
    )
    for block in _blocks(shown, room):
        made.add_row(_made(block, room))
    return made


def _blocks(columns: Sequence[_Column], room: float) -> list[list[_Column]]:
    """Divide columns into blocks that fit; each begins with the first, the names of the rows."""
    first, *others = columns
    blocks = [[first]]
    for column in others:
        if len(blocks[-1]) > 1 and _total(c.least for c in (*blocks[-1], column)) > room:
            blocks.append([first])
        blocks[-1].append(column)
    return blocks


def _made(columns: Sequence[_Column], room: float) -> rich.table.Table:
    """Return columns as a table; the widest are broken until it fits."""
    made = rich.table.Table(box=rich.box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    least, widths = [c.least for c in columns], [c.most for c in columns]
    while _total(widths) > room and widths != least:
        widest = max(w for w, enough in zip(widths, least, strict=True) if w > enough)
        widths = [max(enough, min(w, widest - 1)) for w, enough in zip(widths, least, strict=True)]
    for k, ((head, _), width) in enumerate(zip(columns, widths, strict=True)):
        made.add_column(Text(head), justify="right" if k else "left", width=width, overflow="fold")
    for cells in zip(*(column.cells for column in columns), strict=True):
        made.add_row(*map(_text, cells))
    return made


def _total(widths: Iterable[int]) -> int:
    """Return the width of a table whose columns have these."""
    return 1 + sum(width + BETWEEN for width in widths)


def _text(cell: Cell) -> Text:
    text = f"{cell.text}\n{cell.note}" if cell.note else cell.text
    return Text(text, style="bold" if cell.best else "")


class Markdown(str):
    """Text that is Markdown already."""


def to_markdown(table: Table) -> Markdown:
    """Return the table as Markdown: a heading, the caption, the cells."""
    align = [":--", *["--:"] * (len(table.columns) - 1)]
    heads = [escape_markdown(name) for name in table.columns]
    lines = [heads, align, *([_marked(cell) for cell in row] for row in table.rows)]
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    title, caption = escape_markdown(table.title), escape_markdown(table.caption)
    return Markdown(f"### {title}\n\n{caption}\n\n{rows}\n")


def _marked(cell: Cell) -> str:
    text, note = escape_markdown(cell.text), escape_markdown(cell.note)
    text = f"**{text}**" if cell.best else text
    return f"{text} ({note})" if note else text


def code_block(lines: Iterable[str]) -> Markdown:
    """Return lines as a block of code that no line of them can end."""
    text = "\n".join(lines)
    fence = "`" * max([3, *(1 + len(run) for run in re.findall("`+", text))])
    return Markdown(f"{fence}\n{text}\n{fence}")


def escape_markdown(value: object) -> str:
    r"""Return a value as text that Markdown shows as it is, in one line.

    Example:
        >>> print(escape_markdown("<b>*my* [net]_v2</b>"))
        &lt;b&gt;\*my\* \[net\]\_v2&lt;/b&gt;
    """
    if isinstance(value, Markdown):
        return value
    text = " ".join(str(value).split("\n"))
    for sign, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(sign, name)
    return re.sub(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", text)

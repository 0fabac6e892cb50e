"""Show a table in the terminal or as Markdown (HTML is made by the template of the page)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import rich.box
import rich.table
from rich.cells import cell_len
from rich.text import Text

from symsets.pages.tables import Cell, Table

SHORT = {"parameters": "params", "time per run": "time/run"}
DISPENSABLE = ("time per run", "parameters", "runs")  # the first of them goes first
BETWEEN = 2  # cells between two columns


class _Column(NamedTuple):
    """A head and what stands below it."""

    head: str
    cells: Sequence[Cell]

    @property
    def width(self) -> int:
        """The width at which nothing is broken, with the room before the next column."""
        texts = (self.head, *(text for cell in self.cells for text in (cell.text, cell.note)))
        return BETWEEN + max(map(cell_len, texts))


def to_rich(table: Table, *, width: int | None = None) -> rich.table.Table:
    """Return the table for a terminal with so many columns.

    A table that is wider gets shorter heads, then loses what is not a result; its caption says so.
    If it still is, columns without room follow below, beside the names of the rows.
    """
    room = math.inf if width is None else width - 1
    columns = [_Column(n, [row[k] for row in table.rows]) for k, n in enumerate(table.columns)]
    shown: Sequence[_Column] = columns
    without: Sequence[str] = ()
    for num in range(len(DISPENSABLE) + 1):
        if sum(column.width for column in shown) <= room:
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
    blocks = [[shown[0]]]
    for column in shown[1:]:
        if len(blocks[-1]) > 1 and sum(c.width for c in (*blocks[-1], column)) > room:
            blocks.append([shown[0]])
        blocks[-1].append(column)
    for block in blocks:
        made.add_row(_block(block))
    return made


def _block(columns: Sequence[_Column]) -> rich.table.Table:
    """Return columns that lie beside each other."""
    made = rich.table.Table(box=rich.box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for k, column in enumerate(columns):
        made.add_column(Text(column.head), justify="right" if k else "left", overflow="fold")
    for cells in zip(*(column.cells for column in columns), strict=True):
        made.add_row(*map(_text, cells))
    return made


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

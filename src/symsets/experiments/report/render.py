"""Show a table in the terminal or as Markdown (HTML is made by the template of the page)."""

from __future__ import annotations

import rich.box
import rich.table
from rich.cells import cell_len
from rich.text import Text

from symsets.experiments.report.tables import Cell, Table

__all__ = ["to_markdown", "to_rich"]

SHORT = {"parameters": "params", "time per run": "time/run"}
DISPENSABLE = ("time per run", "parameters", "runs")  # the first of them goes first


def to_rich(table: Table, *, width: int | None = None) -> rich.table.Table:
    """Return the table for the terminal.

    Args:
        table: Which.
        width: Columns of the terminal. A table that is wider gets shorter heads, then loses what
            is not a result; its caption says so.
    """
    names = table.columns if width is None else _fitting(table, width)
    short = width is not None and _width(table, table.columns, short=False) > width
    left_out = [name for name in table.columns if name not in names]
    note = f" Not shown here: {', '.join(left_out)}." if left_out else ""
    made = rich.table.Table(
        title=Text(table.title, style="bold"),
        title_justify="left",
        caption=Text(f"{table.caption}{note}", style="dim"),
        caption_justify="left",
        box=rich.box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for k, name in enumerate(names):
        head = Text(_head(name, short=short))
        made.add_column(head, justify="right" if k else "left", no_wrap=k == 0, overflow="fold")
    kept = [k for k, name in enumerate(table.columns) if name in names]
    for row in table.rows:
        cells = [row[k] for k in kept]
        made.add_row(*(Text(_plain(cell), style="bold" if cell.best else "") for cell in cells))
    return made


def _fitting(table: Table, width: int) -> tuple[str, ...]:
    """Return the columns that fit a width; results are kept even if they have to wrap."""
    names = table.columns
    for name in DISPENSABLE:
        if _width(table, names, short=True) <= width:
            break
        names = tuple(other for other in names if other != name)
    return names


def _width(table: Table, names: tuple[str, ...], *, short: bool) -> int:
    widths = 0
    for k, name in enumerate(table.columns):
        if name in names:
            texts = [_head(name, short=short), *(_plain(row[k]) for row in table.rows)]
            widths += 2 + max(cell_len(line) for text in texts for line in text.split("\n"))
    return widths + 1  # a gap of two after each column, and the edge


def _head(name: str, *, short: bool) -> str:
    return SHORT.get(name, name) if short else name


def to_markdown(table: Table) -> str:
    """Return the table as Markdown: a heading, the caption, the cells."""
    align = [":--", *["--:"] * (len(table.columns) - 1)]
    lines = [table.columns, align, *(tuple(_marked(cell) for cell in row) for row in table.rows)]
    cells = "\n".join(f"| {' | '.join(_escaped(text) for text in line)} |" for line in lines)
    return f"### {table.title}\n\n{table.caption}\n\n{cells}\n"


def _plain(cell: Cell) -> str:
    return f"{cell.text}\n{cell.note}" if cell.note else cell.text


def _marked(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.best else cell.text
    return f"{text} ({cell.note})" if cell.note else text


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")

"""Show a table in the terminal or as Markdown (HTML is the page template's)."""

from __future__ import annotations

import rich.box
import rich.table
from rich.text import Text

from symsets.report.tables import Cell, Table

__all__ = ["to_markdown", "to_rich"]


def to_rich(table: Table) -> rich.table.Table:
    """Return the table for the terminal."""
    made = rich.table.Table(
        title=Text(table.title, style="bold"),
        title_justify="left",
        caption=Text(table.caption, style="dim"),
        caption_justify="left",
        box=rich.box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for k, name in enumerate(table.columns):
        made.add_column(Text(name), justify="right" if k else "left", no_wrap=k == 0)
    for row in table.rows:
        made.add_row(*(Text(_plain(cell), style="bold" if cell.best else "") for cell in row))
    return made


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

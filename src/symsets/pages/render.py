"""Show a table in the terminal or as Markdown (HTML is made by the template of the page)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import rich.box
import rich.table
from rich.console import Console
from rich.text import Text

from symsets.pages.tables import Cell, Table

SHORT = {"parameters": "params", "time per run": "time/run"}
DISPENSABLE = ("time per run", "parameters", "runs")  # the first of them goes first


def to_rich(table: Table, *, width: int | None = None) -> rich.table.Table:
    """Return the table for a terminal with so many columns.

    A table that is wider gets shorter heads, then loses what is not a result; its caption says so.
    """
    made = _made(table, {}, ())
    for num in range(len(DISPENSABLE) + 1):
        if width is None or Console(width=1000).measure(made).maximum <= width:
            break
        made = _made(table, SHORT, DISPENSABLE[:num])
    return made


def _made(table: Table, heads: Mapping[str, str], without: Sequence[str]) -> rich.table.Table:
    left_out = [name for name in table.columns if name in without]
    note = f" Not shown here: {', '.join(left_out)}." if left_out else ""
    made = rich.table.Table(
        title=Text(table.title, style="bold"),
        title_justify="left",
        caption=Text(f"{table.caption}{note}", style="dim"),
        caption_justify="left",
        box=rich.box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    kept = [k for k, name in enumerate(table.columns) if name not in left_out]
    for k in kept:
        head = Text(heads.get(table.columns[k], table.columns[k]))
        made.add_column(head, justify="right" if k else "left", no_wrap=k == 0, overflow="fold")
    for row in table.rows:
        made.add_row(*(_text(row[k]) for k in kept))
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

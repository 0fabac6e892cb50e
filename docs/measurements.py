"""Numbers and tables of the site, from ``results/``; ``_ext/measured.py`` shows them on pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from symsets.experiments.report.load_records import load_records
from symsets.experiments.report.tables import parts_table, results_table
from symsets.pages import to_markdown

RESULTS = Path(__file__).parents[1] / "results"


@cache
def read(name: str) -> Any:
    """Return the content of a file under ``results/``."""
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def entry(content: Any, keys: str) -> Any:
    """Return an entry of an entry: ``"speeds.memory"``, or ``"rows.style=ours&seeds=1.ratio"``."""
    for key in keys.split("."):
        if isinstance(content, list):
            wanted = dict(part.split("=") for part in key.split("&"))
            (content,) = (x for x in content if all(str(x[k]) == v for k, v in wanted.items()))
        else:
            content = content[key]
    return content


def shown(content: Any, keys: str, form: str) -> str:
    """Return an entry, or the ratio ``a/b`` of two, in a format of Python; all of a list."""
    first, _, second = keys.partition("/")
    value = entry(content, first)
    if value is None:
        return ""
    values = value if isinstance(value, list) else [value]
    divisor = entry(content, second) if second else None
    return ", ".join(format(v / divisor if divisor else v, form) for v in values).replace("%", " %")


def number(text: str) -> str:
    """Return a number of a file: ``"benchmarks/bags_time.json times.vectors.bags d"``."""
    name, keys = text.split(None, 1)
    keys, form = keys.rsplit(None, 1)
    return shown(read(name), keys, form)


def cell(name: str, content: Any, column: str) -> str:
    """Return what a column, ``"key form"`` or ``"key ± key form"``, shows; ``@`` is the name."""
    if column == "@":
        return name
    keys, _, form = column.rpartition(" ")
    parts = (shown(content, key.strip(), form).removesuffix(" %") for key in keys.split("±"))
    return " ± ".join(part for part in parts if part)


def rows(name: str, keys: str, columns: Sequence[str]) -> str:
    """Return a table with a row for each entry; a column is ``"head: key form"``."""
    content = entry(read(name), keys)
    named = content.items() if isinstance(content, dict) else enumerate(content)
    heads, wanted = zip(*(column.split(": ", 1) for column in columns), strict=True)
    lines = [heads, (":--", *["--:"] * (len(heads) - 1))]
    lines += [tuple(cell(str(k), row, column) for column in wanted) for k, row in named]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def study(name: str) -> Iterator[str]:
    """Give the tables of a study, as ``symsets report`` makes them, each with its caption."""
    for comparison in load_records([RESULTS / name]).comparisons:
        for table in filter(None, (results_table(comparison), parts_table(comparison))):
            _, caption, lines = to_markdown(table).split("\n\n", 2)
            yield f"**{table.title}.** {caption} From `results/{name}/results.json`.\n\n{lines}"

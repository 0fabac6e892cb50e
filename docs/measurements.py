"""Numbers and tables of the site, from ``results/``; ``_ext/measured.py`` shows them on pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from symsets.experiments.report.load_records import load_records
from symsets.experiments.report.tables import results_table
from symsets.pages import to_markdown

RESULTS = Path(__file__).parents[1] / "results"


@cache
def read(name: str) -> Any:
    """Return the content of a file under ``results/``."""
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def entry(content: Any, keys: str) -> Any:
    """Return an entry of an entry: ``"rows.0.ratio"``."""
    for key in keys.split("."):
        content = content[int(key)] if isinstance(content, list) else content[key]
    return content


def shown(content: Any, keys: str, form: str) -> str:
    """Return an entry, or the ratio ``a/b`` of two, in a format of Python; nothing for null."""
    first, _, second = keys.partition("/")
    value = entry(content, first)
    if value is None:
        return ""
    number = format(value / entry(content, second) if second else value, form)
    return number.replace("%", " %")


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
    return " ± ".join(filter(None, (shown(content, k.strip(), form) for k in keys.split("±"))))


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
        _, caption, table = to_markdown(results_table(comparison)).split("\n\n", 2)
        lead = f"**{comparison.name}.** " if comparison.setting else ""
        yield f"{lead}{caption} From `results/{name}/results.json`.\n\n{table}"

"""Show what was measured: tables and numbers are read from ``results/`` while the site is built.

- ``{study} signals``: the table of a study, as ``symsets report`` makes it.
- ``{claims}``: what the paper says, and whether our studies agree.
- ``{rows} benchmarks/layer_cost.json ratios``: a row for each entry of a JSON file. Every line of
  the body is a column, ``head: key format``; ``@`` is the name of the row, ``a.b`` an entry of an
  entry, and ``a ± b`` shows two of them.
- ``{measured}`benchmarks/folder_speed.json speeds.streamed/speeds.memory .2f```: a number in a
  sentence, or the ratio of two.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import claims
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

from symsets.experiments.report.load_records import load_records
from symsets.experiments.report.tables import results_table
from symsets.pages import to_markdown

RESULTS = Path(__file__).parents[2] / "results"


@cache
def read(name: str) -> Any:
    """Return the content of a file under ``results/``."""
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def entry(content: Any, keys: str) -> Any:
    """Return an entry of an entry.

    Example:
        >>> entry({"a": [{"b": 3}]}, "a.0.b")
        3
    """
    for key in keys.split("."):
        content = content[int(key)] if isinstance(content, list) else content[key]
    return content


def shown(content: Any, keys: str, form: str = "") -> str:
    """Return an entry, or the ratio of two, in a format of Python; nothing where there is none.

    Example:
        >>> shown({"a": 3.0, "b": 4.0}, "a/b", ".1%"), shown({"a": None}, "a", ".1f")
        ('75.0 %', '')
    """
    first, _, second = keys.partition("/")
    try:
        value = entry(content, first) / entry(content, second) if second else entry(content, first)
    except KeyError:
        return ""
    return "" if value is None else format(value, form).replace("%", " %")


def cell(name: str, content: Any, column: str) -> str:
    """Return what one column shows of a row."""
    keys, _, form = column.rpartition(" ") if column[-1] in "f%e,d" and " " in column else (column, "", "")
    if keys == "@":
        return name
    return " ± ".join(filter(None, (shown(content, part.strip(), form) for part in keys.split("±"))))


class Study(SphinxDirective):
    """Show the tables of studies."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the tables, with a caption each."""
        made: list[nodes.Node] = []
        for name in self.arguments[0].split():
            self.env.note_dependency(str(RESULTS / name / "results.json"))
            for comparison in load_records([RESULTS / name]).comparisons:
                _, caption, rows = to_markdown(results_table(comparison)).split("\n\n", 2)
                lead = f"**{comparison.name}.** " if comparison.setting else ""
                note = f"{lead}{caption} From `results/{name}/results.json`."
                made += self.parse_text_to_nodes(f"{note}\n\n{rows}")
        return made


class Claims(SphinxDirective):
    """Show what the paper says, and whether it holds here."""

    def run(self) -> list[nodes.Node]:
        """Return the rule, a sentence and the table."""
        return self.parse_text_to_nodes(claims.text())


class Rows(SphinxDirective):
    """Show a row for each entry of a file."""

    required_arguments = 1
    optional_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.env.note_dependency(str(RESULTS / self.arguments[0]))
        content = read(self.arguments[0])
        rows = entry(content, self.arguments[1]) if len(self.arguments) > 1 else content
        named = rows.items() if isinstance(rows, dict) else enumerate(rows)
        heads, columns = zip(*(line.split(":", 1) for line in self.content), strict=True)
        lines = [[head.strip() for head in heads], [":--", *["--:"] * (len(heads) - 1)]]
        lines += [[cell(str(name), row, c.strip()) for c in columns] for name, row in named]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return self.parse_text_to_nodes(table)


class Measured(SphinxRole):
    """Show one number."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number as text."""
        name, keys = self.text.split(None, 1)
        keys, form = keys.rsplit(None, 1)
        self.env.note_dependency(str(RESULTS / name))
        number = shown(read(name), keys, form)
        if not number:
            raise KeyError(f"{self.text}: no such entry")
        return [nodes.Text(number)], []


def setup(app: Sphinx) -> dict[str, Any]:
    """Add all of them to Sphinx."""
    app.add_directive("study", Study)
    app.add_directive("claims", Claims)
    app.add_directive("rows", Rows)
    app.add_role("measured", Measured())
    return {"parallel_read_safe": True, "parallel_write_safe": True}

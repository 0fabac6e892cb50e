"""Show what was measured: tables and numbers are read from ``results/`` while the site is built.

- ``{study} signals``: the tables of a study, as ``symsets report`` makes them.
- ``{claims}``: what the paper says, and whether our studies agree.
- ``{rows} benchmarks/layer_cost.json ratios``: a row for each entry of a JSON file. Every line of
  the body is a column, ``head: key format``; ``@`` is the name of the row, ``a.b`` an entry of an
  entry, and ``a ± b`` shows two of them.
- ``{pivot} benchmarks/merging_bm3d.json records``: a list of measurements as a table, with
  ``rows: row``, ``columns: noise, shift``, ``value: psnr .2f`` and, for a part, ``only: shots=5``.
- ``{figures} benchmarks/bags_time.json``: Markdown in which ``{keys format}`` is a number of the
  file; without a file, ``{file keys format}``.
- ``{measured}`benchmarks/folder_speed.json speeds.streamed over speeds.memory .2f```: a number in
  a sentence; also ``a minus b``, and ``colors model=dss-sum.value mean .2f`` of the records of a
  study (``mean``, ``std``, ``min``, ``max``, ``count``).
"""

from __future__ import annotations

from typing import Any

import claims
import measurements
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole


class Claims(SphinxDirective):
    """Show what the paper says, and whether it holds here."""

    def run(self) -> list[nodes.Node]:
        """Return the rule, a sentence and the table."""
        return self.parse_text_to_nodes(claims.text())


class Study(SphinxDirective):
    """Show the tables of a study."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the tables, with a caption each."""
        self.env.note_dependency(str(measurements.RESULTS / self.arguments[0] / "results.json"))
        text = "\n\n".join(measurements.study(self.arguments[0]))
        return self.parse_text_to_nodes(text)


class Rows(SphinxDirective):
    """Show a row for each entry of a file."""

    required_arguments = 2
    has_content = True
    table = staticmethod(measurements.rows)

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.env.note_dependency(str(measurements.RESULTS / self.arguments[0]))
        return self.parse_text_to_nodes(self.table(*self.arguments, list(self.content)))


class Pivot(Rows):
    """Show a list of measurements, by some of their fields."""

    table = staticmethod(measurements.pivot)


class Figures(SphinxDirective):
    """Show Markdown with numbers of a file."""

    optional_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the text."""
        text = measurements.filled("\n".join(self.content), *self.arguments)
        return self.parse_text_to_nodes(text)


class Measured(SphinxRole):
    """Show one number."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number as text."""
        return [nodes.Text(measurements.number(self.text))], []


def setup(app: Sphinx) -> dict[str, Any]:
    """Add all of them to Sphinx."""
    app.add_directive("claims", Claims)
    app.add_directive("study", Study)
    app.add_directive("rows", Rows)
    app.add_directive("pivot", Pivot)
    app.add_directive("figures", Figures)
    app.add_role("measured", Measured())
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""How ragged sets look in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

SHOWN = 8


def sets_html(title: str, counts: Sequence[int]) -> str:
    """Return a title and a bar for the size of each of the first sets.

    Example:
        >>> sets_html("RaggedSets(1 sets of 2 elements ())", [2]).count("<tr>")
        1
    """
    first = counts[:SHOWN]
    most = max(first, default=0) or 1
    bar = "display:inline-block;height:.7em;background:#2a6f97;width"
    rows = "".join(
        f"<tr><td>{i}</td><td style='text-align:left'><span style='{bar}:{8 * n / most:.1f}em'>"
        f"</span> {n}</td></tr>"
        for i, n in enumerate(first)
    )
    more = f"<small>and {len(counts) - SHOWN} more sets</small>" if len(counts) > SHOWN else ""
    return f"<code>{escape(title)}</code><table>{rows}</table>{more}"

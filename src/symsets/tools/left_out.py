"""Say which files a command could not use."""

from __future__ import annotations

from collections.abc import Sequence

MOST = 10  # that are named


def left_out_lines(left_out: Sequence[tuple[str, str]]) -> list[str]:
    """Return a line for each of the first files that were left out, given with its reason.

    Example:
        >>> left_out_lines([("shots/a.png", "not readable")])
        ['left out: shots/a.png: not readable']
    """
    lines = [f"left out: {name}: {why}" for name, why in left_out[:MOST]]
    more = len(left_out) - MOST
    return [*lines, f"and {more} more"] if more > 0 else lines

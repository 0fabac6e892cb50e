"""Which line of ``labels.csv`` is about which set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from symsets.data.set_folder.labels import Labels, Row
from symsets.data.set_folder.layouts import FoundSet, suffix_of


def match(labels: Labels, sets: Sequence[FoundSet]) -> dict[str, list[Row]]:
    """Return the lines about each set, by the name of the set.

    A line names a set by its path below the root, or by as much of the end of it as only one set
    has; a file with or without its suffix.

    Raises:
        ValueError: A line names no set, or more than one line does; a set has no line.
    """
    called = _names(sets)
    rows: dict[str, list[Row]] = {one.name: [] for one in sets}
    seen: dict[tuple[str, str | None], str] = {}
    scored = labels.of_elements and bool(labels.columns)
    rule = "one score" if scored else "one best file" if labels.of_elements else "one label"
    for row in labels.rows:
        if (name := called.get(row.set)) is None:
            known = ", ".join(repr(one.name) for one in sets[:3]) + (", …" if sets[3:] else "")
            raise ValueError(
                f"{row.where}: set must be the name of a folder or file, got {row.set!r}, which is "
                f"not there; sets are {known}"
            )
        key = (name, row.file if scored else None)
        if key in seen:
            what = f"file {row.file!r} of set {row.set!r}" if scored else f"set {row.set!r}"
            raise ValueError(f"{row.where}: {what} must have {rule}, found another in {seen[key]}")
        seen[key] = row.where
        rows[name].append(row)
    if missing := [name for name, own in rows.items() if not own]:
        more = f" (and {len(missing) - 1} more sets)" if len(missing) > 1 else ""
        raise ValueError(f"{labels.path} must have a line for set {missing[0]!r}{more}, found none")
    return rows


def _names(sets: Sequence[FoundSet]) -> dict[str, str]:
    """Return the set that is meant by every name that only one of them has."""
    ends: list[tuple[str, str]] = []
    for one in sets:
        parts = one.name.split("/")
        own = ["/".join(parts[k:]) for k in range(len(parts))]
        own += [end + suffix_of(one.files[0]) for end in own] if one.whole else []
        ends += [(end, one.name) for end in own]
    times = Counter(end for end, _ in ends)
    exact = {one.name: one.name for one in sets}
    return {end: name for end, name in ends if times[end] == 1} | exact

"""What a folder of sets was found to hold, in words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from symsets.data.decoding import Skipped

if TYPE_CHECKING:
    from symsets.data.set_folder.dataset import SetFolder

MOST_NAMES = 12


def describe(sets: SetFolder) -> str:
    """Return the number and kind of sets, what is asked of them, and what was skipped."""
    sizes = sorted({min(sets.sizes, default=0), max(sets.sizes, default=0)})
    kind = sets.kind[:-1] if sizes == [1] else sets.kind
    shape = "" if sets.element_shape is None else f" {sets.element_shape}"
    lines = [f"{len(sets)} sets of {'–'.join(map(str, sizes))} {kind}{shape}", _asked(sets)]
    given = Counter(split for split in sets.splits if split)
    if given:
        lines.append("splits: " + ", ".join(f"{num} {split}" for split, num in given.items()))
    if sets.skipped:
        lines.append(str(Skipped(why for _, why in sets.skipped)))
    inside = "".join(f"\n  {line}" for line in lines)
    return f"SetFolder({str(sets.root)!r}:{inside})"


def _asked(sets: SetFolder) -> str:
    if sets.task is None:
        return "no labels, so no task"
    note = f" ({sets.note})" if sets.note else ""
    more = ", …" if len(sets.classes) > MOST_NAMES else ""
    names = sets.classes[:MOST_NAMES]
    if sets.task == "classify" and sets.targets is not None:
        times = Counter(sets.targets.tolist())
        named = ", ".join(f"{name} {times[k]}" for k, name in enumerate(names))
        return f"classify: {len(sets.classes)} classes: {named}{more}{note}"
    what = f": {', '.join(names)}{more}" if names else ""
    return f"{sets.task}{what}{note}{'' if sets.has_targets else '; no labels'}"

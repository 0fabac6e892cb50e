"""What the challenge's baseline reaches in each scene, which its score divides by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from symsets._files import shorten
from symsets.data.folders import read_list

FILE = "norm.csv"  # rows such as: imgset0000 52.35


def read_norms(folder: Path) -> dict[str, float]:
    """Return the baseline's cPSNR of scenes by name; nothing if a folder does not tell."""
    path = folder / FILE
    found = {}
    for name, word in read_list(path, 2) if path.is_file() else ():
        found[name] = math.nan
        with suppress(ValueError):
            found[name] = float(word)
        if not 0 < found[name] < math.inf:
            raise ValueError(
                f"{path} must have rows of a scene and its cPSNR, got {shorten(f'{name} {word}')!r}"
            )
    return found


def norms_of(source: Any, names: Sequence[str]) -> list[float]:
    """Return the baseline's cPSNR of some scenes; nothing if the source does not tell for all.

    The score of the challenge is their mean quotient with the cPSNR of a prediction: smaller is
    better, and 1 is as good as the baseline.
    """
    known = getattr(source, "norms", {})
    return [known[name] for name in names] if known.keys() >= set(names) else []

"""The search for a learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path

from symsets._files import file_lock, reading, write_json
from symsets.train.processes import is_alone

LEARNING_RATE_GRID = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


def search_learning_rate(
    path: Path, model: str, measure: Callable[[float], float | None], *, larger_is_better: bool
) -> float:
    """Try the paper's grid once per model, and keep the values; other processes wait for them.

    Args:
        path: The file that keeps them.
        model: Whose learning rate.
        measure: What a learning rate gives, or nothing if training failed.
        larger_is_better: Which values are good ones.

    Example:
        >>> import math, tempfile
        >>> path = Path(tempfile.mkdtemp()) / "search.json"
        >>> search_learning_rate(path, "mlp", lambda rate: -math.log(rate), larger_is_better=False)
        0.1
    """
    with file_lock(path.with_suffix(".lock")) if is_alone() else nullcontext():
        found: dict[str, dict[str, float | None]] = {}
        if path.exists():
            with reading(path, "a search, with a value for each learning rate") as kept:
                found = {model: _numbers(values) for model, values in kept.items()}
        if model not in found:
            found[model] = {f"{rate:g}": _finite(measure(rate)) for rate in LEARNING_RATE_GRID}
            write_json(path, found)
    values = {rate: value for rate, value in found[model].items() if value is not None}
    best = max if larger_is_better else min
    return float(best(values, key=lambda rate: values[rate])) if values else 1e-3


def _finite(value: float | None) -> float | None:
    """Return None for NaN and infinity, which JSON cannot hold."""
    return None if value is None or not math.isfinite(value) else value


def _numbers(values: Mapping[str, float | None]) -> dict[str, float | None]:
    return {f"{float(rate):g}": v if v is None else float(v) for rate, v in values.items()}

"""The search for a learning rate."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from symsets._files import reading

LEARNING_RATE_GRID = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)  # of the paper
FIRST = 1e-3

Tried = Mapping[str, float | None]
"""What each learning rate gave on validation, None if training failed."""


def search_learning_rate(
    measure: Callable[[float], float | None], *, larger_is_better: bool
) -> dict[str, float | None]:
    """Try the paper's grid around the best rate, then the two half steps beside it.

    The search starts in the middle and moves on while a neighbour in the grid is better. So it
    tries five rates where the paper tried seven, and their steps are half as large.

    Example:
        >>> import math
        >>> search_learning_rate(lambda x: abs(math.log10(x / 5e-5)), larger_is_better=False).keys()
        dict_keys(['0.001', '0.01', '0.0001', '1e-05', '0.0003', '3e-05'])
    """
    tried: dict[str, float | None] = {}

    def add(*rates: float) -> bool:
        new = [name for rate in rates if (name := f"{rate:g}") not in tried]
        for name in new:
            value = measure(float(name))
            tried[name] = value if value is not None and math.isfinite(value) else None
        return bool(new)

    add(FIRST)
    while add(*_neighbours(tried, larger_is_better=larger_is_better)):
        pass
    if best := best_rate(tried, larger_is_better=larger_is_better):
        add(3 * best, 0.3 * best)
    return tried


def _neighbours(tried: Tried, *, larger_is_better: bool) -> tuple[float, ...]:
    """Return the rates of the grid beside the best; the next smaller one if all have failed."""
    best = best_rate(tried, larger_is_better=larger_is_better)
    if best is None:
        return tuple(rate for rate in LEARNING_RATE_GRID if rate < min(map(float, tried)))[:1]
    at = LEARNING_RATE_GRID.index(best)
    return (*LEARNING_RATE_GRID[max(0, at - 1) : at], *LEARNING_RATE_GRID[at + 1 : at + 2])


def best_rate(tried: Tried, *, larger_is_better: bool) -> float | None:
    """Return the rate with the best value, or None if all have failed."""
    values = {float(rate): value for rate, value in tried.items() if value is not None}
    best = max if larger_is_better else min
    return best(values, key=values.__getitem__) if values else None


def read_searches(path: Path) -> dict[str, dict[str, float | None]]:
    """Return what was tried for each model, as a file of earlier searches keeps it."""
    if not path.exists():
        return {}
    with reading(path, "a search, with a value for each learning rate") as kept:
        return {
            model: {f"{float(rate):g}": value and float(value) for rate, value in tried.items()}
            for model, tried in kept.items()
        }

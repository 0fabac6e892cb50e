"""Read what users type on the command line; raise ValueError naming the option that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection

MOST_SETS = 10**8


def names(
    what: str, text: str, choices: Collection[str], also: Callable[[str], bool] = lambda name: False
) -> tuple[str, ...]:
    """Return names joined by commas: some of the choices, or what ``also`` says yes to.

    Example:
        >>> names("models", "mlp, dss-sum", ["mlp", "dss-sum", "siamese"])
        ('mlp', 'dss-sum')
    """
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not found or not all(name in choices or also(name) for name in found):
        raise ValueError(f"{what} must be some of {list(choices)}, got {text!r}")
    return found


def sizes(what: str, text: str) -> tuple[int, ...]:
    """Return positive numbers joined by commas, the largest first.

    Example:
        >>> sizes("train-sizes", "300,30000")
        (30000, 300)
    """
    try:
        found = tuple(sorted({int(part) for part in text.split(",")}, reverse=True))
    except ValueError:
        raise ValueError(f"{what} must be numbers joined by commas, got {text!r}") from None
    if not 1 <= min(found) <= max(found) <= MOST_SETS:
        raise ValueError(f"{what} must be positive and at most {MOST_SETS:,}, got {text!r}")
    return found


def learning_rate(text: str) -> float | None:
    """Return a learning rate, or None for ``search``."""
    if text == "search":
        return None
    try:
        rate = float(text)
    except ValueError:
        raise ValueError(f"lr must be a number or 'search', got {text!r}") from None
    if not 0 < rate < float("inf"):
        raise ValueError(f"lr must be positive and finite, got {text!r}")
    return rate

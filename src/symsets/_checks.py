"""What arguments must be, in the one sentence that is said if they are not."""

from __future__ import annotations

import operator
from collections.abc import Collection
from typing import Any

import torch

__all__ = ["check_choice", "check_new", "checked_device", "positive"]


def check_choice(name: str, value: Any, choices: Collection[Any]) -> None:
    """Raise one sentence unless ``value`` is one of ``choices``.

    Example:
        >>> check_choice("pool", "medain", ("max", "mean"))
        Traceback (most recent call last):
        ...
        ValueError: pool must be one of ['max', 'mean'], got 'medain'
    """
    if value not in choices:
        raise ValueError(f"{name} must be one of {list(choices)}, got {value!r}")


def check_new(kind: str, name: str, known: object, thing: object) -> None:
    """Raise one sentence if ``name`` is that of another thing, ``known``.

    What is defined once more under its own name, in a cell of a notebook or a module that is
    loaded again, is no other thing.

    Example:
        >>> check_new("scheme", "my-scheme", print, len)
        Traceback (most recent call last):
        ...
        ValueError: name must be new, but there is a scheme 'my-scheme' already
    """

    def place(value: object) -> tuple[str, str] | object:
        name = getattr(value, "__qualname__", "<none>")
        # All lambdas have the same name, and so have all functions that another one made.
        return value if "<" in name else (value.__module__, name)

    if known is not None and place(known) != place(thing):
        raise ValueError(f"name must be new, but there is a {kind} {name!r} already")


def positive(name: str, value: object) -> int:
    """Return ``value`` as an int of at least one, or say that ``name`` must be one.

    Example:
        >>> positive("heads", 0)
        Traceback (most recent call last):
        ...
        ValueError: heads must be at least 1, got 0
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None
    if number < 1:
        raise ValueError(f"{name} must be at least 1, got {number}")
    return number


def checked_device(device: str) -> torch.device:
    """Return a device that is there, or say which are."""
    there = ["cpu", *(f"cuda:{k}" for k in range(torch.cuda.device_count()))]
    there += ["cuda"] if len(there) > 1 else []
    if device not in there:
        why = " (no GPU was found)" if device.startswith("cuda") and len(there) == 1 else ""
        raise ValueError(f"device must be one of {there}, got {device!r}{why}")
    return torch.device(device)

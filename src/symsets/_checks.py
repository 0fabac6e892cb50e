"""Checks of arguments, which raise ValueError or TypeError naming the argument."""

from __future__ import annotations

import operator
from collections.abc import Collection
from typing import Any

import torch

__all__ = ["check_choice", "check_new", "checked_device", "positive"]


def check_choice(name: str, value: Any, choices: Collection[Any]) -> None:
    """Raise ValueError listing the choices unless ``value`` is one of them."""
    if value not in tuple(choices):  # what cannot be hashed is no choice, either
        raise ValueError(f"{name} must be one of {list(choices)}, got {value!r}")


def check_new(kind: str, name: str, known: object, thing: object) -> None:
    """Raise ValueError if ``name`` belongs to ``known`` and ``thing`` is defined elsewhere.

    A definition that runs again, in a cell of a notebook or a module that is loaded again, passes.
    """

    def place(value: object) -> tuple[str, str] | object:
        name = getattr(value, "__qualname__", "<none>")
        # All lambdas have the same name, and so have all functions that another one made.
        return value if "<" in name else (value.__module__, name)

    if known is not None and place(known) != place(thing):
        raise ValueError(f"name must be new, but there is a {kind} {name!r} already")


def positive(name: str, value: object) -> int:
    """Return ``value`` as an int; raise unless it is an integer of at least 1."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None
    if number < 1:
        raise ValueError(f"{name} must be at least 1, got {number}")
    return number


def checked_device(device: str) -> torch.device:
    """Return a device; raise ValueError listing those of this machine if it has no such device."""
    there = ["cpu", *(f"cuda:{k}" for k in range(torch.cuda.device_count()))]
    there += ["cuda"] if len(there) > 1 else []
    if device not in there:
        why = " (no GPU was found)" if device.startswith("cuda") and len(there) == 1 else ""
        raise ValueError(f"device must be one of {there}, got {device!r}{why}")
    return torch.device(device)

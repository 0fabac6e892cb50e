"""Checks of arguments, which raise ValueError or TypeError naming the argument."""

import math
import numbers
import operator
from collections.abc import Collection
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

import torch


def check_choice(name: str, value: Any, choices: Collection[Any]) -> None:
    """Raise ValueError listing the choices unless ``value`` is one of them."""
    try:
        known = value in choices
    except (TypeError, RuntimeError):  # it has no hash, or many entries to compare
        known = False
    if not known:
        raise ValueError(f"{name} must be one of {list(choices)}, got {shown(value)}")


def shown(value: object) -> str:
    """Describe a value that is not what it must be, on one line and not at length."""
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} of shape {tuple(value.shape)} on {value.device}"
    return " ".join(shortened(value).split())


def check_kind(name: str, value: object, kind: type, what: str = "") -> None:
    """Raise TypeError naming the argument unless ``value`` is of a kind."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {what or kind.__name__}, got {type(value).__name__}")


def as_path(name: str, value: Any) -> Path:
    """Return a path; raise TypeError naming the argument if ``value`` is none."""
    try:
        return Path(value)
    except TypeError:
        raise TypeError(f"{name} must be a path, got {type(value).__name__}") from None


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
        number = int(operator.index(value))  # type: ignore[arg-type]  # True is an index, too
    except (TypeError, RuntimeError):  # of a tensor that holds no data
        raise TypeError(f"{name} must be an integer, got {shown(value)}") from None
    if number < 1:
        raise ValueError(f"{name} must be at least 1, got {number}")
    return number


def check_number(name: str, value: Any, *, zero: bool = True) -> None:
    """Raise unless ``value`` is a finite positive number, or zero if that is allowed."""
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {shown(value)}")
    if not 0 <= float(value) < math.inf or (value == 0 and not zero):
        rule = "finite" if value == math.inf else "0 or positive" if zero else "positive"
        raise ValueError(f"{name} must be {rule}, got {value!r}")


def is_ours(error: BaseException) -> bool:
    """Whether this package raised an error of its own, which explains none of torch's."""
    own = isinstance(error, ValueError | TypeError) and not error.__cause__
    return own and raised_in(error).startswith("symsets.")


def raised_in(error: BaseException) -> str:
    """Return the name of the module in which an error was raised, if any was."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return "" if place is None else str(place.tb_frame.f_globals.get("__name__"))


def checked_device(device: str, *others: str) -> torch.device:
    """Return a device; raise ValueError if this machine has no such device, listing what may be."""
    there = ["cpu", *(f"cuda:{k}" for k in range(torch.cuda.device_count()))]
    there += ["cuda"] if len(there) > 1 else []
    if device not in there:
        why = " (no GPU was found)" if device.startswith("cuda") and len(there) == 1 else ""
        raise ValueError(f"device must be one of {[*others, *there]}, got {shown(device)}{why}")
    return torch.device(device)

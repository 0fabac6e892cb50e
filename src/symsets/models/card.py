"""What a trained network is for: its task, its classes, and how its elements were prepared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from symsets._checks import check_choice, check_kind, check_number, shown

KINDS = ("pictures", "vectors", "signals", "clouds", "graphs")
TASKS = ("classify", "labels", "regress", "select", "score", "merge")


@dataclass(frozen=True)
class Card:
    """What a network was trained for, and what new sets must look like.

    :func:`symsets.train.fit` gives a network one (``net.card``), and :func:`symsets.save` keeps it.

    Args:
        task: ``"classify"`` (a label for each set), ``"labels"`` (several labels, each there or
            not), ``"regress"`` (numbers for each set), ``"select"`` (the best element),
            ``"score"`` (a number for each element) or ``"merge"`` (one new element).
        kind: Of elements: ``"pictures"``, ``"vectors"``, ``"signals"``, ``"clouds"`` or
            ``"graphs"``.
        classes: Names of the classes, of the labels, or of the numbers of a regression.
        element: How elements were prepared, such as ``{"size": [64, 64], "channels": 3}``.
        metrics: What was measured, by name.
        target: How targets were scaled: ``{"mean": [...], "std": [...]}``; empty if they were not.

    Example:
        >>> card = Card("classify", "pictures", classes=("cat", "dog"), element={"size": [64, 64]})
        >>> Card.from_dict(card.to_dict()) == card
        True
    """

    task: str
    kind: str
    classes: tuple[str, ...] = ()
    element: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    target: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_choice("task", self.task, TASKS)
        check_choice("kind", self.kind, KINDS)
        names = self.classes
        if not isinstance(names, list | tuple) or not all(isinstance(n, str) for n in names):
            raise TypeError(f"classes must be a tuple of names, got {shown(names)}")
        object.__setattr__(self, "classes", tuple(names))
        for name in ("element", "metrics", "target"):
            object.__setattr__(self, name, _as_json(name, getattr(self, name)))
        for name, value in self.metrics.items():
            if not isinstance(value, int | float):
                raise TypeError(f"metric {name!r} must be a number, got {shown(value)}")
        _check_target(self.target)

    def to_dict(self) -> dict[str, Any]:
        """Return the card as JSON can hold it."""
        return {**asdict(self), "classes": list(self.classes)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Card:
        """Return the card that :meth:`to_dict` gave; raise if it is none."""
        check_kind("content", content, Mapping)
        known = [entry.name for entry in fields(cls)]
        for name in content:
            check_choice("each entry of a card", name, known)
        if missing := [name for name in ("task", "kind") if name not in content]:
            raise ValueError(f"content must have an entry {missing[0]!r}, got {sorted(content)}")
        return cls(**content)


def _as_json(name: str, value: Any) -> Any:
    """Return a copy as JSON gives it back; raise TypeError or ValueError if it cannot."""
    check_kind(name, value, dict, "dictionary")
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise type(error)(
            f"{name} must be what JSON can hold ({error}), got {shown(value)}"
        ) from None


def _check_target(target: dict[str, Any]) -> None:
    """Raise unless a scale has as many positive deviations as means."""
    if not target:
        return
    mean, std = target.get("mean"), target.get("std")
    if not isinstance(mean, list) or not isinstance(std, list) or len(mean) != len(std):
        raise ValueError(f"target must hold lists mean and std of one length, got {shown(target)}")
    for value in mean:
        check_number("the size of mean", abs(value) if isinstance(value, int | float) else value)
    for value in std:
        check_number("std", value, zero=False)

"""How far outputs in float64 are apart, and how much of that is rounding."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from symsets.sets import RaggedSets, Sets

__all__ = [
    "EPS",
    "difference",
    "distance",
    "explained_by_rounding",
    "is_inexact",
    "numbers_of",
    "parts_of",
]

EPS = torch.finfo(torch.float64).eps
ROUNDINGS = 2**8  # how many roundings of the input may add up in an output


def is_inexact(value: Any) -> bool:
    """Whether ``value`` is a tensor of numbers that are rounded."""
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def parts_of(out: Any) -> tuple[list[Sets], Any]:
    """Return the tensors and sets that a model returned, and how they were put together."""
    parts, spec = pytree.tree_flatten(out, is_leaf=lambda part: isinstance(part, RaggedSets))
    wrong = [type(part).__name__ for part in parts if not isinstance(part, Tensor | RaggedSets)]
    if wrong or not parts:
        raise TypeError(
            "model must return a tensor, RaggedSets, or a tuple, list or dictionary of them, "
            f"got {wrong[0] if parts else repr(out)}"
        )
    return parts, spec


def numbers_of(out: Any) -> Tensor:
    """Return all numbers of a tensor or of sets, as floats if they are integers or booleans."""
    if isinstance(out, RaggedSets):
        return numbers_of(out.elements)
    return out if is_inexact(out) else out.double()


def _largest(values: Tensor) -> float:
    return float(values.abs().max()) if values.numel() else 0.0


def explained_by_rounding(x: Sets, change: float) -> float:
    """Return the difference that roundings explain, where one of them changes an output so much.

    It is at most a billionth of the input: models that never repeat themselves are not excused.
    """
    values = numbers_of(x)
    size = _largest(values.where(values.isfinite(), 0))
    return min(ROUNDINGS * max(EPS * size, 0.0 if change == math.inf else change), 1e-9 * size)


def difference(a: Any, b: Any) -> float:
    """Return the largest difference, infinite for outputs of different shapes or not finite."""
    first, second = numbers_of(a), numbers_of(b)
    if first.shape != second.shape:
        return math.inf
    found = _largest(first - second)
    return found if math.isfinite(found) else math.inf


def distance(a: Any, b: Any, rounding: float) -> float:
    """Return the largest difference relative to the larger of both, unless rounding explains it."""
    found = difference(a, b)
    if found <= rounding:
        return 0.0
    if found == math.inf:
        return math.inf
    return found / max(_largest(numbers_of(a)), _largest(numbers_of(b)))

"""How far outputs in float64 are apart, and how much of that is rounding."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from symsets.sets import RaggedSets, Sets

EPS = torch.finfo(torch.float64).eps
ROUNDINGS = 2**8  # how many roundings of the input may add up in an output


def is_inexact(value: Any) -> bool:
    """Whether ``value`` is a tensor of floating-point or complex numbers."""
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def flatten_output(out: Any) -> tuple[list[Sets], Any]:
    """Return the tensors and sets in the output of a model, and the structure they were in."""
    parts, structure = pytree.tree_flatten(out, is_leaf=lambda part: isinstance(part, RaggedSets))
    wrong = [type(part).__name__ for part in parts if not isinstance(part, Tensor | RaggedSets)]
    if wrong or not parts:
        raise TypeError(
            "model must return a tensor, RaggedSets, or a tuple, list or dictionary of them, "
            f"got {wrong[0] if parts else repr(out)}"
        )
    return parts, structure


def as_floats(out: Any) -> Tensor:
    """Return all numbers of a tensor or of sets, as floats if they are integers or booleans."""
    if isinstance(out, RaggedSets):
        return as_floats(out.elements)
    return out if is_inexact(out) else out.double()


def _largest(values: Tensor) -> float:
    return float(values.abs().max()) if values.numel() else 0.0


def rounding_error(x: Sets, change: float) -> float:
    """Return the difference that rounding explains if one rounding of ``x`` causes ``change``.

    It is at most 1e-9 of the largest input, so that random outputs do not pass as rounding.
    """
    values = as_floats(x)
    size = _largest(values.where(values.isfinite(), 0))
    return min(ROUNDINGS * max(EPS * size, 0.0 if change == math.inf else change), 1e-9 * size)


def difference(a: Any, b: Any) -> float:
    """Return the largest difference, infinite for outputs of different shapes or not finite."""
    first, second = as_floats(a), as_floats(b)
    if first.shape != second.shape:
        return math.inf
    found = _largest(first - second)
    return found if math.isfinite(found) else math.inf


def relative_error(a: Any, b: Any, rounding: float) -> float:
    """Return the largest difference relative to the larger of both; 0 if rounding explains it."""
    found = difference(a, b)
    if found <= rounding:
        return 0.0
    if found == math.inf:
        return math.inf
    return found / max(_largest(as_floats(a)), _largest(as_floats(b)))

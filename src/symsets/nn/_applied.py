"""How plain modules are applied to elements: as torch does, or by kernels that do the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from symsets._plain import NORMS
from symsets.nn._maxima import max_pooled
from symsets.nn._normalise import Normalised

__all__ = ["applied", "joined"]


def applied(module: nn.Module, activation: nn.Module | None = None) -> Callable[..., Any]:
    """Return what applies ``module`` to rows of elements, and an activation after it."""
    if isinstance(module, _BatchNorm):
        return Normalised(module, activation)
    return max_pooled(module) if type(module) is nn.MaxPool2d else module


def joined(modules: Iterable[nn.Module]) -> Iterator[tuple[int, nn.Module, Callable[..., Any]]]:
    """Yield the place of every module, the module, and what applies it to rows of elements.

    A batch normalisation takes the activation after it along.

    Example:
        >>> chain = nn.Linear(3, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.BatchNorm1d(3)
        >>> [(place, type(module).__name__) for place, module, _ in joined(chain)]
        [(0, 'Linear'), (1, 'BatchNorm1d'), (3, 'BatchNorm1d')]
    """
    taken = False
    for place, (module, after) in enumerate(pairwise([*modules, nn.Identity()])):
        if taken:
            taken = False
            continue
        taken = type(module) in NORMS and type(after) in (nn.ReLU, nn.ELU)
        yield place, module, applied(module, after if taken else None)

"""Chains of set layers and ordinary modules."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from torch import nn

from symsets.nn._applied import joined
from symsets.nn._extra import accepts_args
from symsets.nn._parts import check_elements
from symsets.nn.base import SetModule
from symsets.sets import map_elements

__all__ = ["Sequential", "takes_sets"]


def takes_sets(module: nn.Module) -> bool:
    """Whether ``module`` works on sets: it is, or has inside, a set module."""
    # Asked in every call: not all parts by their names, as modules() finds them.
    inside = (part for part in module._modules.values() if part is not None)
    return isinstance(module, SetModule) or any(map(takes_sets, inside))


class Sequential(SetModule, nn.Sequential):
    """Chain modules: set layers see whole sets, all others single elements.

    Dense and ragged batches take the same path. Further arguments (a graph, an ``edge_index``)
    go to those set layers whose maps take them. After a head that makes one thing of every set
    (``Classify``, ``Merge``), plain modules see these things, as they do in ``nn.Sequential``. Your
    own module with set layers inside is taken to return sets, unless its ``returns_sets`` is false.

    Args:
        modules: Set layers, plain modules, heads.

    Shape:
        - x: ``(B, N, *E)`` or ragged.

    Symmetry:
        That of all its parts together.

    Example:
        >>> import torch
        >>> from symsets import DSS, RaggedSets
        >>> net = Sequential(DSS(nn.Conv2d(3, 8, 3)), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten())
        >>> net(RaggedSets(torch.randn(5, 3, 8, 8), [2, 3]))
        RaggedSets(2 sets of 2–3 elements (288,))
    """

    def add_module(self, name: str, module: nn.Module | None) -> None:
        """Add a module; a plain ``nn.Sequential`` with set layers inside becomes a chain, too."""
        super().add_module(name, _as_chain(module))

    def insert(self, index: int, module: nn.Module) -> Sequential:
        """Insert a module as :meth:`add_module` adds it."""
        super().insert(index, _as_chain(module))
        return self

    def __setattr__(self, name: str, value: Any) -> None:  # also: net[0] = module
        super().__setattr__(name, _as_chain(value))

    def __add__(self, other: nn.Sequential) -> Sequential:
        return Sequential(*super().__add__(other))  # torch's own would be a plain chain

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*super().__mul__(other))

    @property
    def returns_sets(self) -> bool:  # type: ignore[override]
        """Whether the output is a batch of sets again."""
        return all(_returns_sets(module) for module in self)

    def forward(self, x: Any, *args: Any) -> Any:
        """Apply all modules in turn."""
        if args and not any(takes_sets(m) and accepts_args(m) for m in self):
            raise TypeError(f"none of the layers takes further arguments, got {len(args)}")
        are_sets = True
        for place, module, apply in joined(self):
            if not takes_sets(module):
                if are_sets:
                    check_elements(x, module, self)
                x = map_elements(x, apply) if are_sets else apply(x)
                continue
            if not are_sets:
                raise ValueError(
                    f"modules must not take sets after a head that returns none, "
                    f"got {type(module).__name__} at place {place}"
                )
            x = module(x, *args) if args and accepts_args(module) else module(x)
            are_sets = _returns_sets(module)
        return x


def _as_chain(value: Any) -> Any:
    if type(value) is nn.Sequential and takes_sets(value):
        return Sequential(OrderedDict(value._modules))  # under the names they had
    return value


def _returns_sets(module: nn.Module) -> bool:
    """Whether sets come out of ``module``; what wraps a single module says what that says."""
    if hasattr(module, "returns_sets"):
        return bool(module.returns_sets)
    parts = list(module.children())
    return len(parts) != 1 or _returns_sets(parts[0])

"""Chains of set layers and ordinary modules."""

from __future__ import annotations

from typing import Any

from torch import nn

from symsets.nn._parts import takes_extra
from symsets.nn.base import SetModule
from symsets.sets import map_elements

__all__ = ["Sequential", "takes_sets"]


def takes_sets(module: nn.Module) -> bool:
    """Whether ``module`` works on sets: it is, or has inside, a set module."""
    return any(isinstance(part, SetModule) for part in module.modules())


class Sequential(SetModule, nn.Sequential):
    """Chain modules: set layers see whole sets, all others single elements.

    Dense and ragged batches take the same path. Further arguments (a graph, an ``edge_index``)
    go to those set layers whose maps take them.

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

    def __init__(self, *modules: nn.Module) -> None:
        super().__init__(*(_as_set_chain(module) for module in modules))

    def forward(self, x: Any, *args: Any) -> Any:
        """Apply all modules in turn."""
        if args and not any(takes_sets(m) and takes_extra(m) for m in self):
            raise TypeError(f"none of the layers takes further arguments, got {len(args)}")
        for module in self:
            if not takes_sets(module):
                x = map_elements(x, module)
            elif args and takes_extra(module):
                x = module(x, *args)
            else:
                x = module(x)
        return x


def _as_set_chain(module: nn.Module) -> nn.Module:
    """Turn a plain ``nn.Sequential`` with set layers inside into a chain for sets."""
    if type(module) is nn.Sequential and takes_sets(module):
        return Sequential(*module)
    return module

"""Arguments that maps take beside the elements, such as a graph."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from symsets.sets import Sets
from symsets.sets.folding import membership


class Chain(nn.Sequential):
    """Maps for single elements in turn; further arguments go to those that take them."""

    def _get_name(self) -> str:
        return "Sequential"

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        for part in self:
            x = part(x, *args) if args and accepts_args(part) else part(x)
        return x


def as_chain(plain: nn.Sequential, adapt: Callable[[Any], nn.Module]) -> nn.Sequential:
    """Return ``plain`` or, if a part takes a graph, a chain of its parts under their names."""
    parts = OrderedDict((name, adapt(part)) for name, part in plain._modules.items())
    own = [p for p in parts.values() if not type(p).__module__.startswith("torch.nn.")]
    return Chain(parts) if any(map(accepts_args, own)) else plain  # torch's modules take no graph


def context_args(x: Sets, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Turn the arguments of the element map into those of the context map.

    What differs from element to element, such as a graph for each, has a method ``over_sets``
    that returns its mean over each set; all else is shared.
    """
    if not any(hasattr(arg, "over_sets") for arg in args):
        return args
    index, sizes = membership(x)
    return tuple(arg.over_sets(index, sizes) if hasattr(arg, "over_sets") else arg for arg in args)


def accepts_args(module: nn.Module) -> bool:
    """Whether ``module`` takes arguments beside its input, such as a graph."""
    inner = getattr(module, "element", None)
    if isinstance(inner, nn.Module):
        return accepts_args(inner)
    if isinstance(module, nn.Sequential):
        return any(accepts_args(part) for part in module)
    kinds = [p.kind for p in inspect.signature(module.forward).parameters.values()]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named = sum(kind in positional for kind in kinds)
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        return named > 1
    parts = list(module.children())
    return named > 0 or len(parts) != 1 or accepts_args(parts[0])  # a wrapper passes all on

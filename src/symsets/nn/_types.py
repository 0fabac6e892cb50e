"""Numbers of one type: what a map gets must be like its weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["check_type", "kind_of"]


def check_type(x: Tensor, layer: nn.Module, owner: nn.Module | None = None) -> None:
    """Raise one sentence unless ``x`` has the type of a map's weights, or autocast sees to it.

    Args:
        x: What the map is given.
        layer: The map.
        owner: The layer it is part of, to name.

    Example:
        >>> check_type(torch.zeros(2, 3, dtype=torch.double), nn.Linear(3, 4))
        Traceback (most recent call last):
        ...
        TypeError: x must be torch.float32 like the Linear, got torch.float64: convert it, ...
    """
    dtype = layer.weight.dtype
    if torch.compiler.is_compiling():
        return
    if not isinstance(x, Tensor):
        raise TypeError(f"x must be a tensor, got {type(x).__name__}")
    if x.dtype == dtype:
        return
    if not (x.is_floating_point() and _is_cast(x, dtype)):
        where = f" in {type(owner).__name__}" if owner is not None else ""
        raise TypeError(
            f"x must be {dtype} like the {kind_of(layer).__name__}{where}, got {x.dtype}: "
            f"convert it, as in x.to({dtype})"
        )


def _is_cast(x: Tensor, dtype: object) -> bool:
    """Whether autocast brings ``x`` and weights of type ``dtype`` together; it spares float64."""
    kind = x.device.type
    casts = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    return casts and torch.float64 not in (x.dtype, dtype)


def kind_of(layer: nn.Module) -> type[nn.Module]:
    """Return the class of a map, or the one it had before it was lifted."""
    return getattr(type(layer), "lifted", type(layer))

"""The type of a map's weights, and the base of our own maps for single elements."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from symsets._checks import positive
from symsets.sets import RaggedSets, Sets

__all__ = ["ElementMap", "check_device", "check_type", "kind_of"]


class ElementMap(nn.Module):
    """A map of single elements ``(B, in_channels, *axes)``, with weights.

    Derived classes mark ``forward`` with :func:`~symsets.nn._explain.explained`.

    Attributes:
        axes: The axes of an element after its channels: a length, or the name of one. Axes of one
            name have one length.
    """

    axes: tuple[str | int, ...]
    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels = positive("in_channels", in_channels)
        self.out_channels = positive("out_channels", out_channels)

    @property
    def min_axes(self) -> int:
        """Axes of a batch of elements."""
        return 2 + len(self.axes)

    def check_input(self, x: Any) -> None:
        """Raise ValueError or TypeError naming what is wrong with ``x``; called after torch."""
        if isinstance(x, RaggedSets):  # a set layer around this map says more
            raise TypeError(
                f"x must be a tensor of single elements for {type(self).__name__}, got {x}: "
                f"a set layer, as in Siamese({type(self).__name__}(…)), takes sets"
            )
        if not isinstance(x, Tensor):
            raise TypeError(f"x must be a tensor, got {type(x).__name__}")
        wanted, lengths = (self.in_channels, *self.axes), dict[str | int, int]()
        fits = x.ndim == 1 + len(wanted) and all(
            n == (axis if isinstance(axis, int) else lengths.setdefault(axis, n))
            for axis, n in zip(wanted, x.shape[1:], strict=True)
        )
        if not fits:
            raise ValueError(
                f"x must have shape (B, {', '.join(map(str, wanted))}) for {type(self).__name__}, "
                f"got {tuple(x.shape)}"
            )
        check_type(x, self)

    def _draw(self, bound: float) -> None:
        """Draw weights between ``-bound`` and ``bound``; the bias becomes zero."""
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


def check_type(x: Sets, layer: nn.Module, owner: nn.Module | None = None) -> None:
    """Raise TypeError unless ``x`` has the type of a map's weights, or autocast converts it.

    Raise ValueError unless both are on one device.

    Args:
        x: What the map is given.
        layer: The map.
        owner: The layer it is part of, to name.
    """
    dtype, device = layer.weight.dtype, x.device.type
    check_device(x, layer.weight, owner or layer)
    if x.dtype == dtype or torch.compiler.is_compiling():
        return
    casts = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
    if not (casts and x.dtype.is_floating_point and torch.float64 not in (x.dtype, dtype)):
        where = f" in {type(owner).__name__}" if owner is not None else ""
        raise TypeError(
            f"x must be {dtype} like the {kind_of(layer).__name__}{where}, got {x.dtype}: "
            f"convert it, as in x.to({dtype})"
        )


def check_device(x: Sets, weight: Any, owner: nn.Module) -> None:
    """Raise ValueError unless ``x`` is where a weight of ``owner`` is."""
    if x.device != weight.device:
        raise ValueError(
            f"x must be on the device of the weights of {type(owner).__name__}, {weight.device}, "
            f"got {x.device}: move one of them with .to(device)"
        )


def kind_of(layer: nn.Module) -> type[nn.Module]:
    """Return the class of a map, or the one it had before it was lifted."""
    return getattr(type(layer), "lifted", type(layer))

"""The base of all modules that take sets."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from symsets.nn._parts import as_element
from symsets.sets import RaggedSets, Sets, map_elements, spread

__all__ = ["AdditiveSetLayer", "SetLayer", "SetModule"]


class SetModule(nn.Module):
    """A module that takes a batch of sets, dense or ragged.

    :class:`Sequential` hands whole sets to it, and single elements to every other module.
    Derive your own set modules from it.
    """


class SetLayer(SetModule):
    """A set layer built around a map for single elements.

    Args:
        element: The map applied to each element on its own.
    """

    def __init__(self, element: nn.Module) -> None:
        super().__init__()
        self.element = as_element(element)

    @property
    def formula(self) -> str:
        """What the layer computes for element i."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        """Show the formula."""
        return self.formula


class AdditiveSetLayer(SetLayer):
    """A set layer of the form element(x_i) + message(X)_i.

    With a message of zero it is the element map, which is what lets :func:`symsets.lift` start
    from a trained network.
    """

    def message(self, x: Sets, *args: Any) -> Tensor:
        """Return what element i learns from its set, ready to be added to the elements."""
        raise NotImplementedError

    def forward(self, x: Sets, *args: Any) -> Any:
        """Apply the layer."""
        # The message first: then the backward pass adds its gradient to the element's in place.
        message = self.message(x, *args)
        return add_message(map_elements(x, self.element, *args), message)


def add_message(y: Any, message: Tensor) -> Any:
    """Add a message (broadcasting in a dense batch, rows in a ragged one) to all elements."""
    if isinstance(y, RaggedSets):
        if isinstance(y.elements, RaggedSets):  # every point of an element hears the same
            return y.with_elements(add_message(y.elements, spread(message, y.elements)))
        return y.with_elements(add_message(y.elements, message))
    fits = y.ndim == message.ndim
    if not fits or any(m not in (1, n) for m, n in zip(message.shape, y.shape, strict=True)):
        raise ValueError(
            "element and context must give outputs of one shape, "
            f"got {tuple(y.shape)} and {tuple(message.shape)}"
        )
    return y + message

"""The base of all modules that take sets."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from symsets.nn._memory import add_into, makes_new_memory, own_gradient
from symsets.nn._parts import as_element, check_elements
from symsets.sets import RaggedSets, Sets, map_elements, memory_order, spread

__all__ = ["AdditiveSetLayer", "SetLayer", "SetModule", "add_message"]


class SetModule(nn.Module):
    """A module that takes a batch of sets, dense or ragged.

    :class:`Sequential` hands whole sets to it, and single elements to every other module.
    Derive your own set modules from it.

    Attributes:
        returns_sets: Whether the output is a batch of sets again. False for heads that make one
            thing of every set; what follows them in a :class:`Sequential` sees these things.
    """

    returns_sets = True


class SetLayer(SetModule):
    """A set layer built around a map for single elements.

    Args:
        element: The map applied to each element on its own.
    """

    def __init__(self, element: nn.Module) -> None:
        super().__init__()
        self.element = as_element(element)

    def map(self, x: Sets, *args: Any) -> Any:
        """Apply the element map to every element of every set."""
        check_elements(x, self.element, self)
        return map_elements(x, self.element, *args)

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

    Attributes:
        channel_axis: Which axis of ``(B, *F)`` holds the channels; there a message must fit, while
            on other axes it may be the same for all entries.
    """

    channel_axis = 1

    def message(self, x: Sets, *args: Any) -> Tensor:
        """Return what element i learns from its set, ready to be added to the elements."""
        raise NotImplementedError

    def forward(self, x: Sets, *args: Any) -> Any:
        """Apply the layer."""
        check_elements(x, self.element, self)
        # The message first: then the backward pass adds its gradient to the element's in place.
        return self.tell(x, self.message(x, *args), *args)

    def tell(self, x: Sets, message: Tensor, *args: Any) -> Any:
        """Map every element and add a message."""
        reuse = makes_new_memory(self.element)
        if reuse and isinstance(x, Tensor) and not self.element._forward_pre_hooks:
            x = own_gradient(x)  # a hook before the map might change it in place
        y = map_elements(x, self.element, *args)
        return add_message(y, message, self.channel_axis, reuse=reuse)


def add_message(y: Any, message: Tensor, channel_axis: int = 1, *, reuse: bool = False) -> Any:
    """Add a message (broadcasting in a dense batch, rows in a ragged one) to all elements.

    Where ``reuse`` says that nobody else holds the elements, the sum takes their memory.
    """
    add = add_into if reuse else torch.add
    if not isinstance(y, RaggedSets):
        _check_message(y, message, channel_axis + 1 if channel_axis > 0 else channel_axis)
        if y.is_contiguous():
            return add(y, message)
        order, back = memory_order(y)  # then the gradient of the message is summed in this order
        return add(y.permute(order), message.permute(order)).permute(back)
    rows = y.elements
    if isinstance(rows, RaggedSets):  # every point of an element hears the same
        heard = rows.elements + spread(message, rows)
        return y.with_elements(rows.with_elements(heard))
    _check_message(rows, message, channel_axis)
    return y.with_elements(add(rows, message))


def _check_message(y: Tensor, message: Tensor, channel_axis: int) -> None:
    fits = y.ndim == message.ndim and all(
        m == n or (m == 1 and axis != channel_axis % y.ndim)
        for axis, (m, n) in enumerate(zip(message.shape, y.shape, strict=True))
    )
    if not fits:
        raise ValueError(
            "element and context must give outputs of one shape, "
            f"got {tuple(y.shape)} and {tuple(message.shape)}"
        )

"""The base of all modules that take sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from torch import Tensor, nn

from symsets.nn._explain import check_elements, explained
from symsets.nn._maps import as_element, min_axes
from symsets.sets import RaggedSets, Sets, add_to_elements, map_elements
from symsets.sets.folding import check_sets


class SetModule(nn.Module):
    """A module that takes a batch of sets, dense or ragged.

    :class:`Sequential` hands whole sets to it, and single elements to every other module.
    Derive your own set modules from it.

    Attributes:
        returns_sets: Whether the output is a batch of sets again. False for heads that return one
            row per set; what follows them in a :class:`Sequential` gets these rows.
    """

    returns_sets = True
    min_axes = 2  # of a dense batch: batch, set, and those that an element must have

    def check_input(self, x: Sets) -> None:
        """Raise ValueError or TypeError naming what is wrong with ``x``; called after torch."""
        check_sets(x, self.min_axes)

    if TYPE_CHECKING:

        @overload
        def __call__(self, x: Tensor, *args: Any) -> Tensor: ...

        @overload
        def __call__(self, x: RaggedSets, *args: Any) -> RaggedSets: ...

        def __call__(self, x: Any, *args: Any) -> Any:
            """Return sets of the kind that were given."""


class SetLayer(SetModule):
    """A set layer built around a map for single elements.

    Args:
        element: The map applied to each element on its own.
    """

    def __init__(self, element: nn.Module) -> None:
        super().__init__()
        self.element = as_element(element)
        self.min_axes = min_axes(self.element)

    def check_input(self, x: Sets) -> None:
        check_elements(x, self.element, self)

    def map(self, x: Sets, *args: Any) -> Any:
        """Apply the element map to every element of every set."""
        return map_elements(x, self.element, *args)

    @property
    def formula(self) -> str:
        """What the layer computes for element i."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        return self.formula


class AdditiveSetLayer(SetLayer):
    """A set layer of the form element(x_i) + message(X)_i.

    With a message of zero it is the element map, so :func:`symsets.lift` can start from a trained
    network.

    Attributes:
        channel_axis: Which axis of ``(B, *F)`` holds the channels; there a message must fit, while
            on other axes it may be the same for all entries.
    """

    channel_axis = 1

    def message(self, x: Sets, *args: Any) -> Tensor:
        """Return what is added to the elements, with a set axis or as rows (see ``spread``)."""
        raise NotImplementedError

    @explained
    def forward(self, x: Sets, *args: Any) -> Any:
        message = self.message(x, *args)  # first: the element map may change x in place
        return add_to_elements(self.map(x, *args), message, self.channel_axis)

"""The bases of modules that take sets, and of our own maps for single elements."""

from typing import TYPE_CHECKING, Any, overload

from torch import Tensor, nn

from symsets._checks import positive
from symsets.nn._explain import check_elements, check_type, explained
from symsets.nn._maps import as_element, channel_axis, min_axes
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


class SetHead(SetModule):
    """A module that takes a batch of sets, and returns one row per set."""

    returns_sets = False

    if TYPE_CHECKING:

        def __call__(self, x: Sets, *args: Any) -> Tensor:  # type: ignore[override]
            """Return one row per set."""


class SetLayer(SetModule):
    """A set layer built around a map for single elements.

    Args:
        element: The map applied to each element on its own.

    Attributes:
        channel_axis: Which axis of ``(B, *F)`` holds the channels: the last one for linear maps,
            the first one for others.
    """

    def __init__(self, element: nn.Module) -> None:
        super().__init__()
        self.element = as_element(element)
        self.channel_axis = channel_axis(self.element)
        self.min_axes = min_axes(self.element)

    def check_input(self, x: Sets) -> None:
        check_elements(x, self.element, self)

    def map(self, x: Sets, *args: Any) -> Any:
        """Apply the element map to every element of every set."""
        return map_elements(x, self.element, *args)

    @property
    def formula(self) -> str:
        """What the layer computes for element i, as printing shows it."""
        return "layer(X)_i"

    def extra_repr(self) -> str:
        return self.formula


class AdditiveSetLayer(SetLayer):
    """A set layer of the form element(x_i) + message(X)_i.

    With a message of zero it is the element map, so :func:`symsets.lift` can start from a trained
    network. A message must have as many channels as the elements; on other axes it may be the same
    for all entries.
    """

    def message(self, x: Sets, *args: Any) -> Tensor:
        """Return what is added to the elements, with a set axis or as rows (see ``spread``)."""
        raise NotImplementedError

    @explained
    def forward(self, x: Sets, *args: Any) -> Any:
        message = self.message(x, *args)  # first: the element map may change x in place
        return add_to_elements(self.map(x, *args), message, self.channel_axis)


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

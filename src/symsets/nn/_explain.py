"""What is wrong with the input of a layer, found after torch has raised.

A layer runs its formula. If torch raises, the layer looks at what it was given and raises an error
about sets in place of torch's, which is about rows. A right call pays nothing.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from symsets._checks import is_ours, raised_in
from symsets.nn._maps import AXES, first_map, first_part, kind_of
from symsets.sets import RaggedSets, Sets
from symsets.sets.folding import check_sets

# What torch raises for wrong shapes and types. Any other exception is a signal to whoever waits for
# it: so checkpoints end their second forward pass, and hooks one whose rest nobody needs.
TORCHS = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, AssertionError)
Forward = TypeVar("Forward", bound=Callable[..., Any])


def explained(forward: Forward) -> Forward:
    """Let ``check_input`` of the module name what is wrong with ``x`` if ``forward`` raises.

    Only the number of axes is checked before: without its set axis, a convolution could take a
    batch for one element, and silently mix all elements.
    """

    @wraps(forward)
    def call(self: Any, x: Any, *args: Any, **options: Any) -> Any:
        try:
            if x.ndim >= self.min_axes:
                return forward(self, x, *args, **options)
            raise IndexError(f"x must have at least {self.min_axes} axes, got {x.ndim}")
        except TORCHS as error:
            explain(self.check_input, x, error)
            explain_refusal(self, x, error)
            raise

    return call  # type: ignore[return-value]


def explain(check: Callable[[Any], None], x: Any, error: Exception) -> None:
    """Raise what ``check`` says of ``x``, if it finds anything wrong, in place of torch's error.

    The outermost layer that finds something speaks: its input is what the user gave.
    """
    if is_ours(error):
        return
    try:
        check(x)
    except (ValueError, TypeError) as found:
        raise found from error


def explain_refusal(module: nn.Module, x: Any, error: Exception) -> None:
    """Raise ValueError with the shape of the sets that torch refused inside ``module``.

    What a module of somebody else raises by itself is passed on as it is.
    """
    own = raised_in(error).startswith(("torch.", "symsets."))
    # Subclasses, and one message of a CPU, tell of memory and of devices.
    if own and type(error) is RuntimeError and "allocate memory" not in str(error):
        got = tuple(x.shape) if isinstance(x, Tensor) else x
        raise ValueError(
            f"x must be sets that {type(module).__name__} takes, got {got}: {error}"
        ) from error


def check_channels(features: Any, expected: int, owner: nn.Module) -> None:
    """Raise ValueError unless ``features (B, C)`` have the channels that ``owner`` was made for."""
    if not isinstance(features, Tensor) or features.ndim != 2 or features.shape[1] != expected:
        raise ValueError(
            f"x must have {expected} channels (first axis of an element) for "
            f"{type(owner).__name__}, "
            f"got {features.shape[-1] if isinstance(features, Tensor) else features}"
        )


def check_elements(x: Sets, element: nn.Module, owner: nn.Module) -> None:
    """Raise ValueError or TypeError unless the elements of ``x`` are what ``element`` takes.

    A map that is none of torch's checks what it gets itself. ``owner`` is the layer to name.
    """
    check_sets(x)
    rows = x.elements if isinstance(x, RaggedSets) else x
    if not isinstance(rows, Tensor):
        return
    check_device(rows, next(element.parameters(), rows), owner)
    if (first := first_map(element)) is None:
        own = getattr(first_part(element), "check_input", None)
        if own is not None:  # a map of ours, or a set layer in a set layer
            own(rows if isinstance(x, RaggedSets) else rows.flatten(0, 1))
        return
    if wanted := _wanted(first, rows.shape[1:] if isinstance(x, RaggedSets) else rows.shape[2:]):
        got = x if isinstance(x, RaggedSets) else tuple(x.shape)
        raise ValueError(
            f"x must have shape (B, N, {wanted}) for the {kind_of(first).__name__} in "
            f"{type(owner).__name__}, got {got}"
        )
    check_type(rows, first, owner)


def check_rows(x: Tensor, layer: nn.Module, name: str) -> None:
    """Raise ValueError unless rows ``x (T, *E)`` are what a layer inside a network takes."""
    if (first := first_map(layer)) is None:
        return
    if wanted := _wanted(first, x.shape[1:]):
        raise ValueError(
            f"layer {name!r} must get elements ({wanted}), got {tuple(x.shape[1:])}: "
            "x must be (B, N, *E), or ragged, with elements that the network takes"
        )
    check_type(x, first)


def _wanted(first: nn.Module, shape: Sequence[int]) -> str:
    """Return what one of torch's own maps takes, unless it takes elements of a shape."""
    axes = AXES[kind_of(first).forward]
    if axes:
        fits = len(shape) == 1 + len(axes) and shape[0] == first.in_channels
        return "" if fits else ", ".join((str(first.in_channels), *axes))
    fits = len(shape) > 0 and shape[-1] == first.in_features
    return "" if fits else f"…, {first.in_features}"


def check_type(x: Sets, layer: nn.Module, owner: nn.Module | None = None) -> None:
    """Raise TypeError unless ``x`` has the type of a map's weights, or autocast converts it.

    Raise ValueError unless both are on one device. ``owner`` is the layer to name.
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

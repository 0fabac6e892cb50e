"""What is wrong with the input of a layer, said after torch has raised.

A layer runs its formula. If torch raises, the layer looks at what it was given and says it in a
sentence about sets; torch's would be about rows. A right call pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

from torch import Tensor, nn

from symsets.nn._maps import AXES, first_map, first_part
from symsets.nn._types import check_type, kind_of
from symsets.sets import RaggedSets, Sets
from symsets.sets.folding import check_sets

__all__ = [
    "check_channels",
    "check_context",
    "check_elements",
    "check_rows",
    "explain",
    "explained",
]

TENSOR_MAPS = ("torch.nn.modules.", "symsets.nn.")  # what is no set module there takes tensors
Forward = TypeVar("Forward", bound=Callable[..., Any])


def explained(forward: Forward) -> Forward:
    """Explain what ``forward`` of a set module was given, if torch refuses it.

    One thing is asked before: whether the set axis is there. Without it a convolution may take a
    batch for one element, and silently mix all elements.
    """

    @wraps(forward)
    def call(self: Any, x: Any, *args: Any) -> Any:
        try:
            if x.ndim >= self.min_axes:
                return forward(self, x, *args)
            raise IndexError(f"x must have at least {self.min_axes} axes, got {x.ndim}")
        except Exception as error:
            explain(self.check_input, x, error)
            raise

    return call  # type: ignore[return-value]


def explain(check: Callable[[Any], None], x: Any, error: Exception) -> None:
    """Raise what ``check`` says of ``x``, if it finds anything wrong, in place of torch's error."""
    if _is_ours(error):
        return
    try:
        check(x)
    except (ValueError, TypeError) as found:
        raise found from error


def _is_ours(error: Exception) -> bool:
    """Whether an error was raised by this package, and so says what is wrong already."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    raised_in = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__"))
    return isinstance(error, ValueError | TypeError) and raised_in.startswith("symsets.")


def check_channels(features: Tensor, expected: int) -> None:
    """Raise ValueError unless ``features (B, C)`` have the channels that a layer was made for."""
    if features.ndim != 2 or features.shape[1] != expected:
        raise ValueError(
            f"x must have {expected} channels (first axis of an element), got {features.shape[-1]}"
        )


def check_elements(x: Sets, element: nn.Module, owner: nn.Module) -> None:
    """Raise ValueError or TypeError unless the elements of ``x`` are what ``element`` takes.

    Args:
        x: What ``owner`` was given.
        element: The map; if it is none of torch's, it is left to check what it gets. Elements
            that are themselves sets need a set layer.
        owner: The layer to name.

    Example:
        >>> import torch
        >>> check_elements(torch.zeros(2, 5, 4), nn.Linear(3, 8), nn.Identity())
        Traceback (most recent call last):
        ...
        ValueError: x must have shape (B, N, …, 3) for the Linear in Identity, got (2, 5, 4)
    """
    check_sets(x)
    rows = x.elements if isinstance(x, RaggedSets) else x
    if not isinstance(rows, Tensor):
        _check_takes_sets(element, owner)
        return
    first = first_map(element)
    if first is None:
        return
    if wanted := _wanted(first, rows.shape[1:] if isinstance(x, RaggedSets) else rows.shape[2:]):
        got = x if isinstance(x, RaggedSets) else tuple(x.shape)
        raise ValueError(
            f"x must have shape (B, N, {wanted}) for the {kind_of(first).__name__} in "
            f"{type(owner).__name__}, got {got}"
        )
    check_type(rows, first, owner)


def check_rows(x: Tensor, layer: nn.Module, name: str) -> None:
    """Raise ValueError unless rows ``x (T, *E)`` are what a layer inside a network takes.

    Example:
        >>> import torch
        >>> check_rows(torch.zeros(6, 16, 16), nn.Conv2d(3, 8, 3), "stem")
        Traceback (most recent call last):
        ...
        ValueError: layer 'stem' must get elements (3, H, W), got (16, 16): x must be ...
    """
    if (first := first_map(layer)) is None:
        return
    if wanted := _wanted(first, x.shape[1:]):
        raise ValueError(
            f"layer {name!r} must get elements ({wanted}), got {tuple(x.shape[1:])}: "
            "x must be (B, N, *E), or ragged, with elements that the network takes"
        )
    check_type(x, first)


def _check_takes_sets(element: nn.Module, owner: nn.Module) -> None:
    """Raise ValueError if ``element`` is a map of tensors, where elements are themselves sets."""
    first = first_part(element)
    if first is None or hasattr(first, "returns_sets"):
        return
    kind = kind_of(first)
    keeps = kind in (nn.Identity, nn.Sequential)  # an empty chain keeps what it gets, too
    if not keeps and kind.forward.__module__.startswith(TENSOR_MAPS):
        raise ValueError(
            "element must itself be a set layer where the elements of x are sets, "
            f"as in Siamese(Siamese({kind.__name__}(…))), got the {kind.__name__} in "
            f"{type(owner).__name__}"
        )


def check_context(summary: Tensor, context: nn.Module) -> None:
    """Raise ValueError unless ``context`` takes pooled sets ``(B, *E)``.

    Example:
        >>> import torch
        >>> check_context(torch.zeros(2, 3), nn.Linear(5, 8))
        Traceback (most recent call last):
        ...
        ValueError: context must take pooled sets (B, 3), got a Linear for (B, …, 5)
    """
    first = first_map(context)
    if first is not None and (wanted := _wanted(first, summary.shape[1:])):
        pooled = ", ".join(("B", *map(str, summary.shape[1:])))
        raise ValueError(
            f"context must take pooled sets ({pooled}), "
            f"got a {kind_of(first).__name__} for (B, {wanted})"
        )


def _wanted(first: nn.Module, shape: Sequence[int]) -> str:
    """Return what one of torch's own maps takes, unless it takes elements of a shape."""
    axes = AXES[kind_of(first).forward]
    if axes:
        fits = len(shape) == 1 + len(axes) and shape[0] == first.in_channels
        return "" if fits else ", ".join((str(first.in_channels), *axes))
    fits = len(shape) > 0 and shape[-1] == first.in_features
    return "" if fits else f"…, {first.in_features}"

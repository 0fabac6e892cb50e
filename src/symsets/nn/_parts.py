"""What set layers do with the modules they are made of: twins, calls, channels."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from symsets.nn._extra import Chain, as_chain
from symsets.nn._types import check_type, kind_of
from symsets.nn.pyg import PyGConv, is_pyg
from symsets.sets import RaggedSets, Sets, check_sets

__all__ = [
    "as_element",
    "channels",
    "check_channels",
    "check_context",
    "check_elements",
    "check_keeps_input",
    "check_rows",
    "twin",
    "without_bias",
    "zeroed",
]

# The axes of an element after its channels (a linear map has the channels last). Only for torch's
# own maps as they are: a subclass with its own forward may take anything.
AXES: dict[Callable[..., Any], tuple[str, ...]] = {
    nn.Linear.forward: (),
    nn.Conv1d.forward: ("L",),
    nn.Conv2d.forward: ("H", "W"),
    nn.Conv3d.forward: ("D", "H", "W"),
    nn.ConvTranspose1d.forward: ("L",),
    nn.ConvTranspose2d.forward: ("H", "W"),
    nn.ConvTranspose3d.forward: ("D", "H", "W"),
}
CHAINS = (nn.Sequential, Chain)
TENSOR_MAPS = ("torch.nn.modules.", "symsets.nn.")  # what is no set module there takes tensors


def as_element(module: nn.Module, name: str = "element") -> nn.Module:
    """Check that ``module`` can be an element map; adapt a graph convolution to our layout.

    A plain chain with parts that take a graph becomes one that hands it to them.
    """
    if not isinstance(module, nn.Module):
        raise TypeError(f"{name} must be a module, got {type(module).__name__}")
    if type(module) is nn.Sequential:
        return as_chain(module, as_element)
    return PyGConv(module) if is_pyg(module) else module


def check_keeps_input(module: nn.Module, name: str) -> None:
    """Raise one sentence if ``module`` starts by changing what other maps are to see, too.

    Example:
        >>> check_keeps_input(nn.Sequential(nn.ReLU(inplace=True), nn.Linear(2, 3)), "element")
        Traceback (most recent call last):
        ...
        ValueError: element must not change its input in place, which other maps see, got a ReLU...
    """
    first = _first_part(module)
    if getattr(first, "inplace", False):
        raise ValueError(
            f"{name} must not change its input in place, which other maps see, "
            f"got a {type(first).__name__} that does: make it with inplace=False"
        )


def twin(module: nn.Module, *, bias: bool = True, instead: str = "context=") -> nn.Module:
    """Return a freshly initialised copy of ``module``, to be trained also where it is frozen.

    Every part is copied and its ``reset_parameters`` called. A part that has none, or whose
    weights come out unchanged (as with weight normalisation), is named in the error, which says
    what to pass ``instead``.

    Example:
        >>> a = nn.Conv1d(1, 2, 3)
        >>> b = twin(a, bias=False)
        >>> torch.equal(a.weight, b.weight), b.bias
        (False, None)
    """
    copied = copy.deepcopy(module)
    for part in copied.modules():
        reset: Callable[[], None] | None = getattr(part, "reset_parameters", None)
        if reset is not None:
            reset()
    for (name, part), fresh in zip(module.named_modules(), copied.modules(), strict=True):
        if not _is_fresh(part, fresh):
            kind, whole = type(part).__name__, type(module).__name__
            where = f"the part {name!r} ({kind}) of {whole}" if name else kind
            raise ValueError(
                f"element must be made of parts whose reset_parameters draws new weights, "
                f"{where} has none that does: give it one, or pass {instead} yourself"
            )
    for parameter in copied.parameters():
        dtype = parameter.dtype  # that of a lazy map is known, too
        parameter.requires_grad = dtype.is_floating_point or dtype.is_complex
    return copied if bias else without_bias(copied)


def _is_fresh(part: nn.Module, fresh: nn.Module) -> bool:
    own = list(part.named_parameters(recurse=False))
    if own and not hasattr(part, "reset_parameters"):
        return False
    return not any(_unchanged(value, getattr(fresh, name)) for name, value in own)


def _unchanged(before: Tensor, after: Tensor) -> bool:
    """Whether random-looking weights survived a reset (constants such as zeros are fine)."""
    if isinstance(before, UninitializedParameter) or before.is_meta or before.numel() < 2:
        return False
    constant = bool((before == before.flatten()[0]).all())
    return not constant and torch.equal(before, after)


def without_bias(module: nn.Module) -> nn.Module:
    """Remove the bias of a single map, in place; a map made of several keeps its own.

    So does one that was not made to do without: its constructor has no ``bias`` to turn off.
    """
    carrier = module
    while "bias" not in carrier._parameters and isinstance(
        inner := getattr(carrier, "element", getattr(carrier, "conv", None)), nn.Module
    ):
        carrier = inner
    if "bias" in carrier._parameters and _has_option(type(carrier), "bias"):
        carrier.register_parameter("bias", None)
    return module


def _has_option(kind: type, name: str) -> bool:
    """Whether the constructor of a class, or of one it is derived from, takes an argument."""
    makers = [vars(base)["__init__"] for base in kind.__mro__ if "__init__" in vars(base)]
    return any(name in inspect.signature(maker).parameters for maker in makers)


def zeroed(module: nn.Module) -> nn.Module:
    """Set all parameters of a linear map to zero, in place."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
    return module


def check_channels(features: Tensor, expected: int) -> None:
    """Raise one sentence unless ``features (B, C)`` have as many channels as a layer was made for.

    Example:
        >>> check_channels(torch.zeros(2, 3), 3)
    """
    if features.ndim != 2 or features.shape[1] != expected:
        raise ValueError(
            f"x must have {expected} channels (first axis of an element), got {features.shape[-1]}"
        )


def check_elements(x: Sets, element: nn.Module, owner: nn.Module) -> None:
    """Raise one sentence unless the elements of ``x`` have the shape that ``element`` takes.

    Torch's message would be about rows and not about sets. Without the set axis there may even be
    none: a convolution takes a batch that lacks an axis for a single element.

    Args:
        x: What ``owner`` was given.
        element: The map; if it is none of torch's, it is left to check what it gets. Elements
            that are themselves sets need a set layer.
        owner: The layer to name.

    Example:
        >>> check_elements(torch.zeros(2, 5, 4), nn.Linear(3, 8), nn.Identity())
        Traceback (most recent call last):
        ...
        ValueError: x must have shape (B, N, …, 3) for the Linear in Identity, got (2, 5, 4)
    """
    if torch.compiler.is_compiling():
        return
    check_sets(x)
    rows = x.elements if isinstance(x, RaggedSets) else x
    if not isinstance(rows, Tensor):
        _check_takes_sets(element, owner)
        return
    first = _first_map(element)
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
    """Raise one sentence unless rows ``x (T, *E)`` are what a layer inside a network takes.

    Args:
        x: What the layer was given.
        layer: The layer; if it is none of torch's, it is left to check what it gets.
        name: What the layer is called.

    Example:
        >>> check_rows(torch.zeros(6, 16, 16), nn.Conv2d(3, 8, 3), "stem")
        Traceback (most recent call last):
        ...
        ValueError: layer 'stem' must get elements (3, H, W), got (16, 16): x must be ...
    """
    if torch.compiler.is_compiling() or (first := _first_map(layer)) is None:
        return
    if wanted := _wanted(first, x.shape[1:]):
        raise ValueError(
            f"layer {name!r} must get elements ({wanted}), got {tuple(x.shape[1:])}: "
            "x must be (B, N, *E), or ragged, with elements that the network takes"
        )
    check_type(x, first)


def _check_takes_sets(element: nn.Module, owner: nn.Module) -> None:
    """Raise one sentence if ``element`` is a map of tensors, where elements are themselves sets."""
    first = _first_part(element)
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
    """Raise one sentence unless ``context`` takes pooled sets ``(B, *E)``.

    Example:
        >>> check_context(torch.zeros(2, 3), nn.Linear(5, 8))
        Traceback (most recent call last):
        ...
        ValueError: context must take pooled sets (B, 3), got a Linear for (B, …, 5)
    """
    if torch.compiler.is_compiling() or (first := _first_map(context)) is None:
        return
    if wanted := _wanted(first, summary.shape[1:]):
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


def _first_map(module: nn.Module) -> nn.Module | None:
    """Return the map that sees the input of ``module``, if it is one of torch's own as it is."""
    first = _first_part(module)
    return first if first is not None and kind_of(first).forward in AXES else None


def _first_part(module: nn.Module) -> nn.Module | None:
    """Return the part that sees the input of ``module``, if it sees it as it is."""
    while isinstance(module, nn.Sequential) and type(module) in CHAINS and len(module):
        module = module[0]
    # A hook may change what comes in, and that of a lazy map still decides what it takes; what
    # was traced or scripted cannot be seen.
    hidden = isinstance(module, torch.jit.ScriptModule) or module._forward_pre_hooks
    return None if hidden or "forward" in vars(module) else module


def channels(module: nn.Module, which: str) -> int | None:
    """Return the number of ``"in"`` or ``"out"`` channels of a map, if it can be read off."""
    parts = list(module.modules())
    for part in parts if which == "in" else [parts[0], *reversed(parts[1:])]:
        for word in ("channels", "features"):
            value = getattr(part, f"{which}_{word}", None)
            if isinstance(value, int):
                return value
    return None

"""What set layers do with the maps they are made of: chains, arguments, twins, channels."""

import copy
import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.parameter import UninitializedParameter

from symsets._checks import check_kind
from symsets.nn.pyg import PyGConv
from symsets.sets import Sets
from symsets.sets.folding import membership
from symsets.sets.graphs import is_pyg

# Torch's own maps, and the axes of an element after its channels (a linear map has these last).
MAPS: dict[type[nn.Module], tuple[str, ...]] = {nn.Linear: ()}
for _kind, _axes in (("1d", ("L",)), ("2d", ("H", "W")), ("3d", ("D", "H", "W"))):
    MAPS[getattr(nn, f"Conv{_kind}")] = MAPS[getattr(nn, f"ConvTranspose{_kind}")] = _axes
# Torch's layers for sequences take a tensor with one axis less for a single sequence: rows of
# vectors, which are the elements of all sets, would attend to each other.
SEQUENCE_LAYERS = (nn.TransformerEncoderLayer, nn.TransformerEncoder)
SOFTMAX = (nn.Softmax, nn.LogSoftmax, nn.Softmin)
# What may return its input, or a view of it; dropout does so in evaluation.
PASSES_ON = (nn.Identity, nn.Flatten, nn.Unflatten, _DropoutNd)
# A subclass with its own forward may take anything.
AXES: dict[Callable[..., Any], tuple[str, ...]] = {kind.forward: MAPS[kind] for kind in MAPS}


def kind_of(layer: nn.Module) -> type[nn.Module]:
    """Return the class of a map, or the one it had before it was lifted."""
    return getattr(type(layer), "lifted", type(layer))


def min_axes(element: nn.Module) -> int:
    """Return how many axes a batch of sets must have: batch, set, and those that a map takes.

    Raise ValueError for a layer for sequences that would take the set axis for the sequence, and
    for a softmax over all elements of all sets.
    """
    if isinstance(element, SOFTMAX) and element.dim is not None:
        if element.dim == 0:
            raise ValueError(
                f"modules must not mix sets, got a {type(element).__name__} over the elements of "
                "all sets of a batch: use symsets.sets.softmax for one over each set"
            )
        return 2 - min(element.dim, 0)  # rows have one axis for both, batch and set
    if isinstance(layer := first_part(element), SEQUENCE_LAYERS):
        if not all(getattr(part, "batch_first", True) for part in layer.modules()):
            raise ValueError(
                f"element must be made with batch_first=True, got a {type(layer).__name__} that "
                "would take the elements of all sets for one sequence"
            )
        return 4
    first = first_map(element)
    return 2 if first is None else 3 + len(AXES[kind_of(first).forward])


def first_map(module: nn.Module) -> nn.Module | None:
    """Return the map that sees the input of ``module``, if it is one of torch's own as it is."""
    first = first_part(module)
    return first if first is not None and kind_of(first).forward in AXES else None


def first_part(module: nn.Module) -> nn.Module | None:
    """Return the part that sees the input of ``module``, if it sees it as it is."""
    while isinstance(module, nn.Sequential) and type(module) in (nn.Sequential, Chain) and module:
        module = module[0]
    # A hook may change the input (a lazy map has one), and a traced module hides its parts.
    hidden = isinstance(module, torch.jit.ScriptModule) or module._forward_pre_hooks
    return None if hidden or "forward" in vars(module) else module


def as_element(module: nn.Module, name: str = "element") -> nn.Module:
    """Raise TypeError unless ``module`` is one; wrap those that take a graph in another layout."""
    check_kind(name, module, nn.Module, "module")
    if type(module) is not nn.Sequential:
        return PyGConv(module) if is_pyg(module, "MessagePassing") else module
    parts = OrderedDict((name, as_element(part)) for name, part in module._modules.items())
    own = [p for p in parts.values() if not type(p).__module__.startswith("torch.nn.")]
    return Chain(parts) if any(map(accepts_args, own)) else module  # torch's take no graph


def parts_of(module: nn.Module) -> Iterator[nn.Module]:
    """Go through the parts of a chain, and of chains in it."""
    if type(module) in (nn.Sequential, Chain):
        for part in module.children():
            yield from parts_of(part)
    else:
        yield module


def check_keeps_input(name: str, *modules: nn.Module) -> None:
    """Raise ValueError if ``modules`` start by changing their input, which other maps get too."""
    for part in (part for module in modules for part in parts_of(module)):
        if getattr(part, "inplace", False):
            raise ValueError(
                f"{name} must not change its input in place, which other maps see, "
                f"got a {type(part).__name__} that does: make it with inplace=False"
            )
        if not isinstance(part, PASSES_ON):
            return


def channel_axis(element: nn.Module) -> int:
    """Return which axis of ``(B, *E)`` holds the channels: the last one for linear maps."""
    for part in parts_of(element):
        if (forward := getattr(kind_of(part), "forward", None)) in AXES:
            return 1 if AXES[forward] else -1
        if isinstance(part, SEQUENCE_LAYERS):
            return -1
    return 1


def twin(module: nn.Module, *, bias: bool = True, instead: str = "context=") -> nn.Module:
    """Return a freshly initialised copy of ``module``, trainable even if ``module`` is frozen.

    Raise ValueError naming a part without ``reset_parameters``, or whose weights that leaves
    unchanged (as with weight normalisation), and the argument to pass ``instead``.
    """
    if next(module.parameters(), None) is None:
        raise ValueError(
            f"element must have weights that a freshly initialised twin can draw anew, got "
            f"{type(module).__name__} without any: put it into a symsets.Sequential as it is, to "
            f"be applied to every element, or pass {instead} yourself"
        )
    copied = copy.deepcopy(module)
    for part in copied.modules():
        reset: Any = getattr(part, "reset_parameters", None)
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
    """Remove the bias of a single map, in place.

    A map made of several parts keeps its own, and so does one whose constructor has no ``bias``
    to turn off.
    """
    check_kind("what make returns", module, nn.Module, "module")
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


def channels(module: nn.Module, which: str) -> int | None:
    """Return the number of ``"in"`` or ``"out"`` channels of a map, if it can be read off."""
    parts = list(module.modules())
    for part in parts if which == "in" else [parts[0], *reversed(parts[1:])]:
        for word in ("channels", "features"):
            value = getattr(part, f"{which}_{word}", None)
            if isinstance(value, int) and value > 0:  # a lazy map does not know yet
                return value
    return None


class Chain(nn.Sequential):
    """Maps for single elements in turn; further arguments go to those that take them."""

    def _get_name(self) -> str:
        return "Sequential"

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        for part in self:
            x = part(x, *args) if args and accepts_args(part) else part(x)
        return x


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

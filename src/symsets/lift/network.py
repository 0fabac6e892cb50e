"""Turn a network for single elements into a network for sets."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.utils import parametrize
from torch.utils import _pytree as pytree

from symsets.lift.layers import (
    Binding,
    Bound,
    Gate,
    attach_message,
    is_lifted,
    message_names,
    uncalled,
)
from symsets.nn._explain import check_elements, explain
from symsets.nn._maps import min_axes, zero_init
from symsets.nn.attention import SetAttention
from symsets.nn.base import AdditiveSetLayer, SetModule
from symsets.nn.circular import CircularConv1d, CircularConv2d
from symsets.nn.dss import DSS
from symsets.nn.registry import Scheme, dss_pool, schemes
from symsets.nn.wreath import Wreath
from symsets.sets import RaggedSets, Sets, fold
from symsets.sets.pooling import check_size

__all__ = ["Lifted", "lift"]

LIFTABLE = (
    nn.Linear,
    nn.Conv1d,
    nn.Conv2d,
    nn.Conv3d,
    nn.ConvTranspose1d,
    nn.ConvTranspose2d,
    nn.ConvTranspose3d,
    CircularConv1d,
    CircularConv2d,
)
CLOSED = (nn.MultiheadAttention, SetModule)  # they call their insides in their own way
TRANSFORMER_LAYERS = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
Where = Callable[[str, nn.Module], bool] | Collection[str] | None
Messenger = Callable[[nn.Module], AdditiveSetLayer]


def lift(
    model: nn.Module, scheme: Scheme | str = "dss-sum", where: Where = None, *, size: float = 1.0
) -> Lifted:
    """Turn a network for single elements into a network for sets.

    The copy that is returned runs the model's own code, with all elements folded into the batch
    axis; residual sums, concatenations and functional calls keep working. Its convolutions and
    linear maps learn to look at the whole set. What they take from it starts at zero, so at first
    each element gets exactly what the original gave it. They learn it also where the original is
    frozen. Activation checkpointing, threads and ``torch.compile`` work as they do for the model.
    Layers whose weights the model reads without calling them get no message; the first call warns.

    Args:
        model: Any network that treats the rows of its batch one by one. It is not changed.
        scheme: ``"dss-sum"``, ``"dss-mean"``, ``"dss-max"``, ``"dss-median"``, ``"attention"``,
            ``"wreath"`` or ``"siamese"``. The others cannot start as the original.
        where: Which layers to lift: the names of some modules, or a function of a name and a
            module that picks among the convolutions and linear maps. All of these if left out.
            A named module may also be another map or a whole block.
        size: A constant that sums over a set are divided by, such as the set size of training.

    Example:
        >>> import torch
        >>> net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 5))
        >>> lifted = lift(net, scheme="dss-mean")
        >>> x = torch.randn(2, 6, 3, 8, 8)
        >>> torch.allclose(lifted(x)[1], net(x[1]), atol=1e-6)
        True
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a module, got {type(model).__name__}")
    if isinstance(model, Lifted):
        raise ValueError("model must be a network for single elements, got one lifted already")
    check_size(size)
    messenger = _messenger(scheme, size)
    copied = copy.deepcopy(model)
    binding = Binding()
    if messenger is None:
        return Lifted(copied, binding, scheme)
    messages = []  # all made before the first is attached: they are made of copies of layers
    for name, module in _chosen(copied, where).items():
        try:
            message = messenger(module)
        except ValueError as error:
            cause = str(error).partition(": ")[0]
            raise ValueError(
                f"layer {name!r} cannot be lifted ({cause}): leave it out with where="
            ) from error
        like = next(module.parameters())
        message.to(like.device, like.dtype).train(module.training).requires_grad_(True)
        messages.append((module, name, message))
    for each in messages:
        attach_message(*each, binding)
    return Lifted(copied, binding, scheme)


class Lifted(SetModule):
    """A network for sets that runs the code of a network for single elements.

    Made by :func:`lift`; ``model`` is the network inside. Further arguments reach it as they are:
    what differs from element to element comes as rows, one per element, as in ``y.flatten(0, 1)``.

    Shape:
        - x: ``(B, N, *E)`` or ragged.
        - output: that of the original, with ``(B, N)`` or ragged rows in place of its batch axis;
          also inside tuples, lists and dictionaries.
    """

    def __init__(self, model: nn.Module, binding: Binding, scheme: str) -> None:
        super().__init__()
        self.model = model
        self.scheme = scheme
        self.training = model.training
        self._binding = binding
        self._watched = False  # from the first call on
        self.min_axes = min_axes(model)

    def check_input(self, x: Sets) -> None:
        """Raise ValueError or TypeError unless the network takes the elements of ``x``."""
        check_elements(x, self.model, self)

    def extra_repr(self) -> str:
        """Show the scheme."""
        return f"scheme={self.scheme!r}"

    def forward(self, x: Sets, *args: Any, **kwargs: Any) -> Any:
        """Run the network on all elements of all sets."""
        if any(isinstance(arg, RaggedSets) for arg in (*args, *kwargs.values())):
            raise TypeError(
                "further arguments must be rows, one per element, got RaggedSets: pass its elements"
            )
        try:
            if x.ndim < self.min_axes:
                raise IndexError(f"x must have at least {self.min_axes} axes, got {x.ndim}")
            rows, unfold = fold(x)
            watch = not self._watched and not torch.compiler.is_compiling()
            bound = Bound(len(rows), unfold, called=set() if watch else None)
            with self._binding.active(bound):
                output = self.model(rows, *args, **kwargs)
        except Exception as error:
            explain(self.check_input, x, error)
            raise
        if bound.called is not None:
            self._watched = True
            self._name_start_at_zero(bound.called)
        return pytree.tree_map(lambda out: self._unfold(out, bound), output)

    def _name_start_at_zero(self, called: set[str]) -> None:
        """Warn of layers that the network does not call: they get no message."""
        if names := uncalled(self.model, self._binding, called):
            warnings.warn(
                f"this call did not reach the lifted layers {_shortened(names)}, so they get "
                "no message from the set: some networks read the weights of a layer instead. Leave "
                "them out with where=, or lift a block around them",
                stacklevel=2,
            )

    def _unfold(self, output: Any, bound: Bound) -> Any:
        if not isinstance(output, Tensor):
            return output
        self._binding.recall(output, bound)
        return bound.unfold(output) if output.shape[:1] == (bound.total,) else output

    def message_parameters(self) -> Iterator[nn.Parameter]:
        """Go through the parameters that lifting has added, all of which start out silent.

        Example:
            >>> lifted = lift(nn.Linear(3, 2), scheme="dss-mean")
            >>> [tuple(parameter.shape) for parameter in lifted.message_parameters()]
            [(2, 3)]
        """
        added = message_names(self.model, self._binding)
        return (p for name, p in self.model.named_parameters() if name in added)

    def load_element_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load the weights of the original network, by the names they have there."""
        own = self.model.state_dict().keys() - message_names(self.model, self._binding)
        unexpected, missing = sorted(state_dict.keys() - own), sorted(own - state_dict.keys())
        if missing or unexpected:
            raise ValueError(
                "state_dict must hold the weights of the original network, "
                f"got unexpected {_shortened(unexpected)} and missing {_shortened(missing)}"
            )
        self.model.load_state_dict(state_dict, strict=False)


def _shortened(names: list[str]) -> str:
    return str(names) if len(names) < 4 else f"{str(names[:3])[:-1]}, … {len(names) - 3} more]"


def _messenger(scheme: str, size: float) -> Messenger | None:
    """Return what makes the message of a layer, starting at zero."""
    if scheme == "siamese":
        return None
    if scheme == "attention":
        return lambda module: _start_at_zero(SetAttention(module), "value")
    if scheme == "wreath":
        return lambda module: _start_at_zero(
            Wreath(module, size=size, channel_axis=-1 if isinstance(module, nn.Linear) else 1)
        )
    if pool := dss_pool(str(scheme)):
        return lambda module: _start_at_zero(DSS(module, pool=pool, size=size), "context")
    if scheme in schemes():
        raise ValueError(
            f"scheme must be able to start as the original network, which {scheme!r} cannot: "
            "use dss-sum, dss-mean, dss-max, dss-median, attention, wreath or siamese"
        )
    raise ValueError(
        f"scheme must be one of {schemes()} (or dss-power2, dss-power3, …), got {scheme!r}"
    )


def _start_at_zero(layer: AdditiveSetLayer, part: str | None = None) -> AdditiveSetLayer:
    """Drop the element map, which is the lifted layer itself, and let the message start at zero.

    Args:
        layer: What makes the message.
        part: The name of the map that ends it; all of ``layer`` if left out.
    """
    # A derived class may be no linear map of its weights, if it standardises them, say.
    is_linear = type(layer.element) in LIFTABLE
    layer.element = nn.Identity()
    if part is None:
        zero_init(layer)
    elif is_linear:
        zero_init(layer.get_submodule(part))
    else:  # with all its weights at zero, a block of several layers would never learn
        setattr(layer, part, Gate(layer.get_submodule(part)))
    return layer


def _chosen(model: nn.Module, where: Where) -> dict[str, nn.Module]:
    """Return the modules to lift by name; a module with several names appears once."""
    modules = dict(model.named_modules(remove_duplicate=False))
    closed = _insides(modules, CLOSED)
    chosen: dict[str, nn.Module]
    if isinstance(where, type):
        raise TypeError(
            f"where must be a list of names or a function of a name and a module, got the class "
            f"{where.__name__}: say lambda name, module: isinstance(module, {where.__name__})"
        )
    if where is None or callable(where):
        chosen = {
            name: module
            for name, module in model.named_modules()
            if isinstance(module, LIFTABLE)
            and module not in closed
            and (where is None or where(name, module))
        }
    else:
        chosen = _named(modules, where)
    if not chosen:
        raise ValueError(
            "model must have a convolution or linear map that can be lifted, "
            f"got {type(model).__name__} without one"
            f"{'' if where is None else ' that where= picks'}"
        )
    for name, module in chosen.items():
        if problem := _problem(module, closed):
            raise ValueError(f"layer {name!r} cannot be lifted: {problem}")
    _open_transformers(modules, set(chosen.values()))
    return chosen


def _named(modules: dict[str, nn.Module], names: Collection[str]) -> dict[str, nn.Module]:
    if isinstance(names, str):
        raise TypeError(f"where must be a list of names or a function, got the string {names!r}")
    if not isinstance(names, Collection):
        raise TypeError(f"where must be a list of names or a function, got {names!r}")
    if unknown := [name for name in names if name not in modules]:
        raise ValueError(f"where must name modules of the network, got {unknown}")
    first = {modules[name]: name for name in reversed(list(names))}
    return {name: modules[name] for name in names if first[modules[name]] == name}


def _insides(modules: dict[str, nn.Module], kinds: tuple[type, ...]) -> set[nn.Module]:
    """Return all modules inside modules of some kinds, and these themselves."""
    outer = [module for module in modules.values() if isinstance(module, kinds)]
    return {inner for module in outer for inner in module.modules()}


def _problem(module: nn.Module, closed: set[nn.Module]) -> str | None:
    """Say why a module cannot be lifted, if so."""
    if is_lifted(module):
        return "it is lifted already"
    if module in closed:
        return "it is, or is inside, a set module or nn.MultiheadAttention"
    if "forward" in vars(module):
        return "it has a forward of its own beside that of its class, which would be called instead"
    if isinstance(module, LazyModuleMixin) and module.has_uninitialized_params():
        return "it must know its shape, so run the network once first"
    if isinstance(module, nn.Sequential | nn.ModuleList | nn.ModuleDict):
        return "it is a container, so name layers inside it"
    if parametrize.is_parametrized(module):
        return "it is parametrised (weight normalisation?), so leave it out with where="
    if next(module.parameters(), None) is None:
        return "it has no parameters, so there is nothing to learn"
    return None


def _open_transformers(modules: dict[str, nn.Module], chosen: set[nn.Module]) -> None:
    """Make torch's transformer layers call their linear maps, also in evaluation."""
    for name, module in modules.items():
        if chosen.isdisjoint(module.modules()):
            continue
        if isinstance(module, TRANSFORMER_LAYERS):
            if not module.self_attn.batch_first:
                raise ValueError(
                    f"layer {name!r} must have batch_first=True, so that rows are elements; "
                    "or leave it out with where="
                )
            # A fused kernel would read the weights and pass the lifted layers by.
            module.activation_relu_or_gelu = 0
        if isinstance(module, nn.TransformerEncoder):
            module.use_nested_tensor = False  # nested tensors are for that kernel only

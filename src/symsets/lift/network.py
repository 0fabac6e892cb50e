"""Turn a network for single elements into a network for sets."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize
from torch.utils import _pytree as pytree

from symsets._checks import check_kind, check_number, shown
from symsets.lift.layers import (
    CurrentBatch,
    Gate,
    LiftedLayer,
    SetBatch,
    attach_message,
    lifted_layers,
)
from symsets.nn._explain import check_elements, explained
from symsets.nn._maps import MAPS, min_axes
from symsets.nn.attention import SetAttention
from symsets.nn.base import AdditiveSetLayer, SetModule
from symsets.nn.circular import CircularConv1d, CircularConv2d
from symsets.nn.dss import DSS
from symsets.nn.induced import InducedAttention
from symsets.nn.registry import Scheme, dss_pool, schemes
from symsets.nn.wreath import Wreath
from symsets.sets import Sets, fold

LIFTABLE: tuple[type[nn.Module], ...] = (*MAPS, CircularConv1d, CircularConv2d)
CLOSED = (nn.MultiheadAttention, SetModule)  # layers inside do not get one row per element
TRANSFORMER_LAYERS = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
LIFTING_SCHEMES = ("attention", "isab", "wreath", "siamese")  # and all dss
PLAIN = (bool, int, float, complex, str, type(None))  # what a network may return beside tensors
Where = Callable[[str, nn.Module], bool] | Collection[str] | None


def lift(
    model: nn.Module, scheme: Scheme | str = "dss-sum", where: Where = None, *, size: float = 1.0
) -> Lifted:
    """Turn a network for single elements into a network for sets.

    The copy that is returned runs the model's own code, with all elements folded into the batch
    axis; residual sums, concatenations and functional calls keep working. Its convolutions and
    linear maps get a message from the whole set. It starts at zero, so at first each element gets
    exactly what the original gave it. Messages learn also where the original is frozen. Activation
    checkpointing, threads and ``torch.compile`` work as they do for the model. Layers whose weights
    the model reads without calling them get no message; the first call warns.

    Args:
        model: Any network that treats the rows of its batch one by one. It is not changed.
        scheme: ``"dss-sum"``, ``"dss-mean"``, ``"dss-max"``, ``"dss-median"``, ``"attention"``,
            ``"isab"``, ``"wreath"`` or ``"siamese"``. The others cannot start as the original.
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
    check_kind("model", model, nn.Module, "module")
    if isinstance(model, Lifted):
        raise ValueError("model must be a network for single elements, got one lifted already")
    check_number("size", size, zero=False)
    allowed = [s for s in schemes() if s in LIFTING_SCHEMES or dss_pool(s)]
    if scheme not in allowed and not dss_pool(str(scheme)):
        raise ValueError(
            f"scheme must be one of {allowed} (or dss-power2, dss-power3, …), which can start as "
            f"the original network, got {shown(scheme)}"
        )
    copied, current = copy.deepcopy(model), CurrentBatch()
    chosen = {} if scheme == "siamese" else _chosen(copied, where)
    _disable_fused_transformers(copied, chosen.values())
    messages = {}  # all made before the first is attached: they are made of copies of layers
    for name, module in chosen.items():
        try:
            messages[name] = _message(module, scheme, size)
        except (ValueError, TypeError) as error:
            cause = str(error).partition(": ")[0]
            raise ValueError(
                f"layer {name!r} cannot be lifted ({cause}): leave it out with where="
            ) from error
    for name, module in chosen.items():
        attach_message(module, name, messages[name], current)
    return Lifted(copied, current, scheme, size)


class Lifted(SetModule):
    """A network for sets that runs the code of a network for single elements.

    Made by :func:`lift`; ``model`` is the network inside. Further arguments reach it as they are:
    what differs from element to element comes as rows, one per element, as in ``y.flatten(0, 1)``.

    Shape:
        - x: ``(B, N, *E)`` or ragged.
        - output: that of the original, with ``(B, N)`` or ragged rows in place of its batch axis;
          also inside tuples, lists and dictionaries.
    """

    def __init__(self, model: nn.Module, current: CurrentBatch, scheme: str, size: float) -> None:
        super().__init__()
        self.model = model
        self.scheme = scheme
        self.size = size
        self.training = model.training
        self._current = current
        self._called_before = False
        self.min_axes = min_axes(model)

    def check_input(self, x: Sets) -> None:
        check_elements(x, self.model, self)

    def extra_repr(self) -> str:
        return f"scheme={self.scheme!r}"

    @explained
    def forward(self, x: Sets, *args: Any, **kwargs: Any) -> Any:
        """Run the network on all elements of all sets."""
        rows, unfold = fold(x)
        is_first = not self._called_before and not torch.compiler.is_compiling()
        total = rows.shape[0] if isinstance(rows, Tensor) else len(rows)
        batch = SetBatch(total, unfold, called=set() if is_first else None)
        with self._current.set(batch):
            output = self.model(rows, *args, **kwargs)
        if batch.called is not None:
            self._called_before = True
            self._warn_of_uncalled(batch.called)
        return pytree.tree_map(lambda out: self._unfold(out, batch), output)

    def _warn_of_uncalled(self, called: set[str]) -> None:
        names = dict.fromkeys(layer._name for _, layer in lifted_layers(self.model, self._current))
        if uncalled := [name for name in names if name not in called]:
            warnings.warn(
                f"this call did not reach the lifted layers {_shortened(uncalled)}, so they get "
                "no message from the set: some networks read the weights of a layer instead. Leave "
                "them out with where=, or lift a block around them",
                stacklevel=2,
            )

    def _unfold(self, output: Any, batch: SetBatch) -> Any:
        if not isinstance(output, Tensor):
            if not isinstance(output, PLAIN):
                raise TypeError(
                    "the network must return tensors, or tuples, lists or dictionaries of them, "
                    f"got {type(output).__name__}, in which no set axis can be put back"
                )
            return output
        self._current.set_in_backward(output, batch)
        return batch.unfold(output) if output.shape[:1] == (batch.total,) else output

    def _message_names(self) -> set[str]:
        """Return the names of all state that lifting has added to the model."""
        return {
            key
            for name, layer in lifted_layers(self.model, self._current)
            for key in layer.message.state_dict(prefix=f"{name}.message.".lstrip("."))
        }

    def message_parameters(self) -> Iterator[nn.Parameter]:
        """Go through the parameters that lifting has added; messages are zero at first.

        Example:
            >>> lifted = lift(nn.Linear(3, 2), scheme="dss-mean")
            >>> [tuple(parameter.shape) for parameter in lifted.message_parameters()]
            [(2, 3)]
        """
        added = self._message_names()
        return (p for name, p in self.model.named_parameters() if name in added)

    def load_element_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load the weights of the original network, by the names they have there."""
        own = self.model.state_dict().keys() - self._message_names()
        unexpected, missing = sorted(state_dict.keys() - own), sorted(own - state_dict.keys())
        if missing or unexpected:
            raise ValueError(
                "state_dict must hold the weights of the original network, "
                f"got unexpected {_shortened(unexpected)} and missing {_shortened(missing)}"
            )
        self.model.load_state_dict(state_dict, strict=False)


def _shortened(names: list[str]) -> str:
    return str(names) if len(names) < 4 else f"{str(names[:3])[:-1]}, … {len(names) - 3} more]"


def _message(module: nn.Module, scheme: str, size: float) -> AdditiveSetLayer:
    """Make the message of a layer, starting at zero."""
    layer: AdditiveSetLayer
    axis = -1 if isinstance(module, nn.Linear) else 1
    if scheme == "wreath":
        layer, last = Wreath(module, size=size, channel_axis=axis), None
    elif pool := dss_pool(scheme):
        layer, last = DSS(module, pool=pool, size=size), "context"
    elif scheme == "isab":
        layer, last = InducedAttention(module, channel_axis=axis), "value"
    else:
        layer, last = SetAttention(module), "value"
    layer.element = nn.Identity()  # the lifted layer itself is the element map
    if last is None or type(module) in LIFTABLE:
        for parameter in layer.get_submodule(last or "").parameters():
            nn.init.zeros_(parameter)
    else:
        # With all its weights at zero a block would never learn, and a derived class that
        # standardises its weights would not return zero.
        setattr(layer, last, Gate(layer.get_submodule(last)))
    like = next(module.parameters())
    return layer.to(like.device, like.dtype).train(module.training).requires_grad_(True)


def _chosen(model: nn.Module, where: Where) -> dict[str, nn.Module]:
    """Return the modules to lift by name; a module with several names appears once."""
    modules = dict(model.named_modules(remove_duplicate=False))
    closed = {
        inner
        for module in modules.values()
        if isinstance(module, CLOSED)
        for inner in module.modules()
    }
    chosen: dict[str, nn.Module]
    if where is None or callable(where):
        chosen = {
            name: module
            for name, module in model.named_modules()
            if isinstance(module, LIFTABLE)
            and module not in closed
            and (where is None or where(name, module))
        }
    else:
        if isinstance(where, str):
            raise TypeError(f"where must be a list of names, got {where!r}")
        where = list(where)
        if unknown := [name for name in where if name not in modules]:
            raise ValueError(f"where must name modules of the network, got {shown(unknown)}")
        names = {modules[name]: name for name in reversed(where)}  # the first name of each
        chosen = {name: module for module, name in reversed(names.items())}
    if not chosen:
        raise ValueError(
            "model must have a convolution or linear map that can be lifted, "
            f"got {type(model).__name__} without one"
            f"{'' if where is None else ' that where= picks'}"
        )
    for name, module in chosen.items():
        if problem := _problem(module, closed):
            raise ValueError(f"layer {name!r} cannot be lifted: {problem}")
    return chosen


def _problem(module: nn.Module, closed: set[nn.Module]) -> str | None:
    """Return why a module cannot be lifted, or None if it can."""
    if isinstance(module, LiftedLayer):
        return "it is lifted already"
    if module in closed:
        return "it is, or is inside, a set module or nn.MultiheadAttention"
    if "forward" in vars(module):
        return "it has a forward of its own beside that of its class, which would be called instead"
    if any(nn.parameter.is_lazy(parameter) for parameter in module.parameters()):
        return "it must know its shape, so run the network once first"
    if isinstance(module, nn.Sequential | nn.ModuleList | nn.ModuleDict):
        return "it is a container, so name layers inside it"
    if parametrize.is_parametrized(module):
        return "it is parametrised (weight normalisation?), so leave it out with where="
    if next(module.parameters(), None) is None:
        return "it has no parameters, so there is nothing to learn"
    return None


def _disable_fused_transformers(model: nn.Module, chosen: Collection[nn.Module]) -> None:
    """Make torch's transformer layers call their linear maps, also in evaluation."""
    for name, module in model.named_modules():
        if set(chosen).isdisjoint(module.modules()):
            continue
        if isinstance(module, TRANSFORMER_LAYERS):
            if not module.self_attn.batch_first:
                raise ValueError(
                    f"layer {name!r} must have batch_first=True, so that rows are elements; "
                    "or leave it out with where="
                )
            # The fused kernel reads the weights and never calls the lifted layers.
            module.activation_relu_or_gelu = 0
        if isinstance(module, nn.TransformerEncoder):
            module.use_nested_tensor = False  # nested tensors are for that kernel only

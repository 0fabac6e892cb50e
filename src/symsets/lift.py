"""Turn a network for single elements into a network for sets."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.utils import _pytree as pytree

from symsets._lifted import Binding, Bound, Rebind, add_hearing
from symsets.nn._parts import zeroed
from symsets.nn.attention import SetAttention
from symsets.nn.base import AdditiveSetLayer, SetModule
from symsets.nn.circular import CircularConv1d, CircularConv2d
from symsets.nn.dss import DSS
from symsets.nn.registry import schemes
from symsets.nn.wreath import Wreath
from symsets.sets import Sets, fold, power_degree

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
TRANSFORMER_LAYERS = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
Where = Callable[[str, nn.Module], bool] | Collection[str] | None
Messenger = Callable[[nn.Module], AdditiveSetLayer]


def lift(
    model: nn.Module, scheme: str = "dss-sum", where: Where = None, *, size: float = 1.0
) -> Lifted:
    """Turn a network for single elements into a network for sets.

    The copy that is returned runs the model's own code, with all elements folded into the batch
    axis; residual sums, concatenations and functional calls keep working. Its convolutions and
    linear maps learn to look at the whole set. What they take from it starts at zero, so at first
    each element gets exactly what the original gave it.

    Args:
        model: Any network that treats the rows of its batch one by one. It is not changed.
        scheme: ``"dss-sum"``, ``"dss-mean"``, ``"dss-max"``, ``"dss-median"``, ``"attention"``,
            ``"wreath"`` or ``"siamese"``. The others cannot start as the original.
        where: Which layers to lift: the names of some modules, or a function of a name and a
            module that picks among the convolutions and linear maps. All of these if left out.
        size: A constant that sums over a set are divided by, such as the set size of training.

    Example:
        >>> net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 5))
        >>> lifted = lift(net, scheme="dss-mean")
        >>> x = torch.randn(2, 6, 3, 8, 8)
        >>> torch.allclose(lifted(x)[1], net(x[1]), atol=1e-6)
        True
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a module, got {type(model).__name__}")
    messenger = _messenger(scheme, size)
    copied = copy.deepcopy(model)
    binding = Binding()
    for name, module in _chosen(copied, where).items():
        if messenger is None:
            break
        try:
            message = messenger(module)
        except ValueError as error:
            raise ValueError(
                f"layer {name!r} cannot be lifted ({error}): leave it out with where="
            ) from error
        add_hearing(module, name, message.to(next(module.parameters()).device), binding)
    return Lifted(copied, binding, scheme)


class Lifted(SetModule):
    """A network for sets that runs the code of a network for single elements.

    Made by :func:`lift`; ``model`` is the network inside.

    Shape:
        - x: ``(B, N, *E)`` or ragged.
        - output: that of the original, with ``(B, N)`` or ragged rows in place of its batch axis.
    """

    def __init__(self, model: nn.Module, binding: Binding, scheme: str) -> None:
        super().__init__()
        self.model = model
        self.scheme = scheme
        self._binding = binding

    def extra_repr(self) -> str:
        """Show the scheme."""
        return f"scheme={self.scheme!r}"

    def forward(self, x: Sets, *args: Any, **kwargs: Any) -> Any:
        """Run the network on all elements of all sets."""
        rows, unfold = fold(x)
        bound = Bound(len(rows), unfold)
        with self._binding.active(bound):
            output = self.model(rows, *args, **kwargs)
        return pytree.tree_map(lambda out: self._unfold(out, bound), output)

    def _unfold(self, output: Any, bound: Bound) -> Any:
        if not isinstance(output, Tensor) or output.ndim == 0 or len(output) != bound.total:
            return output
        if output.requires_grad and not torch.compiler.is_compiling():
            output = Rebind.apply(output, self._binding, bound)  # type: ignore[no-untyped-call]
        return bound.unfold(output)

    def load_element_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load the weights of the original network, by the names they have there."""
        missing, unexpected = self.model.load_state_dict(state_dict, strict=False)
        missing = [name for name in missing if ".message." not in f".{name}"]
        if missing or unexpected:
            raise ValueError(
                "state_dict must hold the weights of the original network, "
                f"got unexpected {unexpected} and missing {missing}"
            )


def _messenger(scheme: str, size: float) -> Messenger | None:
    """Return what makes the message of a layer, starting at zero."""
    pool = str(scheme).removeprefix("dss-")
    if scheme == "siamese":
        return None
    if scheme == "attention":
        return lambda module: _silent(layer := SetAttention(module), layer.value)
    if scheme == "wreath":
        return lambda module: _silent(
            Wreath(module, size=size, channel_axis=-1 if isinstance(module, nn.Linear) else 1)
        )
    if scheme.startswith("dss-") and (scheme in schemes() or power_degree(pool)):
        return lambda module: _silent(layer := DSS(module, pool=pool, size=size), layer.context)
    if scheme in schemes():
        raise ValueError(
            f"scheme must be able to start as the original network, which {scheme!r} cannot: "
            "use dss-sum, dss-mean, dss-max, dss-median, attention, wreath or siamese"
        )
    raise ValueError(f"scheme must be one of {schemes()}, got {scheme!r}")


def _silent(layer: AdditiveSetLayer, voice: nn.Module | None = None) -> AdditiveSetLayer:
    """Drop the element map, which is the lifted layer itself, and silence the message."""
    layer.element = nn.Identity()
    zeroed(voice or layer)
    return layer


def _chosen(model: nn.Module, where: Where) -> dict[str, nn.Module]:
    """Return the modules to lift by name; a module with several names appears once."""
    modules = dict(model.named_modules())
    if where is not None and not callable(where):
        if unknown := [name for name in where if name not in modules]:
            raise ValueError(f"where must name modules of the network, got {unknown}")
        chosen = {name: modules[name] for name in where}
    else:
        closed = _insides(modules, (nn.MultiheadAttention, SetModule))
        chosen = {
            name: module
            for name, module in modules.items()
            if isinstance(module, LIFTABLE)
            and name not in closed
            and (where is None or where(name, module))
        }
    if not chosen:
        raise ValueError(
            "model must have a convolution or linear map that can be lifted, "
            f"got {type(model).__name__} without one{' that where= picks' if where else ''}"
        )
    for name, module in chosen.items():
        if isinstance(module, LazyModuleMixin):
            raise ValueError(f"layer {name!r} must know its shape: run the network once first")
    _open_transformers(modules, chosen)
    return chosen


def _insides(modules: dict[str, nn.Module], kinds: tuple[type, ...]) -> set[str]:
    """Return the names of all modules inside modules of some kinds."""
    outer = [name for name, module in modules.items() if isinstance(module, kinds)]
    prefixes = tuple(f"{name}." if name else "" for name in outer)
    return {name for name in modules if name not in outer and name.startswith(prefixes)}


def _open_transformers(modules: dict[str, nn.Module], chosen: dict[str, nn.Module]) -> None:
    """Make torch's transformer layers call their linear maps, also in evaluation."""
    for name, module in modules.items():
        if not isinstance(module, TRANSFORMER_LAYERS):
            continue
        if not any(picked.startswith(f"{name}." if name else "") for picked in chosen):
            continue
        if not module.self_attn.batch_first:
            raise ValueError(
                f"layer {name!r} must have batch_first=True, so that rows are elements; "
                "or leave it out with where="
            )
        # A fused kernel would read the weights and pass the lifted layers by.
        module.activation_relu_or_gelu = 0

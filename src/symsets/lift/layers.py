"""How a layer inside a network for single elements gets a message from the whole set.

A lifted layer keeps its class, its parameters and their names; a subclass made on the fly adds a
message to what it returns. Inside the network all elements are rows of one batch. The layer learns
which rows form a set from the binding that it shares with the network it belongs to.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from symsets.nn._explain import check_rows, explain
from symsets.nn.base import AdditiveSetLayer
from symsets.sets import RaggedSets, add_to_elements

__all__ = ["Binding", "Bound", "Gate", "attach_message", "is_lifted", "message_names", "uncalled"]

if TYPE_CHECKING:
    _Layer = nn.Module
else:
    _Layer = object


class Bound(NamedTuple):
    """The batch of sets that a lifted network is working on.

    Attributes:
        total: The number of elements.
        unfold: Makes sets of rows.
        called: Collects the names of lifted layers that are called, if wanted.
    """

    total: int
    unfold: Callable[[Any], Any]
    called: set[str] | None = None


class Binding:
    """What connects the layers of one lifted network to the sets it is working on.

    Each thread has its own. When activations are recomputed during the backward pass, the forward
    call is long over: :meth:`recall` has its sets bound anew before any of its layers runs.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def __deepcopy__(self, memo: dict[int, Any]) -> Binding:
        return Binding()

    def __reduce__(self) -> tuple[type[Binding], tuple[()]]:
        return Binding, ()

    @contextmanager
    def active(self, bound: Bound) -> Iterator[None]:
        """Bind ``bound`` while the network runs; the bindings of nested calls pile up."""
        before = getattr(self._local, "bound", None)
        self._local.bound = bound
        try:
            yield
        finally:
            self._local.bound = before

    def recall(self, output: Tensor, bound: Bound) -> None:
        """Bind ``bound`` again as soon as the backward pass comes to ``output``.

        The backward pass enters the network through its outputs, and finishes one call before it
        comes to an earlier one, so recomputed layers always see the sets of their own call.
        """
        if not torch.compiler.is_compiling() and output.grad_fn is not None:
            output.grad_fn.register_prehook(lambda grads: self._rebind(bound))

    def _rebind(self, bound: Bound) -> None:
        self._local.recomputed = bound
        # At the end of the backward pass nothing is recomputed any more.
        torch.autograd.Variable._execution_engine.queue_callback(self._forget)

    def _forget(self) -> None:
        self._local.recomputed = None

    @property
    def current(self) -> Bound | None:
        """The sets that the network works on in this thread."""
        bound: Bound | None = getattr(self._local, "bound", None)
        return bound if bound is not None else getattr(self._local, "recomputed", None)


class Gate(nn.Module):
    """Scale what a map returns by a learned number that starts at zero.

    Args:
        map: The map.

    Example:
        >>> Gate(nn.Linear(2, 3))(torch.ones(1, 2)).abs().tolist()
        [[0.0, 0.0, 0.0]]
    """

    def __init__(self, map: nn.Module) -> None:
        super().__init__()
        self.map = map
        self.scale = nn.Parameter(torch.zeros(()))

    def forward(self, *args: Any) -> Tensor:
        """Apply the map and scale."""
        return self.map(*args) * self.scale


class LiftedLayer(_Layer):
    """Mixed into the class of a layer: adds the message of the set to what the layer returns."""

    message: AdditiveSetLayer
    lifted: type[nn.Module]
    _binding: Binding
    _name: str
    _takes: list[tuple[str, Any]]

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        """Apply the layer to all rows and add the message of their sets."""
        bound = self._binding.current
        if bound is None:
            raise RuntimeError(
                f"layer {self._name!r} belongs to a lifted network: call the network, not the layer"
            )
        if bound.called is not None:
            bound.called.add(self._name)
        x, *extra = self._in_order(args, kwargs)
        if x.shape[0] != bound.total:
            raise ValueError(
                f"layer {self._name!r} must get one row per element, {bound.total}, got "
                f"{x.shape[0]} (windows or tokens folded into the batch?): leave it out with where="
            )
        try:
            # The message first: a layer may change what it gets in place.
            message = self.message.message(bound.unfold(x), *extra)
            own = bound.unfold(super().forward(*args, **kwargs))
            total = add_to_elements(own, message, self.message.channel_axis)
        except Exception as error:
            explain(lambda rows: check_rows(rows, self, self._name), x, error)
            raise
        return total.elements if isinstance(total, RaggedSets) else total.flatten(0, 1)

    def _in_order(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments in the order of the layer's signature: messages know no names."""
        if not kwargs:
            return args
        named = dict(kwargs)
        rest = [named.pop(name, default) for name, default in self._takes[len(args) :]]
        if named:
            raise TypeError(
                f"layer {self._name!r} must be able to take its arguments by position, got "
                f"{sorted(named)} by name only: leave it out with where="
            )
        return *args, *rest

    def extra_repr(self) -> str:
        """Show the formula."""
        inner = self.message.formula.removeprefix("element(x_i) + ")
        return ", ".join(filter(None, [super().extra_repr(), f"+ {inner}"]))

    def __reduce_ex__(self, protocol: Any) -> Any:
        # A class may have its own way to keep its state: one that is parametrised refuses.
        return _restore, (self.lifted,), self.__getstate__()  # type: ignore[no-untyped-call]


_CLASSES: dict[type[nn.Module], type[nn.Module]] = {}


def _lifted_class(base: type[nn.Module]) -> type[nn.Module]:
    if base not in _CLASSES:
        own = {"lifted": base, "_takes": _positional(base.forward)}
        _CLASSES[base] = type(f"Lifted{base.__name__}", (LiftedLayer, base), own)
    return _CLASSES[base]


def _positional(forward: Callable[..., Any]) -> list[tuple[str, Any]]:
    """Return the arguments beside ``self`` that have a place, and what they are if left out."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = list(inspect.signature(forward).parameters.values())[1:]
    return [(p.name, p.default) for p in parameters if p.kind in kinds]


def _restore(base: type[nn.Module]) -> nn.Module:
    cls = _lifted_class(base)
    return cls.__new__(cls)


def attach_message(
    module: nn.Module, name: str, message: AdditiveSetLayer, binding: Binding
) -> None:
    """Lift ``module`` in place."""
    module.__class__ = _lifted_class(type(module))
    module.message = message
    module.__dict__.update(_binding=binding, _name=name)


def is_lifted(module: nn.Module) -> bool:
    """Whether ``module`` is lifted already."""
    return isinstance(module, LiftedLayer)


def message_names(model: nn.Module, binding: Binding) -> set[str]:
    """Return the names of all state that lifting has added to ``model``."""
    return {
        key
        for name, layer in _lifted_layers(model, binding)
        for key in layer.message.state_dict(prefix=f"{name}.message.".lstrip("."))
    }


def uncalled(model: nn.Module, binding: Binding, called: set[str]) -> list[str]:
    """Return the names of lifted layers that are not among those ``called``."""
    names = (layer._name for _, layer in _lifted_layers(model, binding))
    return [name for name in dict.fromkeys(names) if name not in called]


def _lifted_layers(model: nn.Module, binding: Binding) -> Iterator[tuple[str, LiftedLayer]]:
    """Go through the layers that ``binding`` serves, by all their names."""
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, LiftedLayer) and module._binding is binding:
            yield name, module

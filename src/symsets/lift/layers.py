"""Layers inside a lifted network, which get a message from the set.

A lifted layer keeps its class, its parameters and their names; a subclass made for it adds a
message from the set to what it returns. Inside the network all elements are rows of one batch. The
layer asks a :class:`CurrentBatch`, which all layers of the network share, which rows form a set.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from symsets.nn._explain import TORCHS, check_rows, explain
from symsets.nn.base import AdditiveSetLayer
from symsets.sets import RaggedSets, add_to_elements

if TYPE_CHECKING:
    _Layer = nn.Module
else:
    _Layer = object


@dataclass(eq=False)
class SetBatch:
    """The batch of sets of one call of a lifted network.

    Attributes:
        total: The number of elements.
        unfold: Makes sets of rows.
        called: Collects the names of lifted layers that are called, unless None.
    """

    total: int
    unfold: Callable[[Any], Any]
    called: set[str] | None = None


_signature = cache(inspect.signature)


class CurrentBatch:
    """The batch that a lifted network is working on in this thread."""

    def __init__(self) -> None:
        self._local = threading.local()

    def __reduce__(self) -> tuple[type[CurrentBatch], tuple[()]]:
        return CurrentBatch, ()  # a copy, or what a file holds, works on nothing yet

    @contextmanager
    def set(self, batch: SetBatch) -> Iterator[None]:
        """Make ``batch`` the current one; calls may be nested."""
        before = getattr(self._local, "batch", None)
        self._local.batch = batch
        try:
            yield
        finally:
            self._local.batch = before

    def set_in_backward(self, output: Tensor, batch: SetBatch) -> None:
        """Make ``batch`` current as soon as the backward pass reaches ``output``.

        Activation checkpoints run layers again in the backward pass. It enters the network through
        its outputs, and finishes one call before it reaches an earlier one, so layers that run
        again always get the batch of their own call.
        """
        if not torch.compiler.is_compiling() and output.grad_fn is not None:
            output.grad_fn.register_prehook(lambda grads: self._remember(batch))

    def _remember(self, batch: SetBatch) -> None:
        self._local.in_backward = batch
        # At the end of the backward pass no layer runs again.
        torch.autograd.Variable._execution_engine.queue_callback(self._forget)

    def _forget(self) -> None:
        self._local.in_backward = None

    def get(self) -> SetBatch | None:
        """Return the current batch, or None if the network is not running."""
        batch: SetBatch | None = getattr(self._local, "batch", None)
        if batch is None:
            batch = getattr(self._local, "in_backward", None)
        return batch


class Gate(nn.Module):
    """Scale what a map returns by a learned number that starts at zero."""

    def __init__(self, map: nn.Module) -> None:
        super().__init__()
        self.map = map
        self.scale = nn.Parameter(torch.zeros(()))

    def forward(self, *args: Any) -> Tensor:
        return self.map(*args) * self.scale


class LiftedLayer(_Layer):
    """Mixed into the class of a layer: adds a message from the set to what the layer returns."""

    message: AdditiveSetLayer
    lifted: type[nn.Module]
    _current: CurrentBatch
    _name: str

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        """Apply the layer to all rows and add the messages from their sets."""
        batch = self._current.get()
        if batch is None:
            raise RuntimeError(
                f"layer {self._name!r} belongs to a lifted network: call the network, not the layer"
            )
        if batch.called is not None:
            batch.called.add(self._name)
        x, *extra = self._by_position(args, kwargs)
        if x.shape[0] != batch.total:
            raise ValueError(
                f"layer {self._name!r} must get one row per element, {batch.total}, got "
                f"{x.shape[0]} (windows or tokens folded into the batch?): leave it out with where="
            )
        try:
            message = self.message.message(batch.unfold(x), *extra)  # before x changes in place
            own = batch.unfold(super().forward(*args, **kwargs))
            total = add_to_elements(own, message, self.message.channel_axis)
        except TORCHS as error:
            explain(lambda rows: check_rows(rows, self, self._name), x, error)
            raise
        return total.elements if isinstance(total, RaggedSets) else total.flatten(0, 1)

    def _by_position(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments by position, as messages take them."""
        if not kwargs:
            return args
        bound = _signature(self.lifted.forward).bind(self, *args, **kwargs)
        bound.apply_defaults()
        if by_name := sorted(kwargs.keys() & bound.kwargs.keys()):
            raise TypeError(
                f"layer {self._name!r} must be able to take its arguments by position, got "
                f"{by_name} by name only: leave it out with where="
            )
        return bound.args[1:]

    def extra_repr(self) -> str:
        """Show the formula."""
        inner = self.message.formula.removeprefix("element(x_i) + ")
        return ", ".join(filter(None, [super().extra_repr(), f"+ {inner}"]))

    def __reduce_ex__(self, protocol: Any) -> Any:
        # __getstate__ is the layer's own: that of a parametrised layer raises.
        return _restore, (self.lifted,), self.__getstate__()  # type: ignore[no-untyped-call]


_CLASSES: dict[type[nn.Module], type[nn.Module]] = {}


def _lifted_class(base: type[nn.Module]) -> type[nn.Module]:
    if base in _CLASSES:
        return _CLASSES[base]
    made = type(f"Lifted{base.__name__}", (LiftedLayer, base), {"lifted": base})
    return _CLASSES.setdefault(base, made)


def _restore(base: type[nn.Module]) -> nn.Module:
    cls = _lifted_class(base)
    return cls.__new__(cls)


def attach_message(
    module: nn.Module, name: str, message: AdditiveSetLayer, current: CurrentBatch
) -> None:
    """Lift ``module`` in place."""
    module.__class__ = _lifted_class(type(module))
    module.message = message
    module.__dict__.update(_current=current, _name=name)


def lifted_layers(model: nn.Module, current: CurrentBatch) -> Iterator[tuple[str, LiftedLayer]]:
    """Go through the layers of the network that ``current`` belongs to, by all their names."""
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, LiftedLayer) and module._current is current:
            yield name, module

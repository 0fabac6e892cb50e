"""Chains of set layers and ordinary modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, Self

from torch import nn

from symsets.nn._explain import TORCHS, check_elements, explain, explain_refusal
from symsets.nn._maps import accepts_args, min_axes
from symsets.nn.base import SetModule
from symsets.sets import map_elements


def takes_sets(module: nn.Module) -> bool:
    """Whether ``module`` works on sets: it is, or has inside, a set module."""
    return any(isinstance(part, SetModule) for part in module.modules())


class _Step(NamedTuple):
    """How one module of a chain is called."""

    takes_sets: bool  # it gets whole sets
    accepts_args: bool  # and further arguments
    returns_sets: bool  # unless the module itself says so
    min_axes: int  # that sets must have for a module that gets single elements


class Sequential(SetModule, nn.Sequential):
    """Chain modules: set layers get whole sets, all others single elements.

    Further arguments (a graph, an ``edge_index``) go to those set layers whose maps take them.
    After a head that returns one tensor row per set (``Classify``, ``Merge``), plain modules get
    these rows, as in ``nn.Sequential``. A module of your own with set layers inside returns what
    the last of them does, unless it has an attribute ``returns_sets``. (In a plain
    ``nn.Sequential`` all modules would get whole sets.)

    How each module is called is decided when it joins the chain.

    Args:
        modules: Set layers, plain modules, heads.

    Shape:
        - x: ``(B, N, *E)`` or ragged.

    Symmetry:
        That of all its parts together.

    Example:
        >>> import torch
        >>> from symsets import DSS, RaggedSets
        >>> net = Sequential(DSS(nn.Conv2d(3, 8, 3)), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten())
        >>> net(RaggedSets(torch.randn(5, 3, 8, 8), [2, 3]))
        RaggedSets(2 sets of 2–3 elements (288,))
    """

    _steps: dict[str, _Step]

    def add_module(self, name: str, module: nn.Module | None) -> None:
        """Add a module; a plain ``nn.Sequential`` with set layers inside becomes a chain, too."""
        with self._changed():
            super().add_module(name, _as_chain(module))

    def insert(self, index: int, module: nn.Module) -> Self:
        """Insert a module as :meth:`add_module` adds it."""
        with self._changed():
            super().insert(index, _as_chain(module))
        return self

    def __setattr__(self, name: str, value: Any) -> None:  # also: net[0] = module, and renumbering
        if not isinstance(value, nn.Module) and name != "_modules":
            super().__setattr__(name, value)
            return
        with self._changed():
            super().__setattr__(name, _as_chain(value))

    def __delattr__(self, name: str) -> None:
        with self._changed():
            super().__delattr__(name)

    @contextmanager
    def _changed(self) -> Iterator[None]:
        """Decide anew after a change; one that is refused leaves the chain as it was."""
        before = dict(self._modules)
        try:
            yield
            self._decide()
        except ValueError:
            self.__dict__["_modules"] = before
            raise

    def __add__(self, other: nn.Sequential) -> Sequential:
        return Sequential(*super().__add__(other))  # torch's own would be a plain chain

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*super().__mul__(other))

    def _decide(self) -> None:
        """Decide how each module is called."""
        steps, are_sets = {}, True
        for name, module in self._modules.items():
            sets = takes_sets(module)
            axes = min_axes(module) if are_sets and not sets else 0
            steps[name] = _Step(sets, sets and accepts_args(module), _returns_sets(module), axes)
            if sets and not are_sets:
                raise ValueError(
                    f"modules must not take sets after a head that returns none, "
                    f"got {type(module).__name__} at place {name}"
                )
            are_sets = are_sets and steps[name].returns_sets
        self.__dict__["_steps"] = steps

    @property
    def returns_sets(self) -> bool:  # type: ignore[override]
        """Whether the output is a batch of sets again, as a chain inside may decide anew."""
        steps = self.__dict__.get("_steps", {})
        return all(
            getattr(module, "returns_sets", steps[name].returns_sets)
            for name, module in self._modules.items()
            if steps[name].takes_sets
        )

    def forward(self, x: Any, *args: Any) -> Any:
        if args and not any(step.accepts_args for step in self._steps.values()):
            raise TypeError(f"none of the layers takes further arguments, got {len(args)}")
        are_sets = True
        for name, module in self._modules.items():
            step = self._steps[name]
            if step.takes_sets:
                x = module(x, *args) if args and step.accepts_args else module(x)
                are_sets = getattr(module, "returns_sets", step.returns_sets)
            elif are_sets:
                x = self._map(x, module, step.min_axes)
            else:
                x = module(x)
        return x

    def _map(self, x: Any, module: nn.Module, min_axes: int) -> Any:
        """Apply a plain module to every element."""
        try:
            if x.ndim >= min_axes:
                return map_elements(x, module)
            raise IndexError(f"x must have at least {min_axes} axes, got {x.ndim}")
        except TORCHS as error:
            explain(partial(check_elements, element=module, owner=self), x, error)
            explain_refusal(module, x, error)
            raise


def _as_chain(value: Any) -> Any:
    if type(value) is nn.Sequential and takes_sets(value):
        return Sequential(OrderedDict(value._modules))  # under the names they had
    return value


def _returns_sets(module: nn.Module) -> bool:
    """Whether ``module`` returns sets: what it says, or the last of its parts that takes sets."""
    if hasattr(module, "returns_sets"):
        return bool(module.returns_sets)
    parts = [part for part in module.children() if takes_sets(part)]
    return not parts or _returns_sets(parts[-1])

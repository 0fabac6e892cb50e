"""Networks by name, so that a trained one can be made again from its description."""

from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from torch import nn

from symsets._checks import check_choice, check_new, positive

# Arguments that are whole numbers from 1 on, or lists of them.
COUNTS = ("num_elements", "in_channels", "out_channels", "length", "widths", "channels", "colors")
_NETWORKS: dict[str, Callable[..., nn.Module]] = {}
_OF_EXPERIMENTS = (
    "signals",
    "shapes",
    "views",
    "satellite",
    "subgraphs",
    "tables",
    "weights",
)  # imported when one of their networks is built


def register_network(
    name: str,
) -> Callable[[Callable[..., nn.Module]], Callable[..., nn.Module]]:
    """Make a network known by name to :func:`build` and :func:`symsets.load`.

    A class that is defined again, as in a cell of a notebook, takes the place of what it was.
    """

    def register(network: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
        check_new("network", name, _NETWORKS.get(name), network)
        if isinstance(network, type) and issubclass(network, RegisteredNetwork):
            network.__init__ = _keeping_arguments(network.__init__)  # type: ignore[method-assign]
        _NETWORKS[name] = network
        return network

    return register


class RegisteredNetwork(nn.Module):
    """A network that keeps and shows its ``arguments``, from which it can be made again."""

    arguments: dict[str, Any]

    def keep(self, name: str, value: Any) -> None:
        """Keep what an argument that was left out became."""
        self.arguments[name] = _plain(name, value)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.arguments.items())


def _keeping_arguments(init: Callable[..., None]) -> Callable[..., None]:
    """Let a constructor keep its arguments before it runs; a derived class gets those passed on."""
    bind = signature(init).bind

    @wraps(init)
    def keep(self: nn.Module, *args: Any, **kwargs: Any) -> None:
        bound = bind(self, *args, **kwargs)
        bound.apply_defaults()
        _, *given = bound.arguments.items()
        arguments = {name: _plain(name, value) for name, value in given}
        self.__dict__.setdefault("arguments", arguments)
        init(self, *args, **kwargs)

    return keep


def _plain(name: str, value: Any) -> Any:
    """Return an argument as JSON holds it; raise unless numbers of channels are positive."""
    if isinstance(value, list | tuple | range | np.ndarray):
        return [_plain(name, part) for part in value]
    if name in COUNTS and value is not None:
        return positive(name, value)
    return value.item() if isinstance(value, np.generic) else value


def build(name: str, arguments: Mapping[str, Any]) -> nn.Module:
    """Make a registered network from plain arguments."""
    if name in _OF_EXPERIMENTS:
        import_module(f"symsets.experiments.{name}.network")
    check_choice("network", name, sorted({*_NETWORKS, *_OF_EXPERIMENTS}))
    try:
        signature(_NETWORKS[name]).bind(**arguments)
    except TypeError as error:
        raise TypeError(f"arguments must be those of {name!r}: {error}") from None
    return _NETWORKS[name](**arguments)


def registered_name(kind: type) -> str | None:
    """Return the name of a registered class of networks, or None."""
    return next((name for name, network in _NETWORKS.items() if network is kind), None)

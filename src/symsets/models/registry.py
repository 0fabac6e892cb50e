"""Networks by name, so that a trained one can be made again from its description."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from inspect import signature
from typing import Any, Self

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
        _NETWORKS[name] = network
        return network

    return register


class RegisteredNetwork(nn.Module):
    """A network that keeps and shows its ``arguments``, from which it can be made again."""

    arguments: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        network = super().__new__(cls)
        # A copy is made without arguments, and gets its attributes afterwards.
        bound = signature(cls.__init__).bind_partial(network, *args, **kwargs)
        bound.apply_defaults()
        _, *given = bound.arguments.items()
        for name in COUNTS:
            for number in _numbers(bound.arguments.get(name)):
                positive(name, number)
        network.__dict__["arguments"] = {
            name: list(value) if isinstance(value, tuple) else value for name, value in given
        }
        return network

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.arguments.items())


def _numbers(value: Any) -> Iterator[Any]:
    """Give what lists of lists hold, or the one thing that is no list."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from _numbers(part)
    elif value is not None:
        yield value


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

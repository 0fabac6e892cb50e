"""Networks by name, so that a trained one can be made again from its description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from torch import nn

from symsets._checks import check_choice, check_new

__all__ = ["build", "register_network"]

_NETWORKS: dict[str, Callable[..., nn.Module]] = {}
_OF_EXPERIMENTS = (
    "signals",
    "shapes",
    "views",
    "satellite",
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


def build(name: str, arguments: Mapping[str, Any]) -> nn.Module:
    """Make a registered network from plain arguments."""
    if name in _OF_EXPERIMENTS:
        import_module(f"symsets.experiments.{name}.network")
    check_choice("network", name, sorted({*_NETWORKS, *_OF_EXPERIMENTS}))
    return _NETWORKS[name](**arguments)

"""Schemes by name: which set layer is made of a map for one element."""

import re
from collections.abc import Callable
from typing import Literal, Protocol

from torch import nn

from symsets._checks import check_new, check_number, positive, shown
from symsets.nn._maps import without_bias
from symsets.nn.aggregate import ConcatPool, RemoveMean
from symsets.nn.attention import SetAttention
from symsets.nn.base import SetModule
from symsets.nn.dss import DSS, Siamese
from symsets.nn.induced import InducedAttention
from symsets.nn.sequential import takes_sets
from symsets.nn.wreath import Wreath
from symsets.sets.pooling import POOLS, power_degree

Scheme = Literal[
    "siamese",
    "dss-sum",
    "dss-mean",
    "dss-max",
    "dss-median",
    "aittala",
    "sridhar",
    "attention",
    "wreath",
    "isab",
]
"""The schemes of the library; ``"dss-power2"``, … and registered names are further ones."""

Make = Callable[[int, int], nn.Module]
"""Makes a map for one element, given its numbers of input and output channels."""


class SchemeBuilder(Protocol):
    """Makes a set layer of ``out_channels`` channels out of maps for single elements."""

    def __call__(
        self, make: Make, in_channels: int, out_channels: int, *, size: float
    ) -> SetModule:
        """Make the layer; sums over a set are to be divided by ``size``."""
        ...


_SCHEMES: dict[str, SchemeBuilder] = {}


def set_layer(
    scheme: Scheme | str, make: Make, in_channels: int, out_channels: int, *, size: float = 1.0
) -> SetModule:
    """Make the set layer of a scheme; it always returns ``out_channels`` channels.

    Args:
        scheme: A name from :func:`schemes`, or ``dss-power2``, ``dss-power3``, …
        make: Makes a map for one element, given its numbers of input and output channels; called
            as often as the scheme needs maps, with the channels it needs.
        in_channels: Channels of an element.
        out_channels: Channels of an element of the output.
        size: A constant that sums over a set are divided by, such as the set size of training.

    Example:
        >>> layer = set_layer("dss-sum", lambda i, o: nn.Conv2d(i, o, 3, padding=1), 3, 64)
        >>> sorted(schemes())[:3]
        ['aittala', 'attention', 'dss-max']
    """
    builder = _builder(scheme)
    if builder is None:
        raise ValueError(
            f"scheme must be one of {schemes()} (or dss-power2, dss-power3, …), got {shown(scheme)}"
        )
    check_number("size", size, zero=False)
    given = positive("in_channels", in_channels), positive("out_channels", out_channels)
    layer = builder(make, *given, size=size)
    if not isinstance(layer, nn.Module) or not takes_sets(layer):
        raise TypeError(
            f"scheme {scheme!r} must make a set layer, such as a SetLayer, "
            f"got {type(layer).__name__}"
        )
    return layer


def register_scheme(name: str) -> Callable[[SchemeBuilder], SchemeBuilder]:
    """Make a scheme of your own known to :func:`set_layer` and to every network of the paper.

    ``symsets run EXPERIMENT --import FILE --models NAME`` compares it with the others. A function
    that is defined again, as in a cell of a notebook, replaces the one before.

    Args:
        name: What users will type.

    Example:
        >>> @register_scheme("my-scheme")
        ... def build(make, in_channels, out_channels, *, size):
        ...     return DSS(make(in_channels, out_channels), pool="mean")
        >>> set_layer("my-scheme", nn.Linear, 3, 8).pool
        'mean'
        >>> unregister_scheme("my-scheme")
    """
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(f"name must be lower-case words joined by '-', got {shown(name)}")

    def register(builder: SchemeBuilder) -> SchemeBuilder:
        check_new("scheme", name, _builder(name), builder)
        _SCHEMES[name] = builder
        return builder

    return register


def unregister_scheme(name: str) -> None:
    """Forget a registered scheme."""
    if _SCHEMES.pop(name, None) is None:
        raise ValueError(f"name must be a registered scheme, one of {schemes()}, got {name!r}")


def schemes() -> list[str]:
    """Return the names of all registered schemes."""
    return sorted(_SCHEMES)


def is_scheme(name: str) -> bool:
    """Whether there is a scheme of this name, power sums included."""
    return _builder(name) is not None


def dss_pool(scheme: str) -> str | None:
    """Return ``"max"`` for ``"dss-max"``, and None for schemes that are no DSS layer."""
    pool = scheme.removeprefix("dss-")
    return pool if pool != scheme and (pool in POOLS or power_degree(pool)) else None


def _builder(name: object) -> SchemeBuilder | None:
    if not isinstance(name, str):
        return None
    if name in _SCHEMES:
        return _SCHEMES[name]
    pool = dss_pool(name)
    return _dss(pool) if pool and power_degree(pool) else None


def _dss(pool: str) -> SchemeBuilder:
    degree = power_degree(pool) or 1

    def build(make: Make, in_channels: int, out_channels: int, *, size: float) -> DSS:
        context = without_bias(make(degree * in_channels, out_channels))
        return DSS(make(in_channels, out_channels), context, pool=pool, size=size)

    return build


for _pool in ("sum", "mean", "max", "median"):
    register_scheme(f"dss-{_pool}")(_dss(_pool))


@register_scheme("siamese")
def _siamese(make: Make, in_channels: int, out_channels: int, *, size: float) -> Siamese:
    return Siamese(make(in_channels, out_channels))


@register_scheme("aittala")
def _aittala(make: Make, in_channels: int, out_channels: int, *, size: float) -> ConcatPool:
    if out_channels % 2:
        raise ValueError(
            f"out_channels must be even for 'aittala', which concatenates two halves, "
            f"got {out_channels}"
        )
    return ConcatPool(make(in_channels, out_channels // 2))


@register_scheme("sridhar")
def _sridhar(make: Make, in_channels: int, out_channels: int, *, size: float) -> RemoveMean:
    return RemoveMean(make(in_channels, out_channels))


@register_scheme("attention")
def _attention(make: Make, in_channels: int, out_channels: int, *, size: float) -> SetAttention:
    element, value, query, key = (make(in_channels, out_channels) for _ in range(4))
    return SetAttention(element, without_bias(value), query, without_bias(key))


@register_scheme("wreath")
def _wreath(make: Make, in_channels: int, out_channels: int, *, size: float) -> Wreath:
    element = make(in_channels, out_channels)
    return Wreath(element, in_channels=in_channels, out_channels=out_channels, size=size)


@register_scheme("isab")
def _isab(make: Make, in_channels: int, out_channels: int, *, size: float) -> InducedAttention:
    element, value, query, key = (make(in_channels, out_channels) for _ in range(4))
    parts = without_bias(value), query, without_bias(key)
    return InducedAttention(element, *parts, in_channels=in_channels)

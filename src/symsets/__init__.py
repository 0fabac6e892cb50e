"""Deep learning on sets whose elements have symmetries of their own.

A batch of sets is a tensor ``(B, N, C, *E)``, or :class:`RaggedSets` when sizes differ. Any module
for single elements becomes a layer for sets, ``DSS(nn.Conv2d(3, 64, 3))``; any network for single
elements becomes a network for sets, ``lift(resnet)``.
"""

from symsets import _interrupt  # noqa: I001  before torch
from typing import TYPE_CHECKING, Any

from symsets._version import __version__

if TYPE_CHECKING or not _interrupt.asks_for_help():  # help needs no torch
    from symsets import groups, nn, sets, testing  # noqa: F401
    from symsets.lift import lift
    from symsets.nn import (
        DSS,
        ConcatPool,
        RemoveMean,
        Sequential,
        SetAttention,
        Siamese,
        Wreath,
        register_scheme,
        schemes,
        select_loss,
        set_layer,
    )
    from symsets.saving import load, pretrained, save
    from symsets.sets import RaggedSets, collate, pool

if TYPE_CHECKING:
    from symsets.tools.merging import merge

__all__ = [
    "DSS",
    "Siamese",
    "ConcatPool",
    "RemoveMean",
    "SetAttention",
    "Wreath",
    "Sequential",
    "RaggedSets",
    "pool",
    "collate",
    "lift",
    "set_layer",
    "register_scheme",
    "schemes",
    "select_loss",
    "save",
    "load",
    "pretrained",
    "merge",
    "groups",
    "ops",
    "testing",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Import what few need when it is asked for."""
    if name == "merge":
        from symsets.tools.merging import merge

        return merge
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

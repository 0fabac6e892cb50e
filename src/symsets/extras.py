"""Libraries that only some parts need, imported where they are used."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["MissingExtraError", "require"]


class MissingExtraError(ImportError):
    """A library that belongs to an extra is not installed."""


def require(module: str, extra: str) -> Any:
    """Import ``module``, or say which extra to install.

    Example:
        >>> require("math", "experiments").pi > 3
        True
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MissingExtraError(
            f"{library} is needed here but not installed: pip install 'symsets[{extra}]'"
        ) from error

"""Libraries that only some parts need, imported where they are used."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

EXPERIMENTS = ("lightning", "torchmetrics", "matplotlib", "jinja2")  # as in pyproject.toml


class MissingExtraError(ImportError):
    """A library that belongs to an extra is not installed, or does not work."""


def require(module: str, extra: str) -> Any:
    """Import ``module``, or raise MissingExtraError naming the extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{module.partition('.')[0]} is needed here but cannot be imported ({error}): "
            f"pip install 'symsets[{extra}]'"
        ) from error


def check_experiments() -> None:
    """Raise MissingExtraError unless all libraries of the experiments are installed."""
    missing = [library for library in EXPERIMENTS if find_spec(library) is None]
    if missing:
        raise MissingExtraError(  # commands need other extras, too
            f"{', '.join(missing)} must be installed: pip install 'symsets[all]'"
        )

"""Libraries that only some parts need, imported where they are used."""

import importlib
import sys
from importlib.util import find_spec
from typing import Any

EXPERIMENTS = ("lightning", "torchmetrics", "matplotlib", "jinja2")  # as in pyproject.toml


class MissingExtraError(ImportError):
    """A library that belongs to an extra is not installed, or does not work."""


def require(module: str, extra: str) -> Any:
    """Import ``module``, or raise MissingExtraError naming the extra to install."""
    found = sys.modules.get(module)  # asked for each of thousands of files
    spec = getattr(found, "__spec__", None)
    if found is not None and not getattr(spec, "_initializing", False):
        return found  # and not one that another thread is still importing
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if (missing or "").partition(".")[0] == library:
            raise _missing([library], extra) from error
        # The library is there, but one that it needs is not, or does not fit.
        raise MissingExtraError(
            f"{library} is needed here but cannot be imported ({error}): "
            f"pip install 'symsets[{extra}]'"
        ) from error


def check_experiments() -> None:
    """Raise MissingExtraError unless all libraries of the experiments are installed."""
    missing = [library for library in EXPERIMENTS if find_spec(library) is None]
    if missing:
        raise _missing(missing, "all")  # commands need other extras, too


def _missing(libraries: list[str], extra: str) -> MissingExtraError:
    names, verb = ", ".join(libraries), "is" if len(libraries) == 1 else "are"
    return MissingExtraError(
        f"{names} {verb} needed here but not installed: pip install 'symsets[{extra}]'"
    )

"""Run a Python file of a user."""

from __future__ import annotations

import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from symsets._files import shorten


def run_file(path: Path, argument: str) -> ModuleType:
    """Run a Python file; raise ValueError naming the line for what goes wrong in it.

    As in a script, it may import modules that lie beside it. Errors call it ``argument``.
    """
    if not path.is_file():
        raise ValueError(f"{argument} must name a Python file, got {path}, which is none")
    name, file = f"imported_{path.stem}", path.resolve()
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{argument} must name a Python file, such as mine.py, got {path}")
    module = module_from_spec(spec)
    sys.modules[name] = module  # as for any import: dataclasses and pickles ask for it
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # last: it hides nothing that is installed
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ValueError(f"{path}{told(file, error)}") from error
    return module


def told(file: Path, error: BaseException) -> str:
    """Return the line of a file that an error came from, if it is known, and the error."""
    return f"{_line(file.resolve(), error)}: {type(error).__name__}: {shorten(str(error))}"


def _line(file: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return f", line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(file)]
    return f", line {lines[-1]}" if lines else ""

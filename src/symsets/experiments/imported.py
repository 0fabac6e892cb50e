"""Code of users that runs before a study, such as a scheme of their own."""

from __future__ import annotations

import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from symsets.train.files import written_whole

__all__ = ["import_file", "keep_file"]


def import_file(path: Path) -> None:
    """Run a Python file; one sentence, with the line, for what goes wrong in it."""
    if not path.is_file():
        raise ValueError(f"import must name a Python file, got {path}, which is none")
    name = f"imported_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"import must name a Python file, such as my_scheme.py, got {path}")
    module = module_from_spec(spec)
    sys.modules[name] = module  # as for any import: dataclasses and pickles ask for it
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ValueError(f"{_place(path, error)}: {type(error).__name__}: {error}") from error


def _place(path: Path, error: Exception) -> str:
    """Return the file, and its line if it is known, where an error came from."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    line = getattr(error, "lineno", None) or (lines[-1] if lines else None)
    return f"{path}, line {line}" if line else str(path)


def keep_file(path: Path, out: Path) -> None:
    """Keep a copy in the directory of a study; refuse another file where there are runs of one."""
    copy, text = out / "imported" / path.name, path.read_bytes()
    if copy.exists() and copy.read_bytes() != text:
        raise ValueError(
            f"{out} holds runs with another {path.name} ({copy}): choose another --out, or remove "
            "the copy together with the runs that it made"
        )
    with written_whole(copy) as part:
        part.write_bytes(text)

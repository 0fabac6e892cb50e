"""Write the pages of the reference: one for each package, which lists its public names.

``make docs`` calls it; each name then gets a page of its own from its docstring.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

MODULES = ("", ".nn", ".sets", ".groups", ".testing", ".ops", ".models", ".data", ".train")
INTRODUCTION = """Reference
=========

Every public name has a page, and the tests run its examples. ``help(symsets.DSS)`` says the same in
Python. What ``symsets`` itself offers is not listed again under the package it comes from.

"""


def names(seen: set[int], module: str) -> list[str]:
    """Return the full names of what a package offers and none before it has."""
    package = import_module(f"symsets{module}")
    own = [n for n in package.__all__ if not n.startswith("_")]
    found = {n: getattr(package, n) for n in own}
    fresh = [n for n, v in found.items() if id(v) not in seen and not inspect.ismodule(v)]
    seen |= {id(found[n]) for n in fresh}
    return [f"{package.__name__}.{n}" for n in fresh]


def write(folder: Path) -> None:
    """Write a page for each package, and one that leads to them."""
    folder.mkdir(parents=True, exist_ok=True)
    seen: set[int] = set()
    listed: list[str] = []
    for module in MODULES:
        name = f"symsets{module}"
        summary = inspect.getdoc(import_module(name)) or ""
        lines = [name, "=" * len(name), "", summary, "", ".. autosummary::", "   :toctree:", ""]
        lines += [f"   {found}" for found in names(seen, module)]
        _write(folder / f"{name}.rst", lines)
        listed.append(f":doc:`{name}`\n   {summary.partition(chr(10))[0]}\n")
    pages = [".. toctree::", "   :hidden:", "", *(f"   symsets{module}" for module in MODULES)]
    _write(folder / "index.rst", [INTRODUCTION, *listed, *pages])


def _write(path: Path, lines: list[str]) -> None:
    """Write a file unless it says this already: Sphinx reads again what is new."""
    text = "\n".join(lines) + "\n"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")

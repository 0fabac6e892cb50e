"""Write the list of all public names: ``python docs/api.py`` writes ``api.md`` beside it."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MODULES = ("", ".nn", ".sets", ".groups", ".testing", ".train", ".models", ".data")
INTRODUCTION = """# All public names

Written by `python docs/api.py` from the docstrings, which say more: `help(symsets.DSS)`. A name
leads to its source. [guide.md](guide.md) shows the most important ones at work.
"""


def call(name: str, value: Any) -> str:
    """How a name is called: the names of its arguments, and what they are if left out."""
    if isinstance(value, tuple):
        return f"{name} = {value!r}"
    is_error = isinstance(value, type) and issubclass(value, Exception)
    is_made = isinstance(value, type) and not getattr(value, "_is_protocol", False)
    if is_error or not (is_made or inspect.isroutine(value)):
        return name
    parameters = inspect.signature(value).parameters.values()
    words, starred = [], False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not starred:
            words.append("*")
        starred |= p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        given = "" if p.default is p.empty else f"={default(p.default)}"
        words.append(f"{star}{p.name}{given}")
    return f"{name}({', '.join(words)})"


def default(value: Any) -> str:
    """A default as a person would write it."""
    shown = repr(value)
    return "…" if "<" in shown or len(shown) > 24 else shown


def summary(value: Any) -> str:
    """The first sentence of a docstring; nothing for constants and aliases."""
    plain = isinstance(value, type) or inspect.isroutine(value) or inspect.ismodule(value)
    text = inspect.getdoc(value) if plain else None
    first = (text or "").partition("\n\n")[0].replace("\n", " ").replace("``", "`")
    return re.sub(r":(func|class|math|meth):`~?", "`", first).replace("|", "\\|")


def row(name: str, value: Any) -> str:
    """One line of a table."""
    shown = f"`{call(name, value)}`"
    home = inspect.getmodule(value)
    if home is not None and home.__name__.startswith("symsets") and home.__file__:
        path = Path(home.__file__).resolve().relative_to(ROOT).as_posix()
        shown = f"[{shown}](../{path})"
    return f"| {shown} | {summary(value)} |"


def text() -> str:
    """The page."""
    parts, seen = [INTRODUCTION], set()
    for suffix in MODULES:
        module = import_module(f"symsets{suffix}")
        names = [n for n in module.__all__ if not n.startswith("_")]
        parts.append(f"## {module.__name__}\n\n{summary(module)}\n")
        if known := [n for n in names if id(getattr(module, n)) in seen]:
            parts.append(f"From above: {', '.join(f'`{n}`' for n in known)}.\n")
        fresh = [n for n in names if n not in known]
        parts.append("| | |\n|---|---|")
        parts += [row(n, getattr(module, n)) for n in fresh]
        parts.append("")
        seen |= {id(getattr(module, n)) for n in fresh}
    return "\n".join(parts)


if __name__ == "__main__":
    (ROOT / "docs" / "api.md").write_text(text(), encoding="utf-8")

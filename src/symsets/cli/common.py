"""What all commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from symsets.extras import MissingExtraError

__all__ = ["console", "user_errors"]

console = Console(highlight=False)


@contextmanager
def user_errors() -> Iterator[None]:
    """Turn what a user can get wrong into one line and exit status 2."""
    try:
        yield
    except (ValueError, OSError, MissingExtraError) as error:
        console = Console(stderr=True, highlight=False)
        console.print(f"symsets: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(2) from error

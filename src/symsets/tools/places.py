"""Where the commands may write."""

from __future__ import annotations

import os
from pathlib import Path


def check_place(name: str, folder: Path) -> None:
    """Raise ValueError naming an argument if its folder cannot be made, or not written to.

    Example:
        >>> import tempfile
        >>> check_place("out", Path(tempfile.mkdtemp()) / "runs" / "mine")
    """
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir():
        raise ValueError(f"{name} must be a folder, got the file {there}")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"{name} must be a folder that may be written to, got {folder}")

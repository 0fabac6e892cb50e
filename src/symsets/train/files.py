"""Files that are there whole or not at all, and files that one process holds at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

try:
    import fcntl

    HAS_LOCKS = True
except ImportError:  # Windows
    HAS_LOCKS = False

__all__ = ["file_lock", "write_json", "atomic_write"]


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Give a place to write to, which becomes ``path`` at the end.

    A kill or an error in the middle leaves what was there before.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "notes" / "one.txt"
        >>> with atomic_write(path) as part:
        ...     _ = part.write_text("done")
        >>> path.read_text(), [other.name for other in path.parent.iterdir()]
        ('done', ['one.txt'])
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not the number of the process: on another machine, or in a container, another may have it.
    part = path.with_name(f".{path.name}.{uuid4().hex[:12]}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """Write a file whole or not at all: a kill in the middle leaves the old one."""
    with atomic_write(path) as part:
        part.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")


@contextmanager
def file_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold a file that one process at a time can hold; say whether this one does.

    A process that dies lets go of it. Where the system knows no locks, everybody holds it.

    Args:
        path: The file, made for this and removed at the end.
        wait: Wait until it is free, instead of doing without.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "lock"
        >>> with file_lock(path) as mine, file_lock(path, wait=False) as another:
        ...     mine, another
        (True, False)
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("a") as file:
            if not _lock(file, wait=wait):
                yield False
                return
            if not _is_at(file, path):
                continue  # its holder has removed it, and somebody may have made it anew
            try:
                yield True
            finally:
                path.unlink(missing_ok=True)
            return


def _lock(file: IO[str], *, wait: bool) -> bool:
    if not HAS_LOCKS:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(file: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False

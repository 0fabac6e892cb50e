"""Files that are written whole or not at all, and locks between processes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import FileLock, Timeout, UnixFileLock


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, and move it to ``path`` at the end.

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
    """Write a JSON file whole or not at all."""
    with atomic_write(path) as part:
        part.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")


@contextmanager
def file_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Lock a file against other processes, and tell whether that succeeded.

    A process that dies releases its locks.

    Args:
        path: The lock file, created if needed and removed at the end.
        wait: Wait until the lock is free; otherwise give False if another process has it.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "lock"
        >>> with file_lock(path) as mine, file_lock(path, wait=False) as another:
        ...     mine, another
        (True, False)
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    with suppress(Timeout):
        lock.acquire(blocking=wait)
    try:
        yield lock.is_locked
    finally:
        # On Unix filelock leaves its file; whoever waits for a removed one opens a new one.
        if lock.is_locked and isinstance(lock, UnixFileLock):
            path.unlink(missing_ok=True)
        lock.release()

"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["written_whole"]


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a place to write to, which becomes ``path`` at the end.

    A kill or an error in the middle leaves what was there before.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "notes" / "one.txt"
        >>> with written_whole(path) as part:
        ...     _ = part.write_text("done")
        >>> path.read_text(), [other.name for other in path.parent.iterdir()]
        ('done', ['one.txt'])
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)

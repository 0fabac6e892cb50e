"""Files that are written whole or not at all."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4


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

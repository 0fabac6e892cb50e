"""Files: written whole or not at all, read without trusting them; locks between processes."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from glob import escape
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import FileLock, Timeout, UnixFileLock

from symsets._extras import MissingExtraError

if sys.platform != "win32":
    import fcntl

MOST_JSON = 2**28  # bytes of a JSON file
SMALL = 2**28  # bytes that any file may unpack to
MOST_TIMES = 20  # else, so many times its own size
LONGEST_NAME = 230  # bytes; systems allow 255, and a part has a longer name
SEAL = "sha256"
ERRORS = (OSError, ValueError, TypeError, AttributeError, ArithmeticError, LookupError)
TAG = b"sha256:"


def safe_name(name: str) -> str:
    """Return a name as it may stand in that of a file.

    Example:
        >>> safe_name("my photos/2024")
        'my_photos_2024'
    """
    return re.sub(r"[^\w.]+", "_", name)


def below(folder: Path, *names: str) -> Path:
    """Return a path below a folder; raise ValueError if a name or a link would lead elsewhere.

    Example:
        >>> below(Path("study"), "runs", "../../x")
        Traceback (most recent call last):
        ValueError: '../../x' must be the name of a file or folder in study/runs, ...
    """
    for name in names:
        usual = name.isprintable() and name.strip(". ") and not re.search(r"[/\\]", name)
        if not usual or len(name.encode()) > LONGEST_NAME:
            raise ValueError(
                f"{shorten(repr(name))} must be the name of a file or folder in {folder}, of "
                "printable signs without slashes, and not too long"
            )
        folder = folder / name
        _refuse_link(folder)
    return folder


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise ValueError(f"{path} must not be a link, as nothing is written through links")


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


def check_file(name: str, path: Path, suffixes: Sequence[str]) -> None:
    """Raise ValueError naming an argument unless a file of this kind can be written there.

    Example:
        >>> import tempfile
        >>> check_file("figure", Path(tempfile.mkdtemp()) / "mine" / "layers.PNG", (".png",))
    """
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{name} must end in {' or '.join(suffixes)}, got {path}")
    if path.is_dir():
        raise ValueError(f"{name} must be a file, got the folder {path}; name a file in it")
    check_place(name, path.parent)


def check_outside(out: Path, sets: Path) -> None:
    """Raise ValueError if what is written would replace sets or their labels, or count as sets."""
    if out.resolve().is_relative_to(sets.resolve()):
        raise ValueError(f"out must be elsewhere than the sets, got {out} for those in {sets}")


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, and move it to ``path`` at the end.

    A kill or an error in the middle leaves what was there before, and the next to write this file
    removes what was begun. A link is replaced, not followed. The folder is made, but not those
    above it: whoever removes a study while it runs does not want it back.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "notes" / "one.txt"
        >>> with atomic_write(path) as part:
        ...     _ = part.write_text("done")
        >>> path.read_text(), [other.name for other in path.parent.iterdir()]
        ('done', ['one.txt'])
    """
    path.parent.mkdir(exist_ok=True)
    for left in path.parent.glob(f".{escape(path.name)}.*.part"):
        with suppress(OSError), _part_lock(left, wait=False):
            left.unlink()
    # Not the number of the process: on another machine, or in a container, another may have it.
    part = path.with_name(f".{path.name}.{uuid4().hex[:12]}.part")
    with _part_lock(part, wait=True):
        try:
            yield part
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


@contextmanager
def _part_lock(part: Path, *, wait: bool) -> Iterator[None]:
    """Lock a part while it is written; raise OSError if another is at it, unless told to wait."""
    if sys.platform == "win32":  # there, a file that is open cannot be removed
        yield
        return
    file = os.open(part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    try:
        with suppress(OSError) if wait else nullcontext():  # some disks have no locks
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(file)


def digest(content: bytes) -> str:
    """Return the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def write_sealed(path: Path, content: bytes | memoryview) -> None:
    """Write bytes and their SHA-256 behind them."""
    with atomic_write(path) as part, part.open("wb") as file:
        file.write(content)
        file.write(TAG + hashlib.sha256(content).hexdigest().encode())


def read_sealed(path: Path) -> memoryview:
    """Return the bytes of a sealed file; raise ValueError if they are not those written."""
    content = memoryview(read_bytes(path))
    if bytes(content[-71:]) != TAG + hashlib.sha256(content[:-71]).hexdigest().encode():
        raise ValueError("it was changed after it was written, as its SHA-256 shows")
    return content[:-71]


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """Read a regular file (a pipe would block); raise ValueError if there are more bytes."""
    size = check_regular(path)
    if most is not None and size > most:
        raise ValueError(f"it has {size:,} bytes, more than {most:,}")
    return path.read_bytes()


def check_regular(path: Path) -> int:
    """Return the size of a file; raise ValueError if it is a pipe or the like."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("it is not a regular file")
    return found.st_size


def check_claim(path: Path, size: int) -> None:
    """Raise ValueError unless a file can hold, and memory can take, what it says it unpacks to."""
    most = max(SMALL, MOST_TIMES * path.stat().st_size)
    if hasattr(os, "sysconf"):
        most = min(most, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    if size > most:
        raise ValueError(f"it claims to hold {size:,} bytes, more than the {most:,} that it may")


def _seal_of(content: Mapping[str, Any]) -> str:
    return digest(json.dumps(content, sort_keys=True).encode())


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file whole or not at all; an object gets an entry with its SHA-256."""
    if isinstance(content, dict):
        content = json.loads(json.dumps(content, allow_nan=False))  # keys become text
        content[SEAL] = _seal_of(content)
    with atomic_write(path) as part:
        part.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a CSV file whole or not at all, with the names of the first row as its header."""
    with (  # names of files may be any bytes
        atomic_write(path) as part,
        part.open("w", newline="", encoding="utf-8", errors="surrogateescape") as file,
    ):
        writer = csv.DictWriter(file, list(rows[0]) if rows else [])
        writer.writeheader()
        writer.writerows(rows)


@contextmanager
def reading(path: Path, what: str, kind: type | tuple[type, ...] = dict) -> Iterator[Any]:
    """Read JSON; raise ValueError naming the file, and what it must be, for whatever is wrong.

    The SHA-256 of an object is compared and left out; earlier versions wrote none.
    """
    try:
        content: Any = json.loads(read_bytes(path, MOST_JSON).decode())
        if not isinstance(content, kind):
            raise ValueError(f"it holds {shorten(repr(content))}")
        if isinstance(content, dict) and content.pop(SEAL, None) not in (None, _seal_of(content)):
            raise ValueError(f"it was changed after it was written, or its {SEAL!r} was")
        yield content
    except KeyError as error:
        raise ValueError(f"{path} must be {what}: {error} is missing") from error
    except (*ERRORS, RuntimeError) as error:  # so is JSON that is nested too deeply
        raise ValueError(f"{path} must be {what}: {shorten(_cause(error))}") from error


@contextmanager
def named_errors(path: Path, what: str = "cannot be read") -> Iterator[None]:
    """Raise ValueError naming a file for whatever is wrong in it.

    Libraries raise nearly anything if a file is malformed.
    """
    try:
        yield
    except MissingExtraError:
        raise
    except Exception as error:
        if isinstance(error, ValueError) and str(path) in str(error):
            raise
        cause = f"missing or unknown {error}" if isinstance(error, KeyError) else _cause(error)
        cause = shorten(cause) or type(error).__name__
        raise ValueError(f"{path} {what}: {cause}") from error


def _cause(error: Exception) -> str:
    """Return what went wrong, without the number and the path that the system adds."""
    return getattr(error, "strerror", None) or str(error)


def shorten(text: str, most: int = 300) -> str:
    r"""Return a text in one line that is not too long, for messages that quote a file.

    Example:
        >>> shorten("one\ntwo", 5)
        'one t…'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"


@contextmanager
def file_lock(path: Path) -> Iterator[bool]:
    """Lock a file against other processes, and tell whether that succeeded.

    The file is created if needed and removed at the end. A process that dies releases its locks.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "lock"
        >>> with file_lock(path) as mine, file_lock(path) as another:
        ...     mine, another
        (True, False)
    """
    path.parent.mkdir(exist_ok=True)
    _refuse_link(path)
    lock = FileLock(path)
    with suppress(Timeout):
        lock.acquire(blocking=False)
    try:
        yield lock.is_locked
    finally:
        # On Unix filelock leaves its file.
        if lock.is_locked and isinstance(lock, UnixFileLock):
            path.unlink(missing_ok=True)
        lock.release()

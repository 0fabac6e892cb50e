"""Decoded sets in a file that is mapped into memory, shared by all workers."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symsets.data.set_folder.arrays import Array
from symsets.data.set_folder.stores import Store

if sys.platform != "win32":
    import fcntl

SHARE = 0.8  # of the free space, at most
PREFIX, SUFFIX = "symsets-", ".cache"


class Cache:
    """Room for all elements of all sets, each filled when it is first read.

    The file lies in the folder for temporary files (``TMPDIR`` chooses another), takes up the
    room of what was read so far, and is removed by the process that made it, or after a kill by
    the next one. Its pages belong to the system, which writes them out when memory is short.

    Args:
        counts: Number of elements of each set.
        shape: Of one element.
        dtype: Of its entries.

    Raises:
        ValueError: There is not enough room.
    """

    def __init__(self, counts: list[int], shape: tuple[int, ...], dtype: Any) -> None:
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        self.shape = (int(self.starts[-1]), *shape)
        self.dtype = np.dtype(dtype)
        size = int(np.prod(self.shape)) * self.dtype.itemsize + len(counts)
        folder = Path(tempfile.gettempdir())
        free = shutil.disk_usage(folder).free
        if size > SHARE * free:
            raise ValueError(
                f"cache must be False, as {size:,} bytes are needed and {folder} has {free:,} "
                "left: choose a smaller size, or another folder by the variable TMPDIR"
            )
        _remove_left(folder)
        handle, self.path = tempfile.mkstemp(prefix=PREFIX, suffix=SUFFIX)
        _lock(handle)
        os.ftruncate(handle, size)  # no room is taken before it is written to
        weakref.finalize(self, _remove, self.path, handle, os.getpid())
        self._open()

    def _open(self) -> None:
        self._rows = np.memmap(self.path, self.dtype, "r+", 0, self.shape)
        num = len(self.starts) - 1
        self._full = np.memmap(self.path, np.uint8, "r+", self._rows.nbytes, (num,))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_full", "_rows")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if os.path.exists(self.path):
            self._open()
        else:  # the process that made it has ended
            Cache.__init__(self, np.diff(self.starts).tolist(), self.shape[1:], self.dtype)

    def get(self, k: int) -> Array | None:
        """Return the elements of a set, or None if they were not stored yet."""
        return self._rows[self.starts[k] : self.starts[k + 1]] if self._full[k] else None

    def put(self, k: int, values: Array) -> None:
        """Store the elements of a set; another process that does so too stores the same."""
        self._rows[self.starts[k] : self.starts[k + 1]] = values
        self._full[k] = 1


def _remove(path: str, handle: int, process: int) -> None:
    if os.getpid() == process:  # a worker that ends must not
        os.close(handle)
        Path(path).unlink(missing_ok=True)


def _remove_left(folder: Path) -> None:
    """Remove the files of processes that were killed, which hold no lock any more."""
    for path in folder.glob(f"{PREFIX}*{SUFFIX}"):
        with suppress(OSError):
            handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            try:
                _lock(handle)
                path.unlink()
            finally:
                os.close(handle)


def _lock(handle: int) -> None:
    """Lock an open file until its process ends; raise OSError if another has it."""
    if sys.platform != "win32":  # there, a file that is open cannot be removed
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def cache_for(store: Store | None) -> Cache | None:
    """Make room for the elements of a store, if these have one shape."""
    if store is None or store.shape is None:
        return None
    return Cache(store.counts, store.shape, store.dtype)


def read_set(store: Store, cache: Cache | None, k: int) -> tuple[Any, list[int]]:
    """Return the elements of a set, and which of them could not be read just now."""
    if cache is not None and (stored := cache.get(k)) is not None:
        return stored, []
    values, failed = store.read(k)
    if cache is not None and not failed:
        cache.put(k, values)
    return values, failed


def to_unit(values: Any) -> Tensor:
    """Return float32; integers are divided by the largest of their type."""
    if values.dtype.kind == "f":
        return torch.from_numpy(np.array(values, dtype=np.float32))
    largest = np.float32(np.iinfo(values.dtype).max)
    return torch.from_numpy(np.divide(values, largest, dtype=np.float32))

"""Decoded sets in a file that is mapped into memory, shared with processes that are forked."""

from __future__ import annotations

import shutil
import tempfile
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symsets.data.set_folder.arrays import Array
from symsets.data.set_folder.stores import Store

SHARE = 0.8  # of the free space, at most


class CachedStore:
    """Sets of elements that are kept as they are read, if they have one shape.

    The file has no name: it lies in the folder for temporary files (``TMPDIR`` chooses another),
    takes up the room of what was read so far, and goes with the last process that has it open. Its
    pages belong to the system, which writes them out when memory is short. A process that is not
    forked but gets a copy has a file of its own.

    Args:
        store: What to read.

    Raises:
        ValueError: There is not enough room.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._ends = np.cumsum(store.counts)
        self._full = torch.zeros(len(store.counts), dtype=torch.uint8).share_memory_()
        shape = (int(self._ends[-1]), *(store.shape or ()))
        size = int(np.prod(shape)) * np.dtype(store.dtype).itemsize
        folder = tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
        if size > SHARE * free:
            raise ValueError(
                f"cache must be False, as {size:,} bytes are needed and {folder} has {free:,} "
                "left: choose a smaller size, or another folder by the variable TMPDIR"
            )
        with tempfile.TemporaryFile() as file:  # no room is taken before it is written to
            self._rows = np.memmap(file, store.dtype, "w+", 0, shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return CachedStore, (self.store,)

    def read(self, k: int) -> tuple[Array, list[int]]:
        """Return the elements of a set, and which of them could not be read just now."""
        rows = self._rows[self._ends[k] - self.store.counts[k] : self._ends[k]]
        if self._full[k]:
            return rows, []
        values, failed = self.store.read(k)
        if not failed:  # another process that does so, too, stores the same
            rows[:] = values
            self._full[k] = 1
        return values, failed


def to_unit(values: Any) -> Tensor:
    """Return float32; integers are divided by the largest of their type."""
    if values.dtype.kind == "f":
        return torch.from_numpy(np.array(values, dtype=np.float32))
    largest = np.float32(np.iinfo(values.dtype).max)
    return torch.from_numpy(np.divide(values, largest, dtype=np.float32))

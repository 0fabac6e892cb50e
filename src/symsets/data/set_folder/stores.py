"""The elements of all sets of a folder, read set by set, and kept in a file if that is wanted."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symsets.data.decoding import quiet
from symsets.data.set_folder.arrays import Array, read_array

SHARE = 0.8  # of the free space, at most, for a cache


class Store:
    """Sets of elements, each a file; entries are floating, or integers that stand for [0, 1].

    ``read_file`` returns an element. Where it raises ValueError, ``blank`` takes its place. All
    elements have the shape of that unless ``alike`` is false.
    """

    def __init__(
        self,
        files: Sequence[tuple[str, ...]],
        read_file: Callable[[str], Array],
        blank: Array,
        *,
        alike: bool = True,
    ) -> None:
        self.files, self.read_file, self.blank = files, read_file, blank
        self.counts = [len(own) for own in files]  # elements of each set
        self.shape: tuple[int, ...] | None = blank.shape if alike else None  # of one element

    def names(self, k: int) -> list[str]:
        """Return the names of the elements of a set."""
        return [os.path.basename(file) for file in self.files[k]]

    def place(self, k: int, j: int) -> str:
        """Say where element ``j`` of set ``k`` lies, for lists of what was skipped."""
        return self.files[k][j]

    def read(self, k: int) -> tuple[Any, list[int]]:
        """Return the elements of a set, and which of them cannot be read; those are blank."""
        values, failed = [], []
        with quiet():
            for j, file in enumerate(self.files[k]):
                try:
                    values.append(self.read_file(file))
                except ValueError:
                    values.append(self.blank)
                    failed.append(j)
        return values if self.shape is None else np.stack(values), failed


class ArrayStore(Store):
    """One file ``(N, *E)`` for each set, whose rows are its elements."""

    def __init__(
        self,
        files: Sequence[str],
        counts: list[int],
        shape: tuple[int, ...],
        orders: Sequence[list[int] | None] = (),  # of the columns of each file, where they differ
    ) -> None:
        super().__init__([(file,) for file in files], read_array, np.zeros(shape, np.float32))
        self.counts, self._orders = counts, orders

    def names(self, k: int) -> list[str]:
        return [str(j) for j in range(self.counts[k])]

    def place(self, k: int, j: int) -> str:
        return f"{self.files[k][0]}, row {self.names(k)[j]}"

    def read(self, k: int) -> tuple[Array, list[int]]:
        """Read the file of a set; rows with numbers that are not finite count as unreadable."""
        shape = (self.counts[k], *self.blank.shape)
        try:
            values = read_array(self.files[k][0]).reshape(shape)
        except ValueError:  # it has changed since
            return np.zeros(shape, np.float32), list(range(shape[0]))
        if self._orders and (order := self._orders[k]) is not None:
            values = values[:, order]
        bad = ~np.isfinite(values).reshape(shape[0], -1).all(1)
        values[bad] = 0
        return values, np.flatnonzero(bad).tolist()


class TableStore(ArrayStore):
    """Rows of one table, which are kept in memory."""

    def __init__(
        self, path: str, values: list[Array], names: list[list[str]], columns: tuple[str, ...]
    ) -> None:
        counts = [len(own) for own in values]
        super().__init__([path] * len(values), counts, values[0].shape[1:])
        self._values, self._names, self.columns = values, names, columns

    def reordered(self, order: Sequence[int]) -> TableStore:
        """Return the same rows with their columns in another order."""
        columns = tuple(self.columns[k] for k in order)
        values = [own[:, order] for own in self._values]
        return TableStore(self.files[0][0], values, self._names, columns)

    def names(self, k: int) -> list[str]:
        return self._names[k]

    def read(self, k: int) -> tuple[Array, list[int]]:
        return self._values[k], []


class CachedStore:
    """Sets of elements of one shape that are kept as they are read, in a file mapped into memory.

    The file has no name: it lies in the folder for temporary files (``TMPDIR`` chooses another),
    takes up the room of what was read so far, and goes with the last process that has it open. Its
    pages belong to the system, which writes them out when memory is short. Processes that are
    forked share it; one that gets a copy has a file of its own.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._ends = np.cumsum(store.counts)
        self._full = torch.zeros(len(store.counts), dtype=torch.uint8).share_memory_()
        shape = (int(self._ends[-1]), *store.blank.shape)
        size = int(np.prod(shape)) * store.blank.itemsize
        folder = tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
        if size > SHARE * free:
            raise ValueError(
                f"cache must be False, as {size:,} bytes are needed and {folder} has {free:,} "
                "left: choose a smaller size, or another folder by the variable TMPDIR"
            )
        with tempfile.TemporaryFile() as file:  # no room is taken before it is written to
            self._rows = np.memmap(file, store.blank.dtype, "w+", 0, shape)

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

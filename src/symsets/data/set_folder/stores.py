"""The elements of all sets of a folder, read set by set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from symsets._extras import MissingExtraError
from symsets.data.decoding import UnusableError
from symsets.data.set_folder.arrays import Array, read_array
from symsets.data.set_folder.pictures import Decoder, quiet


class Store(Protocol):
    """Sets of elements.

    Attributes:
        counts: Number of elements of each set.
        shape: Of one element; None if these differ.
        dtype: Of their entries: floating point, or integers that stand for [0, 1].
    """

    counts: list[int]
    shape: tuple[int, ...] | None
    dtype: Any

    def names(self, k: int) -> list[str]:
        """Return the names of the elements of a set."""
        ...

    def place(self, k: int, j: int) -> str:
        """Say where element ``j`` of set ``k`` lies, for lists of what was skipped."""
        ...

    def read(self, k: int) -> tuple[Any, list[int]]:
        """Return the elements of a set, and which of them cannot be read; those are zero."""
        ...


class PictureStore:
    """One picture for each element."""

    def __init__(self, files: Sequence[tuple[str, ...]], decode: Decoder) -> None:
        self.files, self.decode = files, decode
        self.counts = [len(own) for own in files]
        self.shape: tuple[int, ...] | None = (decode.channels, *decode.shape)
        self.dtype = decode.dtype

    def names(self, k: int) -> list[str]:
        """Return the names of the files."""
        return [os.path.basename(file) for file in self.files[k]]

    def place(self, k: int, j: int) -> str:
        """Return the path of the file."""
        return self.files[k][j]

    def read(self, k: int) -> tuple[Array, list[int]]:
        """Decode the pictures of a set."""
        assert self.shape is not None
        values: Array = np.zeros((self.counts[k], *self.shape), self.dtype)
        failed = []
        with quiet():
            for j, file in enumerate(self.files[k]):
                try:
                    values[j] = self.decode(file)
                except UnusableError:
                    failed.append(j)
        return values, failed


class ArrayStore:
    """One file ``(N, *E)`` for each set."""

    dtype = np.float32

    def __init__(self, files: Sequence[str], counts: list[int], shape: tuple[int, ...]) -> None:
        self.files, self.counts = files, counts
        self.shape: tuple[int, ...] | None = shape

    def names(self, k: int) -> list[str]:
        """Return the numbers of the rows."""
        return [str(j) for j in range(self.counts[k])]

    def place(self, k: int, j: int) -> str:
        """Return the path of the file, and the row."""
        return f"{self.files[k]}, row {j}"

    def read(self, k: int) -> tuple[Array, list[int]]:
        """Read the file of a set; rows with numbers that are not finite count as unreadable."""
        assert self.shape is not None
        shape = (self.counts[k], *self.shape)
        values = _read_or_none(self.files[k])
        if values is None or values.size != np.prod(shape):
            return np.zeros(shape, np.float32), list(range(shape[0]))
        return _finite_rows(values.reshape(shape))


class TableStore:
    """All sets in memory, as rows of one table."""

    dtype = np.float32

    def __init__(
        self, path: Path, values: Array, counts: list[int], names: list[list[str]]
    ) -> None:
        self.path, self.values, self.counts, self._names = path, values, counts, names
        self.shape: tuple[int, ...] | None = values.shape[1:]
        self.starts = np.concatenate([[0], np.cumsum(counts)])

    def names(self, k: int) -> list[str]:
        """Return the names of the elements, or their numbers."""
        return self._names[k]

    def place(self, k: int, j: int) -> str:
        """Return the path of the table, and the element."""
        return f"{self.path}, element {self._names[k][j]}"

    def read(self, k: int) -> tuple[Array, list[int]]:
        """Return the rows of a set."""
        return self.values[self.starts[k] : self.starts[k + 1]], []


class CloudStore:
    """One file ``(P, C)`` for each element, with different numbers of points."""

    shape: tuple[int, ...] | None = None
    dtype = np.float32

    def __init__(self, files: Sequence[tuple[str, ...]], channels: int) -> None:
        self.files, self.channels = files, channels
        self.counts = [len(own) for own in files]

    def names(self, k: int) -> list[str]:
        """Return the names of the files."""
        return [os.path.basename(file) for file in self.files[k]]

    def place(self, k: int, j: int) -> str:
        """Return the path of the file."""
        return self.files[k][j]

    def read(self, k: int) -> tuple[list[Array], list[int]]:
        """Read the clouds of a set."""
        clouds, failed = [], []
        for j, file in enumerate(self.files[k]):
            values = _read_or_none(file)
            good = values is not None and values.ndim == 2 and values.shape[1] == self.channels
            if values is None or not good or not np.isfinite(values).all():
                values = np.zeros((1, self.channels), np.float32)
                failed.append(j)
            clouds.append(values)
        return clouds, failed


def _read_or_none(path: str) -> Array | None:
    try:
        return read_array(path)
    except MissingExtraError:
        raise
    except ValueError:
        return None


def _finite_rows(values: Array) -> tuple[Array, list[int]]:
    finite = np.isfinite(values).reshape(len(values), -1).all(1)
    if finite.all():
        return values, []
    failed = np.flatnonzero(~finite)
    values[failed] = 0
    return values, failed.tolist()

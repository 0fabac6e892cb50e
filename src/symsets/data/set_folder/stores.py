"""The elements of all sets of a folder, read set by set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from symsets.data.decoding import quiet
from symsets.data.set_folder.arrays import Array, read_array
from symsets.data.set_folder.pictures import Decoder


class Store:
    """Sets of elements, each of which is a file; a subclass says how it is read.

    Attributes:
        counts: Number of elements of each set.
        shape: Of one element; None if these differ.
        dtype: Of their entries: floating point, or integers that stand for [0, 1].
    """

    shape: tuple[int, ...] | None = None
    dtype: Any = np.float32

    def __init__(self, files: Sequence[tuple[str, ...]]) -> None:
        self.files = files
        self.counts = [len(own) for own in files]

    def names(self, k: int) -> list[str]:
        """Return the names of the elements of a set."""
        return [os.path.basename(file) for file in self.files[k]]

    def place(self, k: int, j: int) -> str:
        """Say where element ``j`` of set ``k`` lies, for lists of what was skipped."""
        return self.files[k][j]

    def read(self, k: int) -> tuple[Any, list[int]]:
        """Return the elements of a set, and which of them cannot be read; those are zero."""
        values: list[Any] = []
        with quiet():
            for file in self.files[k]:
                try:
                    values.append(self._read_file(file))
                except ValueError:
                    values.append(None)
        failed = [j for j, value in enumerate(values) if value is None]
        for j in failed:
            values[j] = self._blank()
        return values if self.shape is None else np.stack(values), failed

    def _read_file(self, file: str) -> Array:
        raise NotImplementedError

    def _blank(self) -> Array:
        return np.zeros(self.shape or (), self.dtype)


class PictureStore(Store):
    """One picture for each element."""

    def __init__(self, files: Sequence[tuple[str, ...]], decode: Decoder) -> None:
        super().__init__(files)
        self.shape, self.dtype = (decode.channels, *decode.shape), decode.dtype
        self.decode = decode

    def _read_file(self, file: str) -> Array:
        return self.decode(file)


class CloudStore(Store):
    """One file ``(P, C)`` for each element, with different numbers of points."""

    def __init__(self, files: Sequence[tuple[str, ...]], channels: int) -> None:
        super().__init__(files)
        self.channels = channels

    def _read_file(self, file: str) -> Array:
        values = read_array(file)
        if values.shape[1:] != (self.channels,) or not np.isfinite(values).all():
            raise ValueError(f"{file} must have {self.channels} finite numbers for each point")
        return values

    def _blank(self) -> Array:
        return np.zeros((1, self.channels), self.dtype)


class ArrayStore(Store):
    """One file ``(N, *E)`` for each set, whose rows are its elements."""

    def __init__(self, files: Sequence[str], counts: list[int], shape: tuple[int, ...]) -> None:
        self.files = [(file,) for file in files]
        self.counts, self.shape = counts, shape

    def names(self, k: int) -> list[str]:
        """Return the numbers of the rows."""
        return [str(j) for j in range(self.counts[k])]

    def place(self, k: int, j: int) -> str:
        """Return the path of the file, and the row."""
        return f"{self.files[k][0]}, row {self.names(k)[j]}"

    def read(self, k: int) -> tuple[Array, list[int]]:
        """Read the file of a set; rows with numbers that are not finite count as unreadable."""
        assert self.shape is not None
        shape = (self.counts[k], *self.shape)
        try:
            values = read_array(self.files[k][0]).reshape(shape)
        except ValueError:  # it has changed since
            return np.zeros(shape, np.float32), list(range(shape[0]))
        bad = ~np.isfinite(values).reshape(shape[0], -1).all(1)
        values[bad] = 0
        return values, np.flatnonzero(bad).tolist()


class TableStore(ArrayStore):
    """Rows of one table, which are kept in memory."""

    def __init__(self, path: str, values: list[Array], names: list[list[str]]) -> None:
        counts = [len(own) for own in values]
        super().__init__([path] * len(values), counts, values[0].shape[1:])
        self._values, self._names = values, names

    def names(self, k: int) -> list[str]:
        """Return the names of the elements, or their numbers."""
        return self._names[k]

    def read(self, k: int) -> tuple[Array, list[int]]:
        """Return the rows of a set."""
        return self._values[k], []

"""A batch of tables with labelled rows and rows whose class is asked for."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symsets.sets import RaggedSets
from symsets.sets.partition import Partition


class Tables(RaggedSets):
    """Tables as sets of rows: those with labels, then those whose class is asked for.

    Args:
        rows: Rows with labels.
        labels: Their classes, one-hot.
        queries: Rows without.

    Shape:
        - rows: ``(B, R, D)``, with any number of rows R and columns D.
        - labels: ``(B, R, K)``, with any number of classes K.
        - queries: ``(B, Q, D)``.

    Example:
        >>> labels = torch.eye(2).repeat(2, 3, 1)
        >>> tables = Tables(torch.randn(2, 6, 4), labels, torch.randn(2, 3, 4))
        >>> tables
        Tables(2 tables of 6 rows, 4 columns and 2 classes, 3 queries)
        >>> tables[:1].queries.shape
        torch.Size([1, 3, 4])
    """

    labels: Tensor

    def __init__(self, rows: Tensor, labels: Tensor, queries: Tensor) -> None:
        if rows.shape[:2] != labels.shape[:2]:
            shapes = tuple(rows.shape), tuple(labels.shape)
            raise ValueError(f"labels must be one per row, got rows and labels of shapes {shapes}")
        both = torch.cat([rows, queries], dim=1)
        # Its sizes stay on the CPU: sending them to a GPU would make the host wait.
        sizes = Partition([both.shape[1]] * len(both))
        super().__init__(both.flatten(0, 1), partition=sizes)
        self.labels = labels.to(both.dtype)

    @property
    def both(self) -> Tensor:
        """Rows with labels, then queries, ``(B, R + Q, D)``."""
        return self.elements.unflatten(0, (len(self), -1))

    @property
    def rows(self) -> Tensor:
        """Rows with labels, ``(B, R, D)``."""
        return self.both[:, : self.labels.shape[1]]

    @property
    def queries(self) -> Tensor:
        """Rows without, ``(B, Q, D)``."""
        return self.both[:, self.labels.shape[1] :]

    @property
    def num_classes(self) -> int:
        """K."""
        return self.labels.shape[2]

    def __reduce__(self) -> tuple[Any, ...]:
        return Tables, (self.rows, self.labels, self.queries)

    def to(self, *args: Any, **kwargs: Any) -> Tables:
        parts = (self.rows, self.labels, self.queries)
        return Tables(*(part.to(*args, **kwargs) for part in parts))

    def record_stream(self, stream: Any) -> None:
        for part in (self.elements, self.labels):
            part.record_stream(stream)

    def __getitem__(self, which: Any) -> Any:
        """Return some of the tables."""
        if not isinstance(which, slice):
            raise TypeError(f"index of tables must be a slice, got {which!r}")
        return Tables(self.rows[which], self.labels[which], self.queries[which])

    def __repr__(self) -> str:
        num_rows, num_classes = self.labels.shape[1:]
        return (
            f"Tables({len(self)} tables of {num_rows} rows, {self.both.shape[2]} columns and "
            f"{num_classes} classes, {self.queries.shape[1]} queries)"
        )

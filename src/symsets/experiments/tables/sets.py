"""Generated tables for training and validation; tables as they are for tests."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from symsets._modes import allow_tf32
from symsets.data.labelled import SetDataset
from symsets.experiments.tables.prior import ShapeRange, random_tables
from symsets.experiments.tables.tables import Tables

CELLS = 16_000  # of a table in a step, on average at most
ALIKE = 4  # fixed tables of one shape


class GivenTables(SetDataset):
    """Batches of tables, each of one shape, with the classes ``(B, Q)`` of their queries.

    Batches may have names.
    """

    def __init__(self, batches: Sequence[tuple[Tables, Tensor]], names: Sequence[str] = ()) -> None:
        self.given = list(batches)
        self.names = tuple(names)

    @property
    def num_sets(self) -> int:
        return sum(len(tables) for tables, _ in self.given)

    @property
    def device(self) -> torch.device:
        return self.given[0][1].device

    def part(self, start: int, stop: int) -> tuple[Tables, Tensor]:
        """Return the tables from ``start`` on that have one shape, before ``stop``."""
        for tables, classes in self.given:
            if start < len(tables):
                return tables[start:stop], classes[start:stop]
            start, stop = start - len(tables), stop - len(tables)
        raise IndexError(f"start must be below {self.num_sets}, got {start + self.num_sets}")

    def parts(self, batch_size: int) -> Iterator[tuple[Tables, Tensor]]:
        """Give all tables in turn, those of a part in one shape."""
        for tables, classes in self.given:
            for start in range(0, len(tables), batch_size):
                which = slice(start, start + batch_size)
                yield tables[which], classes[which]

    def first(self, num: int) -> GivenTables:
        some: list[tuple[Tables, Tensor]] = []
        for tables, classes in self.given:
            if num > 0:
                some.append((tables[:num], classes[:num]))
                num -= len(tables)
        return GivenTables(some, self.names[: len(some)])

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> GivenTables:
        moved = [(x.to(device, dtype or x.dtype), y.to(device)) for x, y in self.given]
        return GivenTables(moved, self.names)

    def places(self) -> dict[str, Tensor]:
        """Return which tables are of the batch of each name, as masks."""
        batch = [k for k, (tables, _) in enumerate(self.given) for _ in range(len(tables))]
        return {name: torch.tensor(batch) == k for k, name in enumerate(self.names)}


class RandomTables(SetDataset):
    """Tables that are drawn anew in every step, of another shape in each.

    ``num_sets`` of them count as one pass.
    """

    num_sets = 0
    device = torch.device("cpu")
    dtype = torch.float32

    def __init__(self, num_sets: int, shapes: ShapeRange, device: torch.device | str) -> None:
        self.num_sets, self.shapes, self.device = num_sets, shapes, torch.device(device)

    def batch(self, which: Tensor) -> tuple[list[Tables], list[Tensor]]:
        """Return fresh tables for each row of ``which``: as many as it names, fewer if large."""
        made = [self._draw(len(row)) for row in which]
        return [tables for tables, _ in made], [classes for _, classes in made]

    def _draw(self, most: int) -> tuple[Tables, Tensor]:
        shape = self.shapes.draw()
        num = max(1, min(most, most * CELLS // shape.cells))
        with allow_tf32(products=False), torch.autocast(self.device.type, enabled=False):
            tables, classes = random_tables(num, shape, self.device)
        return tables if self.dtype == tables.dtype else tables.to(self.dtype), classes

    def part(self, start: int, stop: int) -> tuple[Tables, Tensor]:
        """Raise: these tables are for training."""
        raise NotImplementedError("tables that are drawn anew are for training: use fixed_tables")

    def first(self, num: int) -> RandomTables:
        fewer = copy.copy(self)
        fewer.num_sets = num
        return fewer

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> RandomTables:
        moved = copy.copy(self)
        moved.device, moved.dtype = torch.device(device), dtype or self.dtype
        return moved


def fixed_tables(num: int, shapes: ShapeRange, seed: int) -> GivenTables:
    """Draw ``num`` tables that a seed decides, some of each shape.

    Example:
        >>> fixed_tables(6, ShapeRange(), seed=0).num_sets
        6
    """
    generator = torch.Generator().manual_seed(1_000_003 * seed + 17)
    sizes = [min(ALIKE, num - start) for start in range(0, num, ALIKE)]
    draw = partial(random_tables, device=torch.device("cpu"), generator=generator)
    return GivenTables([draw(size, shapes.draw(generator)) for size in sizes])

"""Real tables, divided into rows with labels and queries: scikit-learn's, or one of your own."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from symsets._extras import require
from symsets._files import named_errors
from symsets.experiments.tables.sets import GivenTables
from symsets.experiments.tables.tables import Tables

EMBEDDED = ("iris", "wine", "breast-cancer", "digits")
MOST_ROWS = 300  # with labels; half as many are queries


@dataclass(frozen=True, eq=False)
class RealTable:
    """A table ``x (N, D)`` with the number of the class of every row, ``y (N,)``."""

    x: Tensor
    y: Tensor

    @property
    def num_classes(self) -> int:
        """How many classes there are."""
        return int(self.y.max()) + 1

    def divided(self, num: int, seed: int, *, most: int = MOST_ROWS) -> tuple[Tables, Tensor]:
        """Divide the rows ``num`` times: half of each class have labels, about ``most`` in all.

        Returns:
            Tables, and the classes of their queries ``(num, Q)``, at most half as many.
        """
        rng = np.random.default_rng(seed)
        parts = [self._divide(rng, most) for _ in range(num)]
        rows, queries = (torch.from_numpy(np.stack(part)) for part in zip(*parts, strict=True))
        labels = one_hot(self.y[rows], self.num_classes).to(self.x.dtype)
        return Tables(self.x[rows], labels, self.x[queries]), self.y[queries]

    def _divide(self, rng: np.random.Generator, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of rows with labels, and of queries."""
        share = min(0.5, most / len(self.y))
        classes = [torch.nonzero(self.y == k).squeeze(1).numpy() for k in range(self.num_classes)]
        shuffled = [rng.permutation(own) for own in classes]
        rows = [own[: max(1, round(share * len(own)))] for own in shuffled]
        rest = [own[len(labelled) :] for own, labelled in zip(shuffled, rows, strict=True)]
        queries = rng.permutation(np.concatenate(rest))[: most // 2]
        return rng.permutation(np.concatenate(rows)), queries


@dataclass(frozen=True, eq=False)
class TableSource:
    """Real tables by name; tables of results call them all by one."""

    name: str
    tables: dict[str, RealTable]

    def divided(self, num: int, seed: int, *, most: int = MOST_ROWS) -> GivenTables:
        """Divide each table ``num`` times, into about ``most`` labelled rows and half as many."""
        divided = [table.divided(num, seed, most=most) for table in self.tables.values()]
        return GivenTables(divided, list(self.tables))


def table_source(data: str) -> TableSource:
    """Open the tables of scikit-learn (``"embedded"``), or a file of comma-separated values.

    The last column of a file is the class, all others are numbers; its first line has names.

    Example:
        >>> {name: tuple(t.x.shape) for name, t in table_source("embedded").tables.items()}
        {'iris': (150, 4), 'wine': (178, 13), 'breast-cancer': (569, 30), 'digits': (1797, 64)}
    """
    if data == "embedded":
        return TableSource("scikit-learn", {name: _embedded(name) for name in EMBEDDED})
    path = Path(data)
    if path.suffix != ".csv" or not path.is_file():
        raise ValueError(f"data must be 'embedded' or a file *.csv that exists, got {data!r}")
    return TableSource(path.stem, {path.stem: _read(path)})


def turned_digits() -> RealTable:
    """Return digits of which every second one lies on its side: 20 classes."""
    upright = _embedded("digits")
    lying = upright.x.unflatten(1, (8, 8)).rot90(1, (1, 2)).flatten(1)
    second = torch.arange(len(upright.y)) % 2 == 1
    x = torch.where(second.unsqueeze(1), lying, upright.x)
    return RealTable(x, upright.y + 10 * second)


def _embedded(name: str) -> RealTable:
    datasets = require("sklearn.datasets", "images")
    x, y = getattr(datasets, f"load_{name.replace('-', '_')}")(return_X_y=True)
    return RealTable(torch.from_numpy(x).float(), torch.from_numpy(y).long())


def _read(path: Path) -> RealTable:
    with named_errors(path), path.open(newline="", encoding="utf-8") as file:
        _, *lines = [line for line in csv.reader(file) if line]
        x = torch.tensor([[float(value) for value in line[:-1]] for line in lines])
        names = sorted({line[-1] for line in lines})
        y = torch.tensor([names.index(line[-1]) for line in lines])
    counts = torch.bincount(y)
    if len(names) < 2 or counts.min() < 2:
        raise ValueError(f"{path} must have two classes or more, and two rows of each")
    return RealTable(x, y)

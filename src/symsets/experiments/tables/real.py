"""The tables for classification that come with scikit-learn, divided into rows and queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from symsets._extras import require
from symsets.experiments.tables.sets import GivenTables
from symsets.experiments.tables.tables import Tables

NAMES = ("iris", "wine", "breast-cancer", "digits")
MOST_ROWS = 300  # with labels, and without


@dataclass(frozen=True)
class RealTable:
    """A table with the class of every row.

    Attributes:
        x: ``(N, D)``.
        y: ``(N,)``, numbers of classes.
    """

    x: Tensor
    y: Tensor

    def divided(self, num: int, seed: int) -> tuple[Tables, Tensor]:
        """Divide the rows ``num`` times: half of each class have labels, at most 300 in all.

        Returns:
            Tables, and the classes of their queries, ``(num, Q)``.
        """
        rng = np.random.default_rng(seed)
        share = min(0.5, MOST_ROWS / len(self.y))
        orders = [self._order(rng, share) for _ in range(num)]
        x = torch.stack([self.x[torch.cat(order)] for order in orders])
        y = torch.stack([self.y[torch.cat(order)] for order in orders])
        rows = len(orders[0][0])
        labels = torch.nn.functional.one_hot(y[:, :rows], int(self.y.max()) + 1)
        return Tables(x[:, :rows], labels.to(x.dtype), x[:, rows:]), y[:, rows:]

    def _order(self, rng: np.random.Generator, share: float) -> tuple[Tensor, Tensor]:
        labelled, rest = [], []
        for k in range(int(self.y.max()) + 1):
            own = rng.permutation(torch.nonzero(self.y == k).squeeze(1).numpy())
            num = max(1, round(share * len(own)))
            labelled.append(own[:num])
            rest.append(own[num:])
        queries = rng.permutation(np.concatenate(rest))[:MOST_ROWS]
        rows = rng.permutation(np.concatenate(labelled))
        return torch.from_numpy(rows), torch.from_numpy(queries)


class RealTables:
    """Iris, wine, breast cancer and digits; the last also with quarter turns, 20 classes."""

    name = "scikit-learn"

    def table(self, name: str) -> RealTable:
        """Return one of them; ``"turned-digits"`` are digits, upright and lying on their side."""
        datasets = require("sklearn.datasets", "images")
        if name == "turned-digits":
            upright = self.table("digits")
            lying = upright.x.unflatten(1, (8, 8)).rot90(1, (1, 2)).flatten(1)
            half = torch.arange(len(upright.y)) % 2 == 0
            x = torch.where(half[:, None], upright.x, lying)
            return RealTable(x, torch.where(half, upright.y, 10 + upright.y))
        x, y = getattr(datasets, f"load_{name.replace('-', '_')}")(return_X_y=True)
        return RealTable(torch.from_numpy(x).float(), torch.from_numpy(y).long())

    def divided(self, num: int, seed: int) -> GivenTables:
        """Divide each of the four tables ``num`` times."""
        return GivenTables([self.table(name).divided(num, seed) for name in NAMES])

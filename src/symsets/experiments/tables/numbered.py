"""A network that takes classes for numbers: the recipe of nanoTabPFN, to compare with."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from symsets.experiments.tables.network import Attention, standardise
from symsets.experiments.tables.prior import MOST_CLASSES
from symsets.experiments.tables.tables import Tables

HEADS = 4  # of the attentions
NEVER = -30.0  # the score of a class beyond those that the network knows


class NumberedBlock(nn.Module):
    """Attention over columns, then over labelled rows, then an MLP, each followed by a norm.

    Shape:
        - x: ``(B, R + Q, D, C)``.
        - output: the same.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(3))
        self.columns = Attention(channels, HEADS)
        self.rows = Attention(channels, HEADS)
        self.mlp = nn.Sequential(
            nn.Linear(channels, 2 * channels), nn.GELU(), nn.Linear(2 * channels, channels)
        )

    def forward(self, x: Tensor, num_rows: int) -> Tensor:
        x = self.norms[0](x + self.columns(x, x))
        by_column = x.transpose(1, 2)
        x = x + self.rows(by_column, by_column[:, :, :num_rows]).transpose(1, 2)
        x = self.norms[1](x)
        return self.norms[2](x + self.mlp(x))


class NumberedNetwork(nn.Module):
    """Classify rows of a table by its labelled rows, with the label as one more number.

    The label is a further column, which holds the number of the class, and the mean of these
    numbers for queries. What becomes of it there is mapped to as many scores as there were classes
    in training; further classes get a score that is never the best.

    Shape:
        - x: :class:`~symsets.experiments.tables.tables.Tables`.
        - output: ``(B, Q, K)``.

    Symmetry:
        Invariant to the order of labelled rows and of columns. *Not* equivariant to classes.

    Reference:
        Pfefferle, Hog, Purucker, Hutter: nanoTabPFN: A Lightweight and Educational
        Reimplementation of TabPFN. 2025.
    """

    def __init__(self, *, width: int = 96, depth: int = 3) -> None:
        super().__init__()
        self.value = nn.Linear(1, width)
        self.label = nn.Linear(1, width)
        self.blocks = nn.ModuleList(NumberedBlock(width) for _ in range(depth))
        self.head = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, MOST_CLASSES)
        )

    def forward(self, x: Tables) -> Tensor:
        num_rows = x.labels.shape[1]
        z = standardise(x.both, num_rows)
        number = x.labels.argmax(2).to(z.dtype)  # (B, R)
        mean = number.mean(1, keepdim=True).expand(-1, z.shape[1] - num_rows)
        number = torch.cat([number, mean], dim=1)[..., None, None]
        cells = torch.cat([self.value(z.unsqueeze(3)), self.label(number)], dim=2)
        for block in self.blocks:
            cells = block(cells, num_rows)
        scores = self.head(cells[:, num_rows:, -1])
        extra = max(0, x.num_classes - MOST_CLASSES)
        return F.pad(scores, (0, extra), value=NEVER)[..., : x.num_classes]

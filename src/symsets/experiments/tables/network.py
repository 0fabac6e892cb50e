"""A network that learns the classes of a table's rows from the labels of others."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from symsets.experiments.tables.ridge import NUM_SCORES, ridge_scores
from symsets.experiments.tables.tables import Tables
from symsets.models.registry import RegisteredNetwork, register_network
from symsets.nn import set_layer
from symsets.nn.registry import dss_pool
from symsets.sets.pooling import power_degree

SHORT = 16  # tokens; plain products are faster for fewer
# cuDNN would plan anew for every shape, which takes longer than a step.
KERNELS = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]
MOST_SEQUENCES = 2**15  # that one call of torch's attention gets; kernels count them in 16 bits
LARGEST = 8.0  # deviations from the mean of a column
ANY_AXES = ("siamese", "sridhar")  # schemes that take channels last, beside all dss-POOL
SLOPE = 3.5  # of the first scores of classes, as functions of those of the regressions
RAREST = 0.01  # added to the share of a class before its logarithm is taken


class Attention(nn.Module):
    """Attention of some tokens to others, with several heads.

    Shape:
        - x: ``(*A, M, C)``.
        - others: ``(*A, N, C)``.
        - output: ``(*A, M, C)``.
    """

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(channels, channels)
        self.key_value = nn.Linear(channels, 2 * channels)
        self.out = nn.Linear(channels, channels)

    def forward(self, x: Tensor, others: Tensor) -> Tensor:
        query, key, value = (
            part.flatten(0, -3).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.query(x), *self.key_value(others).chunk(2, dim=-1))
        )  # (A, h, M or N, C / h)
        parts = zip(*(part.split(MOST_SEQUENCES) for part in (query, key, value)), strict=True)
        kernels = KERNELS if key.shape[2] > SHORT else [SDPBackend.MATH]
        with sdpa_kernel(kernels, set_priority=True):
            mixed = torch.cat([F.scaled_dot_product_attention(*part) for part in parts])
        return self.out(mixed.transpose(1, 2).flatten(2).reshape(x.shape))


class Block(nn.Module):
    r"""Let cells meet within their column, within their row, and across classes.

    .. math:: h_{krd} \leftarrow h_{krd} + W \operatorname{gelu}\Bigl(L_1(h_{krd})
        + L_2\bigl(\operatorname{mean}_j h_{jrd}\bigr)\Bigr)

    comes after two attentions: over the labelled rows of a column, and over the columns of a row.
    Each acts on the normalised cells and adds to them. This is model ``"dss-mean"``; others have
    another layer across classes.

    Shape:
        - x: ``(B, K, R + Q, D, C)``; labelled rows come first.
        - output: the same.
    """

    def __init__(self, model: str, channels: int, heads: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(3))
        self.rows = Attention(channels, heads)
        self.columns = Attention(channels, heads)
        self.classes = set_layer(model, nn.Linear, channels, 2 * channels)
        pool = dss_pool(model)
        self.by_cell = model not in ANY_AXES and (not pool or bool(power_degree(pool)))
        self.out = nn.Linear(2 * channels, channels)

    def forward(self, x: Tensor, num_rows: int) -> Tensor:
        by_column = self.norms[0](x).transpose(2, 3)  # (B, K, D, R + Q, C)
        x = x + self.rows(by_column, by_column[..., :num_rows, :]).transpose(2, 3)
        by_row = self.norms[1](x)
        x = x + self.columns(by_row, by_row)
        return x + self.out(F.gelu(self._across_classes(self.norms[2](x))))

    def _across_classes(self, x: Tensor) -> Tensor:
        if not self.by_cell:
            return self.classes(x)
        cells = x.movedim(1, 3)  # (B, R + Q, D, K, C): the K vectors of a cell are a set
        found = self.classes(cells.flatten(0, 2)).unflatten(0, cells.shape[:3])
        return found.movedim(3, 1)


@register_network("tables")
class TableNetwork(RegisteredNetwork):
    r"""Classify rows of a table by its labelled rows, in one pass.

    A table with K classes is a set of K tables, each with the question whether a row is of this
    class. Their elements have the symmetry :math:`S_R \times S_D` of rows and columns. A cell
    starts as a map of its value, and of its row's label; a further column holds the labels. After
    some :class:`Block`, what this column has become in class k and row q is the score of k.

    Args:
        model: The scheme across classes: ``"dss-mean"``, or ``"siamese"`` if no class is to see
            another.
        width: Channels of a cell.
        depth: Number of blocks.
        heads: Of the attentions.
        ridge: Whether the column of labels also has the scores of
            :func:`~symsets.experiments.tables.ridge.ridge_scores`.

    Shape:
        - x: :class:`~symsets.experiments.tables.tables.Tables`, with any number of rows,
          columns, classes and queries.
        - output: ``(B, Q, K)``.

    Symmetry:
        Invariant to :math:`S_R \times S_D`, equivariant to :math:`S_K` and to the order of
        queries, which do not see each other.

    Example:
        >>> rows, queries = torch.randn(1, 6, 4), torch.randn(1, 3, 4)
        >>> labels = torch.eye(3).repeat(1, 2, 1)
        >>> net = TableNetwork("dss-mean", width=16, depth=1)
        >>> columns, classes = torch.tensor([2, 0, 3, 1]), torch.tensor([1, 2, 0])
        >>> moved = Tables(rows[..., columns], labels[..., classes], queries[..., columns])
        >>> y = net(Tables(rows, labels, queries))
        >>> torch.allclose(net(moved), y[..., classes], atol=1e-5)
        True
    """

    def __init__(
        self,
        model: str,
        *,
        width: int = 96,
        depth: int = 6,
        heads: int = 4,
        ridge: bool = True,
    ) -> None:
        super().__init__()
        self.ridge = ridge
        num_scores = NUM_SCORES if ridge else 0
        self.value = nn.Linear(3, width)
        self.label = nn.Linear(2, width)
        self.target = nn.Linear(3 + num_scores, width)
        self.blocks = nn.ModuleList(Block(model, width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width + num_scores, 1)
        with torch.no_grad():  # training starts from the regressions and the shares of classes
            self.head.weight[:, :width] *= 0.1
            self.head.weight[:, width:] = SLOPE / NUM_SCORES

    def forward(self, x: Tables) -> Tensor:
        num_rows = x.labels.shape[1]
        z = standardise(x.both, num_rows)
        scores = self._scores(z, x.labels)
        cells = self._cells(z, x.labels, scores)
        for block in self.blocks:
            cells = block(cells, num_rows)
        target = self.norm(cells[:, :, num_rows:, -1]).transpose(1, 2)  # (B, Q, K, C)
        both = torch.cat([target, scores[:, num_rows:].to(target.dtype)], dim=3)
        share = torch.log(x.labels.mean(1, keepdim=True) + RAREST)  # (B, 1, K)
        with torch.autocast(z.device.type, enabled=False):  # a softmax follows
            return share + self.head(both.to(self.head.weight.dtype)).squeeze(3)

    def _scores(self, z: Tensor, labels: Tensor) -> Tensor:
        """Return what regressions say about all rows, ``(B, R + Q, K, S)``."""
        if not self.ridge:
            return z.new_zeros(*z.shape[:2], labels.shape[2], 0)
        with torch.no_grad(), torch.autocast(z.device.type, enabled=False):
            return ridge_scores(z, labels)

    def _cells(self, z: Tensor, labels: Tensor, scores: Tensor) -> Tensor:
        """Return the first cells ``(B, K, R + Q, D + 1, C)``; the last column is that of labels."""
        num_queries = z.shape[1] - labels.shape[1]
        share = labels.mean(1, keepdim=True)  # (B, 1, K)
        known = F.pad(labels - share, (0, 0, 0, num_queries))  # (B, R + Q, K)
        asked = F.pad(torch.zeros_like(labels), (0, 0, 0, num_queries), value=1.0)
        own = torch.stack([known, asked], dim=3)  # (B, R + Q, K, 2)
        target = torch.cat([own, share.expand_as(known).unsqueeze(3), scores], dim=3)
        bent = torch.tanh(z)
        values = torch.stack([z, bent, bent.square()], dim=3)
        cells = self.value(values).unsqueeze(2) + self.label(own).unsqueeze(3)
        last = self.target(target).unsqueeze(3)  # (B, R + Q, K, 1, C)
        return torch.cat([cells, last], dim=3).transpose(1, 2)


def standardise(x: Tensor, num_rows: int) -> Tensor:
    """Bring every column to mean 0 and variance 1 over the first rows; constant ones to zero."""
    rows = x[:, :num_rows]
    mean = rows.mean(1, keepdim=True)
    spread = (rows - mean).square().mean(1, keepdim=True).sqrt()
    z = (x - mean) / spread.clamp(min=1e-6 * (1 + mean.abs()))
    return z.clamp(-LARGEST, LARGEST)

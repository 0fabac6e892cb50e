"""Random tables: causes, noisy maps of them as columns, and classes that depend on some of it."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from symsets.experiments.tables.tables import Tables

CAUSES = 12
NUM_ACTIVATIONS = 8  # five, and the identity three times
SEEN = 5  # columns that decide the class, or splits of a tree
KINDS = (0.45, 0.7, 0.8)  # of tables whose class is a cluster, the best score, … added up
MOST_CLASSES = 10


@dataclass(frozen=True)
class Shape:
    """The numbers of labelled rows, queries, columns and classes of a table."""

    rows: int
    queries: int
    columns: int
    classes: int

    @property
    def cells(self) -> int:
        """Cells of the tables of all classes."""
        return (self.rows + self.queries) * (self.columns + 1) * self.classes


@dataclass(frozen=True)
class ShapeRange:
    """How large random tables are; numbers of columns and rows are uniform in their logarithm.

    Attributes:
        rows: The fewest and the most.
        columns: The fewest and the most.
        classes: The fewest and the most; two are as likely as all others together.
        queries: Of every table.
        cells: The most cells of all classes; larger tables lose rows, or columns.
    """

    rows: tuple[int, int] = (40, 300)
    columns: tuple[int, int] = (2, 64)
    classes: tuple[int, int] = (2, MOST_CLASSES)
    queries: int = 48
    cells: int = 64_000

    def draw(self, generator: torch.Generator | None = None) -> Shape:
        """Draw a shape, by numbers of the CPU."""
        u, v, w, two = torch.rand(4, generator=generator, dtype=torch.float64).tolist()
        low, high = self.classes
        classes = 2 if two < 0.5 and low <= 2 else low + int(w * (high - low + 1))
        columns = _between(self.columns, u)
        most = self.cells // (classes * (self.rows[0] + self.queries)) - 1
        columns = max(self.columns[0], min(columns, most))
        rows = _between(self.rows, v)
        most = self.cells // (classes * (columns + 1)) - self.queries
        return Shape(max(self.rows[0], min(rows, most)), self.queries, columns, classes)


def _between(limits: tuple[int, int], u: float) -> int:
    low, high = limits
    return min(high, int(low * ((high + 1) / low) ** u))


def random_tables(
    num: int, shape: Shape, device: torch.device, generator: torch.Generator | None = None
) -> tuple[Tables, Tensor]:
    """Draw tables of one shape, and the classes ``(B, Q)`` of their queries.

    Nothing waits for the device. Rows that are the first of their class have labels.
    """
    draw = _Draw(num, shape.rows + shape.queries, device, generator)
    nodes, cluster = _nodes(draw, shape.classes)
    x = _seen(draw, nodes, shape.columns)
    classes = _classes(draw, nodes, x, cluster, shape.classes)
    x = _measured(draw, x)
    order = _labelled_first(draw, classes, shape.classes)
    classes = classes.gather(1, order)
    x = x.gather(1, order.unsqueeze(2).expand_as(x))
    labels = F.one_hot(classes, shape.classes).to(x.dtype)
    tables = Tables(x[:, : shape.rows], labels[:, : shape.rows], x[:, shape.rows :])
    return tables, classes[:, shape.rows :]


@dataclass(frozen=True)
class _Draw:
    """Random numbers of ``num`` tables of so many rows."""

    num: int
    rows: int
    device: torch.device
    generator: torch.Generator | None

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> Tensor:
        lot = torch.rand((self.num, *shape), device=self.device, generator=self.generator)
        return low + (high - low) * lot

    def scale(self, *shape: int, low: float, high: float) -> Tensor:
        return self.uniform(*shape, low=math.log(low), high=math.log(high)).exp()

    def normal(self, *shape: int) -> Tensor:
        return torch.randn((self.num, *shape), device=self.device, generator=self.generator)

    def below(self, most: int, *shape: int) -> Tensor:
        size = (self.num, *shape)
        return torch.randint(most, size, device=self.device, generator=self.generator)


def _nodes(draw: _Draw, num_classes: int) -> tuple[Tensor, Tensor]:
    """Return what can be seen of each row, ``(B, N, 4 CAUSES)``, and its cluster, ``(B, N)``."""
    clusters = 2 * num_classes
    used = draw.uniform(1, CAUSES) < draw.uniform(1, 1, low=0.2, high=1.2)
    centres = draw.normal(clusters, CAUSES) * draw.scale(1, 1, low=0.3, high=5.0)
    share = draw.normal(1, clusters) * draw.uniform(1, 1)
    # In most tables each class has one cluster.
    second = torch.arange(clusters, device=share.device) >= num_classes
    share = share.masked_fill((draw.uniform(1, 1) < 0.7) & second, -math.inf)
    lots = -(-draw.uniform(draw.rows, clusters, low=1e-6).log()).log()
    cluster = (share + lots).argmax(2)  # (B, N)
    spread = draw.scale(1, CAUSES, low=0.3, high=2.0)
    tail = draw.scale(draw.rows, 1, low=0.4, high=2.5) ** draw.uniform(1, 1).round()
    own = draw.normal(draw.rows, CAUSES) * spread * tail
    h = centres.gather(1, cluster.unsqueeze(2).expand(-1, -1, CAUSES)) + own
    h = _unit(h) * used
    nodes = [h]
    usual = draw.below(NUM_ACTIVATIONS, 1)
    for _ in range(3):
        kept = draw.uniform(CAUSES, CAUSES) > draw.uniform(1, 1, high=0.8)
        h = h @ (draw.normal(CAUSES, CAUSES) * kept / math.sqrt(CAUSES / 2))
        other = draw.uniform(CAUSES) < 0.4
        kind = torch.where(other, draw.below(NUM_ACTIVATIONS, CAUSES), usual)
        h = _activate(_unit(h) + 0.7 * draw.normal(1, CAUSES), kind)
        h = _unit(h) + draw.scale(1, 1, low=0.005, high=0.3) * draw.normal(draw.rows, CAUSES)
        nodes.append(h)
    return torch.cat(nodes, dim=2), cluster


def _activate(x: Tensor, kind: Tensor) -> Tensor:
    """Apply to each unit ``(B, N, C)`` the function of its kind ``(B, C)``; three are linear."""
    bent = (torch.tanh(2 * x), x.relu(), torch.sin(3 * x), x.abs(), (x > 0).to(x.dtype))
    for number, values in enumerate(bent):
        x = torch.where((kind == number).unsqueeze(1), values, x)
    return x


def _unit(x: Tensor) -> Tensor:
    return (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-3)


def _some(draw: _Draw, x: Tensor, num: int) -> Tensor:
    """Return ``num`` random nodes of each table, ``(B, N, num)``."""
    which = draw.below(x.shape[2], 1, num)
    return x.gather(2, which.expand(-1, draw.rows, -1))


def _classes(draw: _Draw, nodes: Tensor, x: Tensor, cluster: Tensor, num: int) -> Tensor:
    """Return the class of each row ``(B, N)``: by its cluster, best score, thresholds or a tree.

    Scores, thresholds and trees look at a few columns, or at nodes, which nobody else may see.
    """
    hidden = draw.uniform(1, 1) < 0.3
    few = _unit(torch.where(hidden, _some(draw, nodes, SEEN), _some(draw, x, SEEN)))
    weights = draw.normal(SEEN, num) * (draw.uniform(SEEN, 1) < draw.uniform(1, 1, low=0.3))
    noise = draw.scale(1, 1, low=0.01, high=0.3)
    scores = _unit(few @ weights) + noise * draw.normal(draw.rows, num)
    best = (scores + 0.5 * draw.normal(1, num)).argmax(2)
    rank = scores[..., 0].argsort(1).argsort(1) / draw.rows  # (B, N), uniform
    cuts = draw.uniform(num, low=0.2).cumsum(1)
    steps = (rank.unsqueeze(2) > (cuts / cuts[:, -1:])[:, None, :-1]).sum(2)
    bits = few > 0.7 * draw.normal(1, SEEN)
    leaf = (bits * 2 ** torch.arange(SEEN, device=bits.device)).sum(2)
    tree = draw.below(num, 2**SEEN).gather(1, leaf)
    kinds = torch.stack([cluster % num, best, steps, tree], dim=2)  # (B, N, 4)
    dice = draw.uniform(1, 1)
    kind = torch.stack([dice > share for share in KINDS]).sum(0)  # (B, 1, 1)
    classes = kinds.gather(2, kind.expand(-1, draw.rows, -1)).squeeze(2)
    wrong = draw.uniform(draw.rows) < draw.uniform(1, low=-0.3, high=0.1)
    classes = torch.where(wrong, draw.below(num, draw.rows), classes)
    first = torch.arange(draw.rows, device=classes.device)
    classes = torch.where(first < 2, first, classes)  # there are two classes at least
    return draw.uniform(num).argsort(1).gather(1, classes)  # numbers mean nothing


def _seen(draw: _Draw, nodes: Tensor, num: int) -> Tensor:
    """Return columns ``(B, N, D)``: nodes, or sums of two of them."""
    second = draw.normal(1, num) * (draw.uniform(1, num) < draw.uniform(1, 1, high=0.8))
    return _unit(_some(draw, nodes, num) + second * _some(draw, nodes, num))


def _measured(draw: _Draw, x: Tensor) -> Tensor:
    """Return the columns ``(B, N, D)`` with noise; some are noise alone, coarse or skewed."""
    num = x.shape[2]
    x = x + draw.scale(1, 1, low=0.01, high=0.7) * draw.normal(draw.rows, num)
    useless = draw.uniform(1, num) < draw.uniform(1, 1, low=-0.4, high=0.4)
    x = torch.where(useless, draw.normal(draw.rows, num), _unit(x))
    levels = draw.scale(1, num, low=0.5, high=4.0)
    kinds = (
        torch.round(x * levels),
        torch.exp(x * draw.uniform(1, num, low=0.3, high=1.5)),
        (x - draw.uniform(1, num, low=-1.0, high=1.5)).relu(),
        _codes(draw, x),
    )
    changed = draw.uniform(1, num) < draw.uniform(1, 1, low=-0.5)
    kind = torch.where(changed, draw.below(len(kinds), 1, num), -1)
    for number, values in enumerate(kinds):
        x = torch.where(kind == number, values, x)
    return x


def _codes(draw: _Draw, x: Tensor) -> Tensor:
    """Cut every column into bins and number them at random."""
    num = x.shape[2]
    place = (2 * x + 4).clamp(0, 7.99).long()
    code = draw.below(5, 8, num).to(x.dtype)
    return code.gather(1, place)


def _labelled_first(draw: _Draw, classes: Tensor, num: int) -> Tensor:
    """Return a random order of rows that begins with two of each class."""
    hot = F.one_hot(classes, num)
    before = (hot.cumsum(1) * hot).sum(2)  # 1 for the first of its class
    return (draw.uniform(draw.rows) + (before > 2)).argsort(1)

"""Graphs that a graph convolution alone cannot tell apart: CSL, EXP and strongly regular ones."""

import io
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from symsets._extras import require
from symsets._files import named_errors, read_bytes
from symsets.data.splits import SPLITS, checked_split

NODES = 41
SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)
COPIES = 15  # of each class
FOLDS = 5

MOST_BYTES = 1 << 28


class LabelledGraph(NamedTuple):
    """A graph and its class.

    Attributes:
        x: Node features ``(V, C)``.
        edge_index: Edges ``(2, E)``, each in both directions.
        label: The class.
    """

    x: Tensor
    edge_index: Tensor
    label: int


@dataclass(frozen=True, eq=False)
class GraphSource:
    """Graphs that are divided into folds.

    Graphs come in blocks that hold every class as often; a block is never divided. One fold is for
    the test, the next for validation, all others for training.

    Attributes:
        block: Graphs of a block.
        fold: The one for the test, of 0 to 4; None where all graphs are in all splits.
    """

    name: str
    graphs: list[LabelledGraph]
    block: int
    fold: int | None

    @property
    def num_classes(self) -> int:
        """How many classes there are."""
        return 1 + max(graph.label for graph in self.graphs)

    @property
    def channels(self) -> int:
        """Features of a node."""
        return self.graphs[0].x.shape[1]

    def split(self, split: str) -> list[LabelledGraph]:
        """Return the graphs of a split."""
        checked_split(split)
        if self.fold is None:
            return self.graphs
        of_fold = {self.fold: "test", (self.fold + 1) % FOLDS: "val"}
        return [
            graph
            for place, graph in enumerate(self.graphs)
            if of_fold.get(place // self.block % FOLDS, SPLITS[0]) == split
        ]


def csl(seed: int = 0) -> list[LabelledGraph]:
    """Return circles with skip links, whose nodes are numbered at random.

    Node v of a circle of 41 has links to v ± 1 and v ± s; the class says which s.

    Example:
        >>> graphs = csl()
        >>> len(graphs), graphs[0].edge_index.shape, [graph.label for graph in graphs[:4]]
        (150, torch.Size([2, 164]), [0, 1, 2, 3])
    """
    generator, node = torch.Generator().manual_seed(seed), torch.arange(NODES)
    graphs = []
    for _ in range(COPIES):
        for label, skip in enumerate(SKIPS):
            ends = [torch.stack([node, (node + step) % NODES]) for step in (1, skip)]
            number = torch.randperm(NODES, generator=generator)
            graphs.append(_graph(number[torch.cat(ends, dim=1)], NODES, label))
    return graphs


def read_graph6(path: Path) -> list[LabelledGraph]:
    """Read a file with a graph in each line, in the format graph6; each is a class of its own."""
    read = require("networkx", "graphs").from_graph6_bytes
    graphs = []
    with named_errors(path, "must hold graphs in the format graph6"):
        for label, line in enumerate(read_bytes(path, MOST_BYTES).split()):
            found = read(line)
            ends = torch.tensor(sorted((v, u) for u, v in found.edges), dtype=torch.int64)
            graphs.append(_graph(ends.reshape(-1, 2).T, len(found), label))
    return graphs


def read_exp(path: Path) -> list[LabelledGraph]:
    """Read the file of EXP: pairs of graphs, the first of which can be satisfied."""
    with named_errors(path, "must be the file GRAPHSAT.pkl of EXP"):
        graphs = []
        for record in read_pickled(read_bytes(path, MOST_BYTES)):
            kinds = torch.nn.functional.one_hot(record.x.flatten(), 2).float()
            graphs.append(LabelledGraph(kinds, record.edge_index, int(record.y)))
        if [graph.label for graph in graphs] != [1, 0] * (len(graphs) // 2):
            raise ValueError("its graphs must be pairs of label 1 and 0")
        return graphs


def read_pickled(content: bytes) -> list[SimpleNamespace]:
    """Return graphs with tensors as attributes; raise if the file asks for anything else.

    A pickle names functions and calls them. Four names are known here, and stand for functions of
    ours that make records, tensors and dictionaries; the numbers of a tensor are read by
    ``torch.load(weights_only=True)``.
    """
    return _Reader(io.BytesIO(content)).load()


def _storage(content: bytes) -> Tensor:
    """Return the numbers of a tensor, end to end."""
    storage: Any = torch.load(io.BytesIO(content), weights_only=True)
    return torch.empty(0, dtype=storage.dtype).set_(storage)


def _tensor(
    numbers: Tensor, start: int, size: Sequence[int], stride: Sequence[int], *_: object
) -> Tensor:
    return numbers.as_strided(size, stride, start)  # which checks that it stays inside


class _Reader(pickle.Unpickler):
    """An unpickler for which nothing exists but what a tensor and a graph are made of."""

    known = {  # noqa: RUF012
        ("torch_geometric.data.data", "Data"): SimpleNamespace,
        ("torch._utils", "_rebuild_tensor_v2"): _tensor,
        ("torch.storage", "_load_from_bytes"): _storage,
        ("collections", "OrderedDict"): dict,
    }

    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for a name; raise ValueError if it is not one of the four."""
        if (module, name) not in self.known:
            raise ValueError(f"it asks for {module}.{name}, which no graph needs")
        return self.known[module, name]


def _graph(ends: Tensor, nodes: int, label: int) -> LabelledGraph:
    return LabelledGraph(torch.ones(nodes, 1), torch.cat([ends, ends.flip(0)], dim=1), label)


def graph_source(data: str, seed: int = 0) -> GraphSource:
    """Open ``"embedded"`` (CSL), a pickle of EXP, or a file of graph6 lines.

    The seed's remainder by 5 is the fold for the test; the seed numbers the nodes of CSL.

    Example:
        >>> source = graph_source("embedded")
        >>> [len(source.split(split)) for split in SPLITS]
        [90, 30, 30]
    """
    path, fold = Path(data), seed % FOLDS
    if data == "embedded":
        return GraphSource("CSL", csl(seed), len(SKIPS), fold)
    if path.suffix == ".pkl" and path.is_file():
        return GraphSource("EXP", read_exp(path), 2, fold)
    if path.suffix == ".g6" and path.is_file():
        return GraphSource("SR25", read_graph6(path), 1, None)
    raise ValueError(
        "data must be 'embedded' (CSL), the file GRAPHSAT.pkl of EXP or a file *.g6 that exists, "
        f"got {data!r}"
    )

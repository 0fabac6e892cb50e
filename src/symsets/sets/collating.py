"""Make batches of sets out of single samples, for a ``DataLoader``."""

from collections.abc import Iterable, Sequence
from typing import Any

from torch import Tensor
from torch.utils.data._utils.collate import collate as torch_collate
from torch.utils.data._utils.collate import default_collate_fn_map

from symsets._checks import is_ours, shown
from symsets.sets.graphs import GraphSets, is_pyg
from symsets.sets.ragged import RaggedSets


def collate(samples: Iterable[Any]) -> Any:
    """Collate samples as PyTorch does, but let sets differ in size.

    Tensors of one shape are stacked. Tensors that differ in their first axis become
    :class:`RaggedSets`, without padding. A sample that is itself ragged is a set of clouds with
    different numbers of points; a list of graphs of PyTorch Geometric is a set of graphs
    (:class:`~symsets.sets.GraphSets`). Tuples, dictionaries, numbers and strings are treated as
    PyTorch's own collate function treats them.

    Example:
        >>> import torch
        >>> samples = [(torch.zeros(2, 3), 0), (torch.zeros(5, 3), 1)]
        >>> collate(samples)
        [RaggedSets(2 sets of 2–5 elements (3,)), tensor([0, 1])]
    """
    samples = list(samples)
    if not samples:
        raise ValueError("samples must hold at least one sample, got none")
    try:
        return torch_collate(samples, collate_fn_map=_COLLATE)
    except Exception as error:
        if is_ours(error):
            raise
        kinds = " and ".join(list(dict.fromkeys(map(shown, samples)))[:4])
        raise TypeError(f"samples must all be alike, got {kinds}: {error}") from error


def _collate_tensors(batch: Sequence[Tensor], *, collate_fn_map: Any = None) -> Tensor | RaggedSets:
    if any(isinstance(x, RaggedSets) for x in batch) or len({x.shape for x in batch}) > 1:
        return RaggedSets.from_list(list(batch))
    stacked: Tensor = default_collate_fn_map[Tensor](batch, collate_fn_map=collate_fn_map)
    return stacked


def _collate_lists(batch: Sequence[list[Any]], *, collate_fn_map: Any = None) -> Any:
    """Take the first items of all lists together, then the second ones, …, as PyTorch does."""
    if any(is_pyg(items[0], "BaseData") for items in batch if items):
        return GraphSets.from_data(batch)
    if len({len(items) for items in batch}) > 1:
        raise ValueError(
            "lists in samples must have one length; a set of clouds is RaggedSets.from_list(clouds)"
        )
    same = zip(*batch, strict=True)
    return [torch_collate(list(items), collate_fn_map=collate_fn_map) for items in same]


def _collate_nothing(batch: Sequence[None], *, collate_fn_map: Any = None) -> None:
    """Return None for sets without labels."""
    if any(item is not None for item in batch):
        raise TypeError("samples must all be alike, got None beside others")


_COLLATE: dict[Any, Any] = {
    **default_collate_fn_map,
    Tensor: _collate_tensors,
    GraphSets: lambda batch, *, collate_fn_map=None: GraphSets.join(batch),
    RaggedSets: _collate_tensors,
    type(None): _collate_nothing,
    list: _collate_lists,
}

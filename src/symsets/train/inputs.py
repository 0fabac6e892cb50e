"""What people train on: tensors, datasets and loaders become sets that the loop can read."""

from __future__ import annotations

import multiprocessing
import os
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, Subset, TensorDataset

from symsets._checks import checked_device, shown
from symsets.data.labelled import LabelledSets, SetDataset
from symsets.data.streaming import LoadedSets, SetStream, StreamedSets, random_numbers_kept
from symsets.sets import RaggedSets, Sets
from symsets.sets.ragged import end_to_end

MOST_WORKERS = 4
SAMPLED = 2000  # sets whose targets are read where a dataset does not list them
KINDS_OF_DATA = (
    "a SetFolder, a Dataset or DataLoader of pairs (set, target), LabelledSets, or a pair of "
    "tensors (x, y)"
)


def as_sets(
    name: str, value: Any, *, workers: int | None, seed: int, dtype: torch.dtype
) -> SetDataset:
    """Return what the loop reads; raise TypeError or ValueError naming the argument.

    ``seed`` is that of what is random about the sets of a dataset, ``dtype`` that of floating-point
    entries.
    """
    pair = _tensors(value)
    sets = LabelledSets(*pair) if pair else _with_length(name, value, workers, seed)
    if not sets.num_sets or sets.num_steps == 0:
        raise ValueError(f"{name} must hold at least one set, got none")
    if isinstance(sets, SetStream):
        sets.targets = _listed(source_of(sets))
    floats = not isinstance(sets, LabelledSets) or sets.x.dtype.is_floating_point
    return sets.to(sets.device, dtype) if floats else sets


def _tensors(value: Any) -> tuple[Sets, Sets] | None:
    """Return a pair (x, y), if that is what was given, and not a dataset of two items."""
    if isinstance(value, TensorDataset):
        value = value.tensors
    if not isinstance(value, tuple | list) or len(value) != 2:
        return None
    x, y = (torch.as_tensor(v) if isinstance(v, np.ndarray) else v for v in value)
    numbers = isinstance(y, list | tuple) and all(isinstance(number, int | float) for number in y)
    if not numbers and not any(isinstance(part, Tensor | RaggedSets) for part in (x, y)):
        return None  # each is an item (set, target)
    return x, y


def _with_length(name: str, value: Any, workers: int | None, seed: int) -> SetDataset:
    if isinstance(value, DataLoader):
        if isinstance(value.dataset, IterableDataset):
            raise TypeError(f"{name} must have a length, got a DataLoader of an IterableDataset")
        return LoadedSets(value, seed=seed)
    if isinstance(value, SetDataset):
        return value
    if not (hasattr(value, "__len__") and hasattr(value, "__getitem__")) or isinstance(
        value, str | bytes | dict | Tensor | RaggedSets
    ):
        raise TypeError(f"{name} must be {KINDS_OF_DATA}, got {type(value).__name__}")
    return StreamedSets(value, workers=num_workers(value, workers), seed=seed)


def chosen_device(device: str) -> str:
    """Return the GPU for ``"auto"``, if there is one."""
    if device != "auto":
        return str(checked_device(str(device), "auto"))
    return "cuda" if torch.cuda.is_available() else "cpu"


def check_workers(workers: Any) -> None:
    """Raise ValueError unless a number of workers, or None, was given."""
    if workers is not None and (not isinstance(workers, int) or workers < 0):
        raise ValueError(f"workers must be 0 or positive, got {shown(workers)}")


def num_workers(value: Any, workers: int | None) -> int:
    """Return how many processes read a dataset, if nobody says."""
    if workers is not None:
        return workers
    if getattr(value, "cached", False):  # workers would take more time than they save
        return 0
    # Elsewhere a script would need a guard, and a dataset that can be pickled.
    if isinstance(value, list | tuple) or multiprocessing.get_start_method() != "fork":
        return 0
    return min(MOST_WORKERS, len(os.sched_getaffinity(0)))


def first_batch(name: str, sets: SetDataset) -> tuple[Any, Any]:
    """Return two sets and their targets; raise ValueError naming the argument if it has none."""
    try:
        x, y = next(sets.first(min(2, sets.num_sets)).parts(2))
    except RuntimeError as error:
        if isinstance(sets, LoadedSets):  # most likely torch's own collate cannot join the sets
            error.add_note(f"For sets of different sizes {name} needs collate_fn=symsets.collate.")
        raise
    if y is None:
        raise ValueError(f"{name} must have targets to learn from, got sets without any")
    return x, y


def source_of(sets: SetDataset) -> Any:
    """Return the dataset that a stream reads, or the sets themselves."""
    if isinstance(sets, LoadedSets):
        return sets.loader.dataset
    return sets.dataset if isinstance(sets, StreamedSets) else sets


def listed_targets(sets: SetDataset) -> Sets | None:
    """Return the targets of all sets, if they are known without reading the sets."""
    return sets.y if isinstance(sets, LabelledSets) else getattr(sets, "targets", None)


def all_targets(sets: SetDataset, most: int = SAMPLED) -> Sets:
    """Return the targets of all sets, or of ``most`` of them where nobody lists them."""
    listed = listed_targets(sets)
    if listed is not None:
        return listed
    if isinstance(sets, StreamedSets) and sets.num_sets > most:  # they may be sorted by class
        dataset: Any = sets.dataset
        few = Subset(dataset, torch.linspace(0, sets.num_sets - 1, most).long().tolist())
        sets = StreamedSets(few, workers=sets.workers, seed=sets.seed)
    found: list[Any] = []
    for _, y in sets.parts(64):
        found.append(y)
        if sum(map(len, found)) >= most:
            break
    if any(isinstance(y, RaggedSets) for y in found):
        found = [y if isinstance(y, RaggedSets) else RaggedSets.from_list(list(y)) for y in found]
    return end_to_end(found)


def _listed(value: Any) -> Sets | None:
    """Return the targets that a dataset lists, if it does and its items have these."""
    if isinstance(value, Subset):
        inside = _listed(value.dataset)
        return None if inside is None else inside[torch.as_tensor(list(value.indices))]
    found = getattr(value, "targets", None)
    if isinstance(found, Sequence | np.ndarray) and len(found):
        try:
            found = torch.as_tensor(found)
        except (TypeError, ValueError, RuntimeError):
            return None
    if not isinstance(found, Tensor | RaggedSets) or len(found) != len(value):
        return None
    return found if _has_items_with(value, found) else None


def _has_items_with(value: Any, targets: Sets) -> bool:
    """Whether a dataset gives its first set the target it lists, and none is transformed."""
    if getattr(value, "target_transform", None) is not None:
        return False
    try:
        with random_numbers_kept():
            own = torch.as_tensor(value[0][1])
        return own.shape == targets[0].shape and bool((own == targets[0].to(own.dtype)).all())
    except Exception:  # what is wrong with it is said where it is read
        return False


def content_code(sets: SetDataset) -> str:
    """Return a code of the sets: of all that is in memory, else of listed names and targets."""
    source = source_of(sets)
    parts = [sets.x, sets.y] if isinstance(sets, LabelledSets) else [listed_targets(sets)]
    return f"{_code([*parts, getattr(source, 'names', None)]):08x}"


def _code(value: Any, code: int = 0) -> int:
    if isinstance(value, RaggedSets):
        value = [value.elements, value.sizes, getattr(value, "edges", None)]  # of graphs
    if isinstance(value, Tensor):
        numbers = value.detach().cpu().flatten()
        return zlib.crc32(numbers.view(torch.uint8).numpy(), code)
    if isinstance(value, list | tuple):
        for part in value:
            code = _code(part, code)
        return code
    return zlib.crc32(repr(value).encode(errors="replace"), code)

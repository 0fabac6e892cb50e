"""Sets that are read while a network trains: any dataset or loader, in batches."""

from __future__ import annotations

import copy
import random
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Subset

from symsets._checks import shown
from symsets.data.labelled import LabelledSets, SetDataset
from symsets.sets import RaggedSets, Sets, collate


class SetStream(SetDataset):
    """Base class of sets that are read when they are needed.

    Attributes:
        targets: Of all sets, where they are known without reading these.
    """

    targets: Sets | None = None
    _device = torch.device("cpu")
    _dtype = torch.float32
    _epoch = 0

    @property
    def device(self) -> torch.device:
        return self._device

    def set_epoch(self, epoch: int) -> None:
        self._epoch = epoch

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Any:
        moved = copy.copy(self)
        moved._device, moved._dtype = torch.device(device), dtype or self._dtype
        return moved

    def _moved(self, value: Any) -> Any:
        """Move a batch to the device, and cast what is floating-point."""
        if isinstance(value, list | tuple):
            return [self._moved(item) for item in value]
        if not hasattr(value, "to"):
            return value  # text, for example
        if isinstance(value, Tensor | RaggedSets) and value.dtype.is_floating_point:
            return value.to(self._device, self._dtype, non_blocking=True)
        return value.to(self._device, non_blocking=True)

    def _moved_targets(self, value: Any) -> Any:
        """Move targets; those that a dataset holds in float64 would lose digits in less."""
        known = self.targets
        exact = isinstance(known, Tensor) and known.dtype == torch.float64
        return value.to(self._device) if exact else self._moved(value)


class StreamedSets(SetStream):
    """The pairs ``(set, target)`` of any dataset with a length, read by workers.

    What is random about a set is decided by the seed, the epoch and its number, however many
    workers there are; in evaluation it is the same in every epoch.

    Args:
        dataset: Of pairs of a set, ``(N, C, *E)`` or ragged, and its target.
        workers: Processes that read sets ahead; 0 reads them in this one.
        seed: Of what is random about sets.

    Example:
        >>> sets = StreamedSets([(torch.zeros(k, 3), k) for k in (2, 3, 4)])
        >>> next(sets.parts(2))
        (RaggedSets(2 sets of 2–3 elements (3,)), tensor([2, 3]))
    """

    def __init__(self, dataset: Dataset[Any] | Sequence[Any], *, workers: int = 0, seed: int = 0):
        self.dataset, self.workers, self.seed = dataset, workers, seed
        self._loader: DataLoader[Any] | None = None

    @property
    def num_sets(self) -> int:
        return len(self.dataset)  # type: ignore[arg-type]

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Any:
        moved = super().to(device, dtype)
        moved._loader = None  # it has workers of its own
        return moved

    def first(self, num: int) -> Any:
        """Return the first ``num`` sets, read without workers."""
        few: Any = Subset(self.dataset, range(num))  # type: ignore[arg-type]
        return StreamedSets(few, seed=self.seed).to(self._device, self._dtype)

    def batches(self, order: Tensor) -> Iterator[tuple[Any, Any]]:
        return self._read(order.cpu(), training=True)

    def parts(self, batch_size: int) -> Iterator[tuple[Any, Any]]:
        which = torch.arange(self.num_sets).split(batch_size)
        return self._read(which, training=False)

    def _read(
        self, order: Sequence[Tensor] | Tensor, *, training: bool
    ) -> Iterator[tuple[Any, Any]]:
        seed = (1_000_003 * self.seed + self._epoch + 1) * training
        loader = self._loader if self.workers and self._loader else self._make_loader()
        steps: Any = loader.sampler
        steps[:] = [(seed, which.tolist()) for which in order]  # workers need no tensors
        with random_numbers_kept():  # a loader draws a seed, which is none of the network's
            iterator = iter(loader)
        while True:
            with nullcontext() if self.workers else random_numbers_kept():
                batch = next(iterator, None)
            if batch is None:
                return
            yield self._moved(batch[0]), self._moved_targets(batch[1])

    def _make_loader(self) -> DataLoader[Any]:
        """Make a loader of whole batches; its workers live as long as the sets."""
        self._loader = DataLoader(
            _Batches(self.dataset),
            sampler=[],
            batch_size=None,
            num_workers=self.workers,
            pin_memory=self._device.type == "cuda",
            persistent_workers=self.workers > 0,
            worker_init_fn=_end_quietly if self.workers else None,
        )
        return self._loader


def _end_quietly(worker: int) -> None:
    """Leave interrupts to the process that trains, and be silent when it no longer listens."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    usual = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, ConnectionError):
            usual(kind, error, trace)

    sys.excepthook = hook


class LoadedSets(SetStream):
    """The batches ``(sets, targets)`` of somebody's own ``DataLoader``, as they come.

    Its own batch size, order and workers decide; all members of an ensemble get the same batches.
    """

    def __init__(self, loader: DataLoader[Any], *, seed: int = 0) -> None:
        self.loader = loader
        self.seed = seed
        self.num_steps = len(loader)
        self._num_sets = len(loader.dataset)  # type: ignore[arg-type]

    @property
    def num_sets(self) -> int:
        return self._num_sets

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch comes next, also to samplers that want to know."""
        super().set_epoch(epoch)
        samplers: list[Any] = [self.loader.sampler, self.loader.batch_sampler]
        for sampler in samplers:
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(epoch)

    def first(self, num: int) -> LabelledSets:
        """Return the first ``num`` sets of the first batch."""
        x, y = next(self._read(0))
        return LabelledSets(x[:num], y[:num])

    def batches(self, order: Tensor) -> Iterator[tuple[Any, Any]]:
        """Give as many batches as ``order (S, K, B)`` has steps, each to all members."""
        size = order.shape[1]
        seed = 1_000_003 * self.seed + self._epoch + 1
        for _, (x, y) in zip(range(len(order)), self._read(seed), strict=False):
            yield _for_all(x, size), _for_all(y, size)

    def parts(self, batch_size: int) -> Iterator[tuple[Any, Any]]:
        """Give the batches of the loader, of its own size."""
        return self._read(0)

    def _read(self, seed: int) -> Iterator[tuple[Any, Any]]:
        states = {own: own.get_state() for own in self._generators()}
        try:
            for own in states:  # so that an epoch is the same whatever was read before
                own.manual_seed((own.initial_seed() + seed) % 2**63)
            with random_numbers_kept():
                _seed(seed)
                iterator = iter(self.loader)
                batch = next(iterator, None)  # most samplers draw their order here
            while batch is not None:
                x, y = _as_pair(batch, "batch of the loader")
                yield self._moved(x), self._moved(y)
                batch = next(iterator, None)
        finally:
            for own, state in states.items():
                own.set_state(state)

    def _generators(self) -> set[torch.Generator]:
        """Return the generators that the loader and its samplers were given."""
        loader = self.loader
        inner = getattr(loader.batch_sampler, "sampler", None)
        parts = (loader, loader.sampler, loader.batch_sampler, inner)
        found = (getattr(part, "generator", None) for part in parts)
        return {own for own in found if isinstance(own, torch.Generator)}


def _for_all(batch: Any, size: int) -> Any:
    """Give each of ``size`` members the same batch."""
    return batch.expand(size, *batch.shape) if isinstance(batch, Tensor) else [batch] * size


def _as_pair(item: Any, what: str) -> tuple[Any, Any]:
    """Return a set and its target, or a batch of both; raise TypeError if it is something else."""
    if not isinstance(item, list | tuple) or len(item) != 2:
        raise TypeError(f"each {what} must be a pair (set, target), got {shown(item)}")
    return item[0], item[1]


class _Batches(Dataset[Any]):
    """Batches of sets, with what is random about a set decided by a seed and its number."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __getitem__(self, key: tuple[int, list[Any]]) -> tuple[Any, Any]:
        """Return the sets ``(B,)`` of a step, or a batch for each member ``(K, B)``."""
        seed, which = key
        if isinstance(which[0], list):
            rows = [self[seed, row] for row in which]
            return _stacked([x for x, _ in rows]), _stacked([y for _, y in rows])
        items = []
        for number in which:
            _seed(seed * 7_919 + number)
            items.append(_as_pair(self.dataset[number], "item of the dataset"))
        x, y = collate(items)
        return x, y


@contextmanager
def random_numbers_kept() -> Iterator[None]:
    """Restore the generators of torch on the CPU, of numpy and of Python at the end."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002  what datasets use
    with torch.random.fork_rng([]):
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])  # noqa: NPY002


def _seed(seed: int) -> None:
    """Seed the generators that datasets use."""
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002


def _stacked(rows: list[Any]) -> Any:
    """Stack dense batches of one shape; others stay a list."""
    if all(isinstance(row, Tensor) for row in rows) and len({row.shape for row in rows}) == 1:
        return torch.stack(rows) if len(rows) > 1 else rows[0][None]
    return rows

"""Datasets that make their sets when asked: new ones for training, fixed ones for evaluation."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

from symsets._checks import positive
from symsets._modes import allow_tf32
from symsets.data.labelled import SetDataset


class OnTheFlySets(SetDataset):
    """Base class of datasets that make their sets when asked, on the device of the material.

    A subclass says how in :meth:`make`.

    Args:
        material: Pictures or frames in memory, ``(M, …)``.
        num_sets: How many sets count as one pass; set ``i`` starts from a piece of material that
            ``i`` decides.
        seed: Fixes the sets of :meth:`part`.
    """

    BLOCK = 64  # sets of :meth:`part` that share a generator
    dtype = torch.float32

    def __init__(self, material: Tensor, num_sets: int, *, seed: int = 0) -> None:
        self.material, self._num_sets, self.seed = material, positive("num_sets", num_sets), seed

    @property
    def num_sets(self) -> int:
        return self._num_sets

    @property
    def device(self) -> torch.device:
        return self.material.device

    def make(
        self, which: Tensor, generator: torch.Generator | None, *, augment: bool
    ) -> tuple[Tensor, Tensor]:
        """Make the sets ``which (B,)`` and their targets.

        Args:
            which: Numbers of sets, on the device.
            generator: Of all that is random; None for the default one.
            augment: Whether to move pictures at random, as in training.
        """
        raise NotImplementedError

    def uniform(self, generator: torch.Generator | None, *shape: int) -> Tensor:
        """Draw numbers in [0, 1) on the device."""
        return torch.rand(shape, device=self.device, generator=generator)

    def normal(self, generator: torch.Generator | None, *shape: int) -> Tensor:
        """Draw standard normal numbers on the device."""
        return torch.randn(shape, device=self.device, generator=generator)

    def batch(self, which: Tensor) -> tuple[Tensor, Tensor]:
        x, y = self._make_exactly(which.flatten().to(self.device), None, augment=True)
        shape = tuple(which.shape)
        return self._cast(x).unflatten(0, shape), self._cast(y).unflatten(0, shape)

    def part(self, start: int, stop: int) -> tuple[Tensor, Tensor]:
        """Return the sets from ``start`` to ``stop``, the same in every call on one device."""
        stop = min(stop, self.num_sets)
        blocks = [self._block(b) for b in range(start // self.BLOCK, -(-stop // self.BLOCK))]
        first = start // self.BLOCK * self.BLOCK
        x, y = (torch.cat(parts)[start - first : stop - first] for parts in zip(*blocks))  # noqa: B905
        return self._cast(x), self._cast(y)

    def _block(self, number: int) -> tuple[Tensor, Tensor]:
        first = number * self.BLOCK
        which = torch.arange(first, min(first + self.BLOCK, self.num_sets), device=self.device)
        generator = torch.Generator(self.device).manual_seed(1_000_003 * self.seed + number)
        return self._make_exactly(which, generator, augment=False)

    def _make_exactly(
        self, which: Tensor, generator: torch.Generator | None, *, augment: bool
    ) -> tuple[Tensor, Tensor]:
        """Make sets in full precision, whatever precision the training around it has."""
        with allow_tf32(products=False), torch.autocast(self.device.type, enabled=False):
            return self.make(which, generator, augment=augment)

    def first(self, num: int) -> Any:
        """Return the first ``num`` sets; they use the first pieces of material alone."""
        if not 0 < num <= self.num_sets:
            raise ValueError(f"num must be in 1..{self.num_sets}, got {num}")
        fewer = copy.copy(self)
        fewer._num_sets = num
        return fewer

    def _cast(self, x: Tensor) -> Tensor:
        return x.to(self.dtype) if x.is_floating_point() else x

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Any:
        """Move all tensors; sets come in the given type from now on."""
        moved = copy.copy(self)
        tensors = {key: x for key, x in vars(self).items() if isinstance(x, Tensor)}
        vars(moved).update({key: x.to(device) for key, x in tensors.items()})
        moved.dtype = dtype or self.dtype
        return moved


def random_orders(
    num_sets: int, num_elements: int, like: Tensor, generator: torch.Generator | None
) -> Tensor:
    """Return a random order ``(B, N)`` of the elements of each set, on the device of ``like``."""
    keys = torch.rand((num_sets, num_elements), device=like.device, generator=generator)
    return keys.argsort(1)

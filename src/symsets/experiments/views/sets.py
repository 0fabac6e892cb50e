"""Sets of views of objects, with what there is to learn about every pixel."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from symsets.data.labelled import LabelledSets
from symsets.data.splits import members
from symsets.experiments.synthetic.generated import Device
from symsets.sets import Sets


class Truth(NamedTuple):
    """What a reconstruction is measured against: maps ``(B, N, 7, S, S)``, points ``(B, P, 3)``."""

    maps: Tensor
    points: Tensor


@dataclass(frozen=True, eq=False, repr=False)
class Views(LabelledSets):
    """B objects, each seen in N images of S×S pixels, with what there is to learn about pixels.

    Coordinates are normalised object coordinates (NOCS), in the unit cube; outside the mask they
    are zero.

    Attributes:
        x: Colours in 0 to 1, ``(B, N, 3, S, S)``.
        y: Mask, front and back as networks predict them, ``(B, N, 7, S, S)``. The mask is 1 where
            the object is seen, else 0. The front is the point where the ray of a pixel first meets
            the object, the back the one where it leaves the object for the last time.
        points: Points on the surface of the true shape, ``(B, P, 3)``, which only evaluation needs.
    """

    x: Tensor
    y: Tensor
    points: Tensor | None = None

    @property
    def mask(self) -> Tensor:
        """1 where the object is seen, else 0, ``(B, N, 1, S, S)``."""
        return self.y[:, :, :1]

    def part(self, start: int, stop: int) -> tuple[Sets, Any]:
        assert self.points is not None
        x, maps = super().part(start, stop)
        return x, Truth(maps, self.points[start:stop])

    def first(self, num: int) -> Views:
        super().first(num)  # raises if there are fewer
        return self._changed(lambda part: part[:num])

    def to(self, device: Device, dtype: torch.dtype | None = None) -> Views:
        return self._changed(lambda part: part.to(device, dtype))

    def _changed(self, change: Callable[[Tensor], Tensor]) -> Views:
        points = None if self.points is None else change(self.points)
        return Views(change(self.x), change(self.y), points)

    @staticmethod
    def join(some: Sequence[Views]) -> Views:
        """Put batches end to end."""
        points = [views.points for views in some if views.points is not None]
        x, y = torch.cat([views.x for views in some]), torch.cat([views.y for views in some])
        return Views(x, y, torch.cat(points) if points else None)


class ViewSource:
    """Objects in three splits, seen from several sides.

    A subclass reads one object at a time, since these may be large, or makes many at once.

    Args:
        root: The folder that objects lie in.
        name: What tables call the data.
        files: The paths of the objects of each split, below the folder.
        size: Height and width of the images.
    """

    KIND = "objects"  # in messages
    name: str
    size: int

    def __init__(
        self, root: Path, name: str, files: Mapping[str, Sequence[str]], *, size: int
    ) -> None:
        self.root, self.name, self.files, self.size = root, name, files, size

    def read(self, name: str, num_views: int, num_points: int, device: Device) -> Views:
        """Return the views of one object."""
        raise NotImplementedError

    def views(
        self,
        split: str,
        num: int,
        *,
        num_views: int = 3,
        num_points: int = 0,
        device: Device = "cpu",
    ) -> Views:
        """Return the first ``num`` objects of a split.

        The order is random but fixed. There may be fewer than ``num`` but never none. More views
        of an object leave the first ones as they were.
        """
        names = self.names(split)[:num]
        return Views.join([self.read(name, num_views, num_points, device) for name in names])

    def names(self, split: str) -> Sequence[str]:
        """Return the paths of the objects of a split; raise ValueError if there is none."""
        return members(self.files, split, f"{self.root} has no {self.KIND}")

    def most(self, split: str) -> float:
        """Return how many objects a split has; infinity if there is no end of them."""
        return len(self.names(split))

    def most_views(self, split: str, num: int) -> float:
        """Return how many views each of the first ``num`` objects has; infinity for any number."""
        return math.inf

"""Sets of views of objects, with what there is to learn about every pixel."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from symsets.data.labelled import LabelledSets
from symsets.data.splits import members
from symsets.experiments.views.cameras import Cameras
from symsets.sets import Sets

Device = torch.device | str
MAPS = ("image", "mask", "front", "back")  # everything that has pixels


@dataclass(frozen=True)
class Views:
    """B objects, each seen in N images of S×S pixels.

    Coordinates are normalised object coordinates (NOCS), in the unit cube; outside the mask they
    are zero.

    Attributes:
        image: Colours in 0 to 1, ``(B, N, 3, S, S)``.
        mask: 1 where the object is seen, else 0, ``(B, N, 1, S, S)``.
        front: The point where the ray of a pixel first meets the object, ``(B, N, 3, S, S)``.
        back: The point where it leaves the object for the last time, ``(B, N, 3, S, S)``.
        points: Points on the surface of the true shape, ``(B, P, 3)``, or None.
        cameras: Where the images were taken from, or None where nothing is known about it.
        names: What the objects are called.
    """

    image: Tensor
    mask: Tensor
    front: Tensor
    back: Tensor
    points: Tensor | None = None
    cameras: Cameras | None = None
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.image)

    @property
    def num_views(self) -> int:
        """How many images there are of an object."""
        return self.image.shape[1]

    @property
    def targets(self) -> Tensor:
        """Mask, front and back side by side, ``(B, N, 7, S, S)``, as networks predict them."""
        return torch.cat([self.mask, self.front, self.back], dim=2)

    def __getitem__(self, which: slice) -> Views:
        return replace(self._changed(lambda part: part[which]), names=self.names[which])

    def _changed(
        self, change: Callable[[Any], Any], among: Sequence[str] = (*MAPS, "points", "cameras")
    ) -> Views:
        """Change every part that there is."""
        parts = {name: getattr(self, name) for name in among}
        return replace(self, **{name: change(x) for name, x in parts.items() if x is not None})

    def first_views(self, num: int) -> Views:
        """Keep the first ``num`` images of every object."""
        if not 1 <= num <= self.num_views:
            raise ValueError(f"num must be in 1..{self.num_views}, got {num}")
        cameras = None if self.cameras is None else self.cameras.first_views(num)
        return replace(self._changed(lambda part: part[:, :num], MAPS), cameras=cameras)

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Views:
        """Move everything, and cast all numbers if a type is given."""
        return self._changed(lambda part: part.to(device, dtype))

    @staticmethod
    def join(some: Sequence[Views]) -> Views:
        """Put batches end to end."""
        points = [views.points for views in some if views.points is not None]
        cameras = [views.cameras for views in some if views.cameras is not None]
        image, mask, front, back = (torch.cat([getattr(v, name) for v in some]) for name in MAPS)
        return Views(
            image,
            mask,
            front,
            back,
            points=torch.cat(points) if points else None,
            cameras=Cameras.join(cameras) if cameras else None,
            names=tuple(name for views in some for name in views.names),
        )


class Truth(NamedTuple):
    """What a reconstruction is measured against: maps ``(B, N, 7, S, S)``, points ``(B, P, 3)``."""

    maps: Tensor
    points: Tensor


@dataclass(frozen=True, eq=False, repr=False)
class ViewSets(LabelledSets):
    """Images with their maps as targets; only evaluation needs the points of true shapes."""

    points: Tensor | None = None

    @classmethod
    def of(cls, views: Views) -> ViewSets:
        """Make a dataset of views in memory."""
        return cls(views.image, views.targets, views.points)

    def part(self, start: int, stop: int) -> tuple[Sets, Any]:
        """Return the images from ``start`` to ``stop``, and the truth about them."""
        assert self.points is not None
        x, maps = super().part(start, stop)
        return x, Truth(maps, self.points[start:stop])

    def first(self, num: int) -> ViewSets:
        """Return the first ``num`` objects."""
        fewer = super().first(num)
        points = None if self.points is None else self.points[:num]
        return ViewSets(fewer.x, fewer.y, points)

    def to(self, device: Device, dtype: torch.dtype | None = None) -> ViewSets:
        """Move everything, and cast all numbers if a type is given."""
        points = None if self.points is None else self.points.to(device, dtype)
        return ViewSets(self.x.to(device, dtype), self.y.to(device, dtype), points)


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
        check_views(size, 1, 0)
        self.root, self.name, self.files, self.size = root, name, files, size

    def read(self, name: str, num_views: int, num_points: int, device: Device) -> Views:
        """Return the views of one object."""
        raise NotImplementedError

    def views(
        self,
        split: str,
        num: int | None = None,
        *,
        num_views: int = 3,
        num_points: int = 0,
        device: Device = "cpu",
    ) -> Views:
        """Return the first ``num`` objects of a split, or all.

        The order is random but fixed. There may be fewer than ``num`` but never none. More views
        of an object leave the first ones as they were.
        """
        check_views(self.size, num_views, num_points)
        names = self.names(split)[:num]
        return Views.join([self.read(name, num_views, num_points, device) for name in names])

    def names(self, split: str) -> Sequence[str]:
        """Return the paths of the objects of a split; raise ValueError if there is none."""
        return members(self.files, split, f"{self.root} has no {self.KIND}")

    def most(self, split: str) -> float:
        """Return how many objects a split has; infinity if there is no end of them."""
        return len(self.names(split))

    def most_views(self, split: str, num: int | None = None) -> float:
        """Return how many views each of the first ``num`` objects has; infinity for any number."""
        return math.inf


def check_views(size: int, num_views: int, num_points: int) -> None:
    """Raise ValueError naming the first number that makes no sense."""
    if size < 8 or size % 8:
        raise ValueError(f"size must be a multiple of 8, got {size}")
    if num_views < 1:
        raise ValueError(f"num_views must be positive, got {num_views}")
    if num_points < 0:
        raise ValueError(f"num_points must not be negative, got {num_points}")

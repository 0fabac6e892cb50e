"""From objects and cameras to images and coordinates."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from symsets._checks import check_choice, positive
from symsets.data.splits import SPLITS, checked_split
from symsets.experiments.synthetic.generated import Device
from symsets.experiments.synthetic.objects import CATEGORIES, Objects, make_objects
from symsets.experiments.views.cameras import Cameras, random_cameras
from symsets.experiments.views.casting import Hits, cast, normals
from symsets.experiments.views.sets import Views, ViewSource
from symsets.experiments.views.shading import light_up, paint
from symsets.experiments.views.surface import sample_surface

PAIRS = {"cpu": 2**19, "cuda": 2**25}  # of a ray and a part, at once


def make_views(
    category: str,
    which: Tensor | Sequence[int],
    *,
    num_views: int = 3,
    size: int = 64,
    num_points: int = 0,
    seed: int = 0,
    split: int = 0,
    device: Device = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Views:
    """Make objects and take pictures of them.

    An object and its views depend on nothing but the category, its number, the seed and the
    split: not on the device (up to rounding), nor on how many others are made with it. More views
    leave the first ones as they were. ``size``, the height and width of images, is a multiple of 8;
    there are ``num_points`` points of the true surface. For all else see :func:`make_objects`.

    Example:
        >>> views = make_views("cars", [0, 7], num_views=2, size=16, num_points=100)
        >>> views.x.shape, views.y.shape, views.points.shape
        (torch.Size([2, 2, 3, 16, 16]), torch.Size([2, 2, 7, 16, 16]), torch.Size([2, 100, 3]))
    """
    numbers = torch.as_tensor(which).tolist()
    make = partial(make_objects, category, seed=seed, split=split, device=device, dtype=dtype)
    rays = num_views * size * size * len(make(numbers[:1]).parts.kinds)
    step = max(1, PAIRS.get(torch.device(device).type, PAIRS["cuda"]) // rays)
    blocks = (make(numbers[i : i + step]) for i in range(0, len(numbers), step))
    return Views.join([_render(made, num_views, size, num_points) for made in blocks])


def _render(made: Objects, num_views: int, size: int, num_points: int) -> Views:
    parts, look, keys = made
    cameras = random_cameras(keys, num_views, parts.corners())
    hits = cast(parts, cameras.position, cameras.directions(size))

    def surface(x: Tensor) -> tuple[Tensor, Tensor]:
        part = hits.part.flatten(1)
        role = torch.tensor(parts.roles, device=part.device)[part]
        return look.albedo(role, x), normals(parts, part, x)

    points = sample_surface(parts, keys, num_points) if num_points else None
    return Views(*take_pictures(hits, surface, cameras, keys, size), points)


def take_pictures(
    hits: Hits,
    surface: Callable[[Tensor], tuple[Tensor, Tensor]],
    cameras: Cameras,
    keys: Tensor,
    size: int,
) -> tuple[Tensor, Tensor]:
    """Return images and coordinates of what the rays of all pixels meet, as ``Views`` has them.

    Args:
        hits: Where rays enter and leave the objects, with R = ``size²``.
        surface: Returns colours and outward normals of first points ``(B, N R, 3)``.
        cameras: N for each of B objects.
        keys: What the random numbers of the backgrounds come from, ``(B,)``.
        size: Height and width of the images.
    """
    seen, direction = hits.mask[:, :, None], cameras.directions(size)
    front, back = (
        (cameras.position[..., None] + direction * t[:, :, None].where(seen, 0.0)).where(seen, 0.0)
        for t in (hits.first, hits.last)
    )  # (B, N, 3, R)
    albedo, outward = (
        part.unflatten(1, hits.part.shape[1:]) for part in surface(front.mT.flatten(1, 2))
    )
    image = paint(light_up(albedo, outward, cameras, front).mT, hits.mask, keys, size)
    maps = torch.cat([seen.to(front.dtype), front, back], dim=2)
    return image, maps.unflatten(-1, (size, size))


@dataclass(frozen=True)
class GeneratedViews(ViewSource):
    """Generate objects of a category in three splits, any number of them.

    Example:
        >>> source = GeneratedViews("chairs", size=16)
        >>> source.views("test", 4, num_views=5).x.shape
        torch.Size([4, 5, 3, 16, 16])
    """

    category: str = "cars"
    size: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("category", self.category, CATEGORIES)

    @property
    def name(self) -> str:  # type: ignore[override]
        """What tables call the data."""
        return f"generated {self.category}"

    def views(self, split: str, num: int, **options: Any) -> Views:
        """Return the first ``num`` objects of a split; options are those of :func:`make_views`."""
        number, which = SPLITS.index(checked_split(split)), range(positive("num", num))
        return make_views(
            self.category, which, size=self.size, seed=self.seed, split=number, **options
        )

    def most(self, split: str) -> float:
        return math.inf

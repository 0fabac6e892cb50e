"""Cameras that look at an object from somewhere on a sphere."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from symsets.experiments.synthetic.random import uniform

FILL = (0.75, 0.97)  # share of the half width of an image that the object reaches
DISTANCE = (1.3, 2.2)  # from the middle of the object, whose bounding sphere has radius 0.5
ELEVATION = (-20.0, 65.0)  # degrees
ROLL = 10.0  # degrees to either side


@dataclass(frozen=True)
class Cameras:
    r"""Perspective cameras for square images, in normalised object coordinates.

    Pixel (row i, column j) of an image of S×S pixels is seen along
    :math:`u\,\text{right} + v\,\text{down} + f\,\text{forward}` with
    :math:`u = (2 j + 1)/S - 1` and :math:`v = (2 i + 1)/S - 1`.

    Attributes:
        position: ``(B, N, 3)``.
        axes: Right, down and forward as rows, orthonormal, ``(B, N, 3, 3)``.
        focal: Focal lengths in half widths of the image, ``(B, N)``.
    """

    position: Tensor
    axes: Tensor
    focal: Tensor

    def directions(self, size: int) -> Tensor:
        """Return the directions of all pixels, one unit deep, ``(B, N, 3, size * size)``."""
        like = self.position
        steps = torch.arange(size, device=like.device, dtype=like.dtype)
        centres = (2 * steps + 1) / size - 1
        v, u = torch.meshgrid(centres, centres, indexing="ij")
        plane = torch.stack([u, v]).flatten(1)  # (2, S²)
        flat = plane / self.focal[..., None, None]
        deep = torch.ones_like(flat[..., :1, :])
        return self.axes.mT @ torch.cat([flat, deep], dim=-2)

    def depth(self, x: Tensor) -> Tensor:
        """Return how far points ``(B, N, 3, …)`` lie in front of the camera, ``(B, N, 1, …)``."""
        return self._seen(x)[:, :, 2:]

    def project(self, x: Tensor, size: int) -> Tensor:
        """Return row and column (whole at pixel centres) of points, ``(B, N, 2, …)``."""
        right, down, deep = self._seen(x).unbind(2)
        focal = self.focal.reshape(*self.focal.shape, *(1 for _ in right.shape[2:]))
        plane = torch.stack([down, right], dim=2) * (focal / deep)[:, :, None]
        return ((plane + 1) * size - 1) / 2

    def unproject(self, depth: Tensor) -> Tensor:
        """Return the points that pixels see at their depths.

        Shape:
            - depth: ``(B, N, 1, H, W)`` with H = W; output: ``(B, N, 3, H, W)``.

        Example:
            >>> from symsets.experiments.synthetic.random import make_keys
            >>> cameras = random_cameras(make_keys([0, 1]), 3, torch.rand(2, 10, 3))
            >>> x = cameras.unproject(torch.full((2, 3, 1, 8, 8), 1.5))
            >>> bool((cameras.depth(x) - 1.5).abs().max() < 1e-5)
            True
        """
        way = self.directions(depth.shape[-1]).unflatten(-1, depth.shape[-2:])
        return self.position[..., None, None] + depth * way

    def _seen(self, x: Tensor) -> Tensor:
        """Return points ``(B, N, 3, …)`` in the axes of their camera."""
        seen = self.axes @ (x[..., None].flatten(3) - self.position[..., None])
        return seen.reshape(x.shape)

    def _parts(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.position, self.axes, self.focal

    def first_views(self, num: int) -> Cameras:
        """Return the first ``num`` cameras of every object."""
        return Cameras(*(part[:, :num] for part in self._parts()))

    def __getitem__(self, which: slice) -> Cameras:
        return Cameras(*(part[which] for part in self._parts()))

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Cameras:
        """Move the cameras, and cast their numbers if a type is given."""
        return Cameras(*(part.to(device, dtype) for part in self._parts()))

    @staticmethod
    def join(cameras: list[Cameras]) -> Cameras:
        """Put batches of cameras end to end."""
        return Cameras(*map(torch.cat, zip(*(each._parts() for each in cameras), strict=True)))


def random_cameras(
    keys: Tensor, num_views: int, around: Tensor, *, stream: int = 1 << 20
) -> Cameras:
    """Place cameras around the middle of the unit cube, all looking at it.

    Azimuths are uniform, elevations between -20° and 65°, distances between 1.3 and 2.2, rolls up
    to 10°. Focal lengths are such that the object is always seen whole and that a hull around it
    reaches from 75 to 97 % of the way to the border. The first cameras of a key stay the same
    however many are asked for.

    Args:
        keys: One for each object, ``(B,)``.
        num_views: Cameras of an object.
        around: Points whose convex hull contains the object, no more than 0.87 from the middle of
            the unit cube, ``(B, M, 3)``.
        stream: Tells these numbers from others that are drawn for the same keys.
    """
    dtype = around.dtype
    u = uniform(keys, 5 * num_views, stream=stream).to(dtype).unflatten(1, (num_views, 5))

    def between(which: int, low: float, high: float) -> Tensor:
        return low + (high - low) * u[..., which]

    azimuth = between(0, 0.0, 2 * math.pi)
    elevation = between(1, *map(math.radians, ELEVATION))
    roll = between(2, -math.radians(ROLL), math.radians(ROLL))
    level = elevation.cos()
    back = torch.stack([level * azimuth.sin(), elevation.sin(), level * azimuth.cos()], dim=-1)
    zero = torch.zeros_like(azimuth)
    right = torch.stack([azimuth.cos(), zero, -azimuth.sin()], dim=-1)
    down = torch.linalg.cross(-back, right)  # forward × right
    c, s = roll.cos()[..., None], roll.sin()[..., None]
    axes = torch.stack([c * right + s * down, c * down - s * right, -back], dim=-2)
    position = 0.5 + between(3, *DISTANCE)[..., None] * back
    focal = between(4, *FILL) / _reach(position, axes, around)
    return Cameras(position, axes, focal)


def _reach(position: Tensor, axes: Tensor, around: Tensor) -> Tensor:
    """Return how far from the middle of the image points are seen at focal length 1."""
    seen = axes @ (around.mT[:, None] - position[..., None])  # (B, N, 3, M)
    return (seen[:, :, :2] / seen[:, :, 2:]).abs().amax((2, 3))

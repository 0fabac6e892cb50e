"""Cameras that look at an object from somewhere on a sphere."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from symsets.experiments.synthetic.random import uniform

FILL = (0.75, 0.97)  # share of the half width of an image that the object reaches
DISTANCE = (1.3, 2.2)  # from the middle of the object, whose bounding sphere has radius 0.5
ELEVATION = (-20.0, 65.0)  # degrees
ROLL = 10.0  # degrees to either side
STREAM = 1 << 20  # of the random numbers of cameras


class Cameras(NamedTuple):
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


def random_cameras(keys: Tensor, num_views: int, around: Tensor) -> Cameras:
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
    """
    dtype = around.dtype
    u = uniform(keys, 5 * num_views, stream=STREAM).to(dtype).unflatten(1, (num_views, 5))

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
    seen = axes @ (around.mT[:, None] - position[..., None])  # (B, N, 3, M)
    reach = (seen[:, :, :2] / seen[:, :, 2:]).abs().amax((2, 3))  # at focal length 1
    return Cameras(position, axes, between(4, *FILL) / reach)

"""Sets for merging a burst: shaken, noisy shots of one scene."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from symsets._checks import check_number, positive
from symsets.data.augment import Augment
from symsets.data.on_the_fly import OnTheFlySets
from symsets.sets import pool

RADIUS = 15  # px: kernels are 31 pixels wide
POINTS = 48  # of a camera's path


class BurstSets(OnTheFlySets):
    """Bursts of shots of one scene, each blurred by a camera that moved, and noisy.

    After Aittala and Durand (2018): every shot has a blur kernel of its own, the path of a shaking
    hand, not centred, so shots are also shifted against each other; and Gaussian noise whose
    strength is that of the burst. Values are in [−1, 1] and clipped. The target is the scene as it
    stood when the shutters opened: where all paths begin, so a burst tells where it is.

    Args:
        images: Photographs ``(M, 3, S, S)``, bytes.
        num_sets: Sets of one pass.
        num_elements: Shots in a burst.
        size: Height and width of a crop.
        noise: Largest standard deviation of the noise, in grey levels of 255; each burst draws
            its own uniformly.
        shake: Longest path of a camera in pixels, roughly.
        seed: Fixes the sets for evaluation.

    Shape:
        - sets: ``(B, N, 3, size, size)``.
        - targets: ``(B, 3, size, size)``.

    Example:
        >>> images = torch.randint(256, (5, 3, 40, 40), dtype=torch.uint8)
        >>> x, y = BurstSets(images, 4, size=32).part(0, 4)
        >>> x.shape, y.shape
        (torch.Size([4, 5, 3, 32, 32]), torch.Size([4, 3, 32, 32]))
    """

    def __init__(
        self,
        images: Tensor,
        num_sets: int,
        *,
        num_elements: int = 5,
        size: int = 128,
        noise: float = 10.0,
        shake: float = 28.0,
        seed: int = 0,
    ) -> None:
        super().__init__(images, num_sets, seed=seed)
        self.num_elements = positive("num_elements", num_elements)
        check_number("noise", noise)
        check_number("shake", shake)
        self.noise = noise
        self.shake = shake
        self.augment = Augment(size)

    def make(
        self, which: Tensor, generator: torch.Generator | None, *, augment: bool
    ) -> tuple[Tensor, Tensor]:
        """Make the sets ``which (B,)`` and their targets."""
        B, N = len(which), self.num_elements
        uniform, normal = partial(self.uniform, generator), partial(self.normal, generator)
        photo = self.material[which % len(self.material)][:, None]
        photo = self.augment(photo, generator=generator, move=augment)
        scene = photo / 127.5 - 1  # (B, 1, 3, S, S)
        kernels = shake_kernels((B, N), self.shake, uniform, normal)
        x = blur(scene, kernels)
        sigma = self.noise / 127.5 * uniform(B, 1, 1, 1, 1)
        x = (x + sigma * normal(*x.shape)).clamp(-1, 1)
        return x, scene[:, 0]


def shake_kernels(
    shape: tuple[int, ...],
    shake: float,
    uniform: Callable[..., Tensor],
    normal: Callable[..., Tensor],
) -> Tensor:
    """Draw blur kernels ``(*shape, k, k)``: how long a shaking camera was where.

    A camera starts in the middle, with a random velocity that random pushes change; the length of
    the path is uniform in [0, ``shake``] pixels, and where it would leave the window it stays at
    the border. Every kernel sums to one.

    Args:
        shape: How many.
        shake: Longest path, in pixels.
        uniform: Draws numbers in [0, 1) of a given shape.
        normal: Draws standard normal numbers of a given shape.
    """
    drift = normal(*shape, 1, 2)
    pushes = normal(*shape, POINTS, 2).cumsum(-2) / math.sqrt(POINTS)
    velocity = drift + 1.5 * pushes
    length = velocity.norm(dim=-1, keepdim=True).sum(-2, keepdim=True)
    path = (velocity * (shake * uniform(*shape, 1, 1) / length.clamp(min=1e-6))).cumsum(-2)
    place = (path - path[..., :1, :]).clamp(-RADIUS, RADIUS)
    grid = torch.arange(-RADIUS, RADIUS + 1, device=place.device, dtype=place.dtype)
    # Bilinear splats of all points of a path, added up as a product of two matrices.
    hats = (1 - (place[..., None] - grid).abs()).clamp(min=0)  # (*shape, POINTS, 2, k)
    kernels = hats[..., 0, :].mT @ hats[..., 1, :]
    return kernels / kernels.sum((-2, -1), keepdim=True)


def blur(scene: Tensor, kernels: Tensor) -> Tensor:
    """Convolve scenes ``(B, 1, C, S, S)`` with kernels ``(B, N, k, k)``; borders are mirrored."""
    side = scene.shape[-1]
    mirrored = F.pad(scene[:, 0], [RADIUS] * 4, mode="reflect")
    length = math.ceil((side + 2 * RADIUS) / 16) * 16  # such lengths are fast
    shape = (length, length)
    product = (
        torch.fft.rfft2(mirrored, shape)[:, None] * torch.fft.rfft2(kernels, shape)[:, :, None]
    )
    whole = torch.fft.irfft2(product, shape)
    inside = slice(2 * RADIUS, 2 * RADIUS + side)  # what comes round the edge ends before
    return whole[..., inside, inside]


def median(x: Tensor) -> Tensor:
    """Return the median of a burst at every pixel: the trivial predictor."""
    return pool(x, "median")

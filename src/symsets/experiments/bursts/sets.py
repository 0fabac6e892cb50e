"""Sets for merging a burst: shaken, noisy shots of one scene."""

from functools import partial

import torch
from torch import Tensor

from symsets._checks import check_number, positive
from symsets.data.augment import Augment
from symsets.data.degrading import blur, shake_kernels
from symsets.data.on_the_fly import OnTheFlySets
from symsets.sets import pool


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


def median(x: Tensor) -> Tensor:
    """Return the median of a burst at every pixel: the trivial predictor."""
    return pool(x, "median")

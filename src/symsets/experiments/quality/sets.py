"""Sets for selecting the best picture: one photograph, blurred and spoilt in twenty ways."""

import torch
from torch import Tensor

from symsets._checks import check_choice
from symsets.data.augment import Augment
from symsets.data.on_the_fly import OnTheFlySets

DEGRADATIONS = tuple(
    f"{kind}-{level}" for kind in ("gaussian", "occlusion") for level in (10, 30, 50)
)
MEAN, SPREAD = 0.5, 0.25  # of the values that networks see


class QualitySets(OnTheFlySets):
    r"""Degraded copies of one photograph; the target is the one closest to it.

    Every photograph has a base blur :math:`\sigma \sim U[0, 1]` and every copy its own
    :math:`\sigma' \sim U[0, 1]`: copies are blurred by a Gaussian of width :math:`\sigma + \sigma'`
    pixels. Then they get Gaussian noise (``"gaussian-30"``: of standard deviation 30 grey levels)
    or lose pixels (``"occlusion-30"``: 30 % of all pixels become black in all channels). Values are
    clipped to [0, 1], as a camera would, and given to networks as (x − 0.5) / 0.25. The target is
    the copy with the smallest L1 distance to the clean photograph on the final crop.

    Args:
        images: Photographs ``(M, 3, S, S)``, bytes.
        num_sets: Sets of one pass.
        degradation: One of :data:`DEGRADATIONS`.
        num_elements: Copies in a set.
        size: Height and width of a crop.
        seed: Fixes the sets for evaluation.

    Shape:
        - sets: ``(B, N, 3, size, size)``.
        - targets: ``(B,)``.

    Example:
        >>> images = torch.randint(256, (5, 3, 80, 80), dtype=torch.uint8)
        >>> x, y = QualitySets(images, 4, "occlusion-50").part(0, 4)
        >>> x.shape, y.shape
        (torch.Size([4, 20, 3, 64, 64]), torch.Size([4]))
    """

    def __init__(
        self,
        images: Tensor,
        num_sets: int,
        degradation: str,
        *,
        num_elements: int = 20,
        size: int = 64,
        seed: int = 0,
    ) -> None:
        check_choice("degradation", degradation, DEGRADATIONS)
        super().__init__(images, num_sets, seed=seed)
        kind, _, level = degradation.partition("-")
        self.kind, self.level = kind, float(level)
        self.num_elements = num_elements
        self.size = size
        self.room = images.shape[-1] - size  # for the corner of a crop
        if self.room < 0:
            raise ValueError(f"size must be at most {images.shape[-1]}, that of images, got {size}")
        self.turn = Augment(images.shape[-1], flip=True, rotate=True)

    def make(
        self, which: Tensor, generator: torch.Generator | None, *, augment: bool
    ) -> tuple[Tensor, Tensor]:
        B, N = len(which), self.num_elements
        photo = self.material[which % len(self.material)][:, None]  # (B, 1, 3, S, S)
        if augment:
            photo = self.turn(photo, generator=generator)
        clean = photo / 255
        corner = torch.full((2, B, 1), self.room // 2, device=self.device)
        if augment:
            shape = (2, B, 1)
            corner = torch.randint(self.room + 1, shape, device=self.device, generator=generator)
        rows, columns = corner + torch.arange(self.size, device=self.device)  # (B, size)
        sigma = self.uniform(generator, B, 1) + self.uniform(generator, B, N)
        blur = blur_matrix(sigma, clean.shape[-1])  # (B, N, S, S)
        down, across = (blur.take_along_dim(k[:, None, :, None], 2) for k in (rows, columns))
        x = down[:, :, None] @ clean @ across[:, :, None].mT
        if self.kind == "gaussian":
            x = x + self.level / 255 * self.normal(generator, *x.shape)
        else:
            x = x * (self.uniform(generator, B, N, 1, *x.shape[-2:]) >= self.level / 100)
        x = x.clamp(0, 1)
        lines = clean.take_along_dim(rows[:, None, None, :, None], 3)
        original = lines.take_along_dim(columns[:, None, None, None, :], 4)
        distance = (x - original).abs().flatten(2).mean(2)
        return (x - MEAN) / SPREAD, distance.argmin(1)


def blur_matrix(sigma: Tensor, size: int) -> Tensor:
    """Return matrices ``(*sigma.shape, size, size)`` that blur a line of pixels by a Gaussian.

    Each row sums to one, also at the ends of the line.

    Example:
        >>> blur_matrix(torch.tensor([0.0, 1.0]), 3)[0]
        tensor([[1., 0., 0.],
                [0., 1., 0.],
                [0., 0., 1.]])
    """
    place = torch.arange(size, device=sigma.device, dtype=sigma.dtype)
    distance = (place[:, None] - place).square()
    # A blur far below a pixel is none; the bound keeps 0 / 0 away.
    weight = torch.exp(-distance / (2 * sigma[..., None, None].clamp(min=1e-3).square()))
    return weight / weight.sum(-1, keepdim=True)

"""Pictures that need no download: crops of the photographs inside two libraries, and leaves."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from symsets._extras import require
from symsets.experiments.synthetic.dead_leaves import DeadLeaves
from symsets.experiments.synthetic.generated import Device, Generated

# The colour photographs in scikit-image and scikit-learn. Left out: drawings, grey pictures, the
# second view of the motorcycle, and three that hardly have colours or shapes.
PHOTOGRAPHS = {
    "train": ("astronaut", "coffee", "china.jpg", "motorcycle", "immunohistochemistry"),
    "val": ("rocket",),
    "test": ("chelsea", "flower.jpg"),
}


@lru_cache(maxsize=16)
def photograph(name: str) -> Tensor:
    """Return a photograph, ``(3, H, W)`` bytes, in its full size."""
    if name.endswith(".jpg"):
        pixels = require("sklearn.datasets", "images").load_sample_image(name)
    elif name == "motorcycle":
        pixels = require("skimage.data", "images").stereo_motorcycle()[0]
    else:
        pixels = getattr(require("skimage.data", "images"), name)()
    return torch.from_numpy(np.array(pixels)).permute(2, 0, 1).contiguous()


@dataclass(frozen=True)
class PhotoCrops(Generated):
    """Random crops, at random scales, of the photographs in scikit-image and scikit-learn.

    Each split has photographs of its own: few, but any number of crops can be made of them.
    """

    name = "photo crops"
    STEP = 2**-0.5  # from one scale of a photograph to the next

    def images(self, split: str, num: int | None = None, device: Device = "cpu") -> Tensor:
        """Return the first ``num`` crops of a split, ``(num, 3, size, size)`` bytes."""
        generator, num = self._start(split, num)
        photos = [self._scales(photograph(name)) for name in PHOTOGRAPHS[split]]
        draws = (torch.rand(6, generator=generator, dtype=torch.float64) for _ in range(num))
        return torch.stack([self._crop(photos, u.tolist()) for u in draws]).to(device)

    def _scales(self, full: Tensor) -> list[Tensor]:
        """Return a photograph at all scales at which a crop fits, the largest first."""
        side = min(full.shape[1:])
        scales: list[Tensor] = []
        factor = max(1.0, self.size / side)
        while round(factor * side) >= self.size:
            shape = [max(self.size, round(factor * length)) for length in full.shape[1:]]
            scaled = F.interpolate(
                full[None].float(), shape, mode="bicubic", antialias=True, align_corners=False
            )[0]
            scales.append(scaled.round().clamp(0, 255).to(torch.uint8))
            factor *= self.STEP
        return scales

    def _crop(self, photos: list[list[Tensor]], u: list[float]) -> Tensor:
        scales = photos[int(u[0] * len(photos))]
        photo = scales[int(u[1] * len(scales))]
        height, width = (length - self.size + 1 for length in photo.shape[1:])
        corners = [(int(y * height), int(x * width)) for y, x in (u[2:4], u[4:6])]
        crops = [photo[:, i : i + self.size, j : j + self.size] for i, j in corners]
        # of two places the livelier one, or there would be much empty sky
        return max(crops, key=lambda crop: crop.float().std().item())


@dataclass(frozen=True)
class EmbeddedImages(Generated):
    """Crops of photographs and dead leaves in turn: the pictures that need no download."""

    name = "embedded"

    def images(self, split: str, num: int | None = None, device: Device = "cpu") -> Tensor:
        """Return the first ``num`` pictures of a split, ``(num, 3, size, size)`` bytes."""
        _, num = self._start(split, num)
        parts = (kind(self.size, seed=self.seed) for kind in (PhotoCrops, DeadLeaves))
        both = [part.images(split, (num + 1) // 2, device) for part in parts]
        return torch.stack(both, 1).flatten(0, 1)[:num]

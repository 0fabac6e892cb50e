"""Scenes that need no data: generated places, seen by a satellite that shakes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from symsets.data.splits import SPLITS, checked_split
from symsets.experiments.satellite.resampling import enlarge
from symsets.experiments.satellite.scenes import FULL, SCALE, STEP, Scene, SceneFiles
from symsets.experiments.synthetic.dead_leaves import DeadLeaves

MARGIN = 4  # px of the coarse pictures around what is seen
NOISE = {"RED": 0.0015, "NIR": 0.003}  # in units of 65,535
LOW, SPAN = 0.03, 0.15  # darkest value of a place, and from there to the brightest


class _Places(DeadLeaves):
    """Few at once: there may be few scenes in all."""

    BLOCK = 4


@dataclass(frozen=True)
class GeneratedScenes:
    """Scenes as PROBA-V's are: shifts of fractions of a pixel, blur, noise, brightness, clouds.

    Each picture sees the place shifted by up to a pixel, blurred by the optics and by the pixels
    of the detector, brighter or darker, and noisy. Soft blobs of cloud hide parts of some pictures;
    their masks tell. Band ``"NIR"`` has twice the noise. Coarse pictures are ``side`` pixels wide.

    Example:
        >>> scenes = GeneratedScenes(side=16).scenes("RED", "test", 2)
        >>> [(scene.low.shape[1:], scene.high.shape) for scene in scenes]
        [((16, 16), (48, 48)), ((16, 16), (48, 48))]
    """

    side: int = 32
    seed: int = 0
    name = "generated scenes"
    bands = ("RED", "NIR")

    def scenes(self, band: str, split: str, num: int) -> list[Scene]:
        """Return the first ``num`` scenes of a split."""
        number = SPLITS.index(checked_split(split))
        generator = torch.Generator().manual_seed(1_000_003 * self.seed + number)
        size = SCALE * (self.side + 2 * MARGIN)
        places = _Places(size=size, seed=self.seed).images(split, num).float().mean(1) / 255
        return [
            self._scene(f"{split}{k}", LOW + SPAN * place, NOISE[band], generator)
            for k, place in enumerate(places)
        ]

    def _scene(self, name: str, place: Tensor, noise: float, generator: torch.Generator) -> Scene:
        def uniform(*shape: int) -> Tensor:
            return torch.rand(shape, generator=generator)

        num = 9 + int(16 * uniform(1).item())
        shifts = 2 * uniform(num, 2) - 1
        seen = enlarge(_blurred(place).expand(num, -1, -1), SCALE * shifts)
        low = F.avg_pool2d(seen[:, None], SCALE)[:, 0, MARGIN:-MARGIN, MARGIN:-MARGIN]
        low = low * (0.9 + 0.2 * uniform(num, 1, 1)) + 0.01 * uniform(num, 1, 1)
        low = low + noise * torch.randn(low.shape, generator=generator)
        cloud = _clouds(num, self.side, uniform)
        low = low + 0.3 * cloud
        clear = cloud < 0.02
        inside = slice(SCALE * MARGIN, -SCALE * MARGIN)
        high = _values(place[inside, inside])
        order = np.argsort(-clear.double().mean((1, 2)).numpy(), kind="stable")
        known = np.ones(high.shape, dtype=bool)
        return Scene(name, _values(low)[order], clear.numpy()[order], high, known)


SceneSource = GeneratedScenes | SceneFiles


def _blurred(place: Tensor) -> Tensor:
    """Blur a place as optics do."""
    offsets = torch.arange(-3, 4)
    weights = torch.exp(-0.5 * offsets.square().float())
    weights = (weights / weights.sum())[None, None, None]
    padded = F.pad(place[None, None], [3] * 4, mode="reflect")
    return F.conv2d(F.conv2d(padded, weights), weights.mT)[0, 0]


def _clouds(num: int, side: int, uniform: Callable[..., Tensor]) -> Tensor:
    """Return how thick clouds are, ``(num, side, side)``: a soft blob in half of all pictures."""
    centre, radius = side * uniform(num, 2, 1), side * (0.1 + 0.2 * uniform(num, 1, 1))
    place = torch.arange(side, dtype=torch.float32)
    rows, columns = (place - centre[:, 0]).square(), (place - centre[:, 1]).square()
    square = rows[:, :, None] + columns[:, None, :]
    thick = torch.exp(-square / radius.square())
    there = (uniform(num, 1, 1) < 0.5).float()
    return there * thick * (thick > 0.02)


def _values(pictures: Tensor) -> np.ndarray:
    """Return 16-bit values, multiples of 16."""
    values = (pictures * FULL / STEP).round().clamp(0, FULL // STEP) * STEP
    return values.numpy().astype(np.uint16)

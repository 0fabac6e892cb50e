"""Bursts as they happen: shots of one scene by a hand-held camera, with a clean target."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from symsets._checks import check_number, positive
from symsets.data import degrading
from symsets.data.augment import Augment
from symsets.data.on_the_fly import OnTheFlySets
from symsets.models import with_reference

SPARE = 16  # px of a photograph around a crop, so that a moved camera sees no border
LEFT_SHIFT, LEFT_TURN = 0.3, 0.05  # px and degrees: the most that alignment is wrong by
FAR, FARTHEST = 0.3, 0.3  # the share of aligned bursts that moved far, and how far, of the size


@dataclass(frozen=True)
class Camera:
    """How far shots of a burst differ from the scene. Numbers are the largest that occur."""

    # Smallest and largest standard deviation at full brightness, in grey levels of 255; a burst
    # draws its own, evenly on a logarithmic scale.
    noise: tuple[float, float] = (1.0, 50.0)
    poisson: float = 1.0  # the share of its variance that grows with brightness
    shift: float = 2.0  # pixels on each axis
    turn: float = 1.0  # degrees
    # The share of bursts whose shots were laid over the first one again, as symsets.merge does:
    # interpolated, wrong by up to 0.3 pixels, and with its pixels where they show nothing.
    aligned: float = 0.6
    blur: float = 1.0  # width of a Gaussian, in pixels, of each shot
    shake: float = 6.0  # length of the path of a shaking camera, in pixels, of each shot
    sharp: float = 0.6  # the share of bursts without blur and shake
    exposure: float = 0.15  # change of brightness from shot to shot, as a share
    jpeg: float = 0.25  # the share of bursts stored as JPEG, with qualities from 40 to 98
    halved: float = 0.6  # the share of these that keep colours at half the size
    alike: float = 1.0  # correlation of noise between colours, as demosaicing and JPEG leave it
    grey: float = 0.1  # the share of grey bursts

    def __post_init__(self) -> None:
        low, high = self.noise
        for name, value in {**vars(self), "noise": low}.items():
            check_number(name, value)
        if not 0 < low <= high < math.inf:
            raise ValueError(f"noise must be two rising, positive numbers, got {self.noise}")
        if self.alike > 1:
            raise ValueError(f"alike must be at most 1, a correlation, got {self.alike}")


def checked_size(size: int, most: int) -> int:
    """Return the size of a crop; raise ValueError if JPEG or the photographs do not allow it."""
    if positive("size", size) % 8 or size > most:
        raise ValueError(f"size must be a multiple of 8, at most {most}, got {size}")
    return size


class ShotSets(OnTheFlySets):
    r"""Bursts of shots of one scene, and the scene as the first shot should have shown it.

    Each shot is moved, blurred, changed in brightness, gets noise, is clipped to [0, 1], and stored
    with 8 bits or as JPEG; a share of bursts is then aligned. The first shot is the reference: it
    is not moved and keeps its brightness, and a further channel tells it from the others (see
    :func:`symsets.models.with_reference`).

    .. math:: x_i = \operatorname{clip}\bigl(g_i \, k_i * T_i y + \sqrt{a \, y + b} \; n_i\bigr)

    Args:
        images: Photographs ``(M, 3, S, S)``, bytes.
        num_sets: Sets of one pass.
        num_elements: Shots in a burst.
        size: Height and width of a crop, a multiple of 8, at most S − 32.
        camera: What happens to shots.
        seed: Fixes the sets for evaluation.

    Shape:
        - sets: ``(B, N, 4, size, size)``.
        - targets: ``(B, 3, size, size)``.

    Example:
        >>> images = torch.randint(256, (5, 3, 96, 96), dtype=torch.uint8)
        >>> x, y = ShotSets(images, 4, num_elements=5, size=64).part(0, 4)
        >>> x.shape, y.shape
        (torch.Size([4, 5, 4, 64, 64]), torch.Size([4, 3, 64, 64]))
    """

    def __init__(
        self,
        images: Tensor,
        num_sets: int,
        *,
        num_elements: int = 5,
        size: int = 96,
        camera: Camera | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(images, num_sets, seed=seed)
        self.num_elements = positive("num_elements", num_elements)
        self.size = checked_size(size, images.shape[-1] - 2 * SPARE)
        self.camera = camera or Camera()
        self.augment = Augment(size + 2 * SPARE, rotate=True)

    def make(
        self, which: Tensor, generator: torch.Generator | None, *, augment: bool
    ) -> tuple[Tensor, Tensor]:
        photo = self.material[which % len(self.material)][:, None]
        scene = self.augment(photo, generator=generator, move=augment)[:, 0] / 255
        is_grey = self.uniform(generator, len(scene), 1, 1, 1) < self.camera.grey
        scene = torch.where(is_grey, degrading.grey(scene), scene)
        inside = slice(SPARE, SPARE + self.size)
        x = self._shoot(scene, is_grey[:, None], generator)
        return with_reference(x), scene[..., inside, inside]

    def _shoot(self, scene: Tensor, is_grey: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return shots ``(B, N, 3, size, size)`` of scenes."""
        camera, shape = self.camera, (len(scene), self.num_elements)
        uniform, normal = partial(self.uniform, generator), partial(self.normal, generator)
        others = torch.ones(shape[1], device=self.device)
        others[0] = 0
        # Moved
        shifts = camera.shift * (2 * uniform(*shape, 2) - 1) * others[:, None]
        angles = math.radians(camera.turn) * (2 * uniform(*shape) - 1) * others
        scenes = scene[:, None].expand(-1, shape[1], -1, -1, -1).flatten(0, 1)
        x = degrading.move(scenes, shifts.flatten(0, 1), angles.flatten(), self.size + 2 * SPARE)
        x = x.unflatten(0, shape)
        # Blurred
        sharp = uniform(len(scene), 1, 1, 1) < camera.sharp
        soft = degrading.gaussian_kernels(camera.blur * uniform(*shape))
        shaken = degrading.shake_kernels(shape, camera.shake, uniform, normal)
        either = torch.where(uniform(*shape, 1, 1) < 0.5, soft, shaken)
        still = degrading.gaussian_kernels(torch.zeros(shape, device=self.device))
        x = degrading.blur(x, torch.where(sharp, still, either))
        x = x[..., SPARE:-SPARE, SPARE:-SPARE]
        # Brighter or darker, and noisy
        gain = 1 + camera.exposure * (2 * uniform(*shape) - 1) * others
        x = (x * gain[..., None, None, None]).clamp(0, 1)
        each = (len(scene), 1, 1, 1, 1)
        low, high = camera.noise
        strength = low * (high / low) ** uniform(*each) / 255
        share = camera.poisson * uniform(*each)
        alike = torch.where(is_grey, 1.0, camera.alike * uniform(*each).square())
        x = degrading.sensor_noise(x, strength, share, normal, alike)
        x = (255 * x).round().clamp(0, 255) / 255
        # Stored
        quality = (40 + 58 * uniform(len(scene), 1)).expand(shape)
        halved = (uniform(len(scene), 1) < camera.halved).expand(shape)
        stored = degrading.jpeg(x.flatten(0, 1), quality.flatten(), halved.flatten())
        stored = stored.unflatten(0, shape)
        x = torch.where(uniform(*each) < camera.jpeg, stored, x)
        # Aligned
        laid = self._aligned(x, shifts, angles, others, uniform)
        return torch.where(uniform(*each) < camera.aligned, laid, x)

    def _aligned(
        self,
        x: Tensor,
        shifts: Tensor,
        angles: Tensor,
        others: Tensor,
        uniform: Callable[..., Tensor],
    ) -> Tensor:
        """Lay shots where the first one lies, but for a small error."""
        shape, (B, N) = shifts.shape, shifts.shape[:2]
        wrong = uniform(B, 1).square() * others  # alignment is mostly good
        shifts, angles = degrading.opposite(shifts, angles)
        shifts = shifts + LEFT_SHIFT * wrong[..., None] * (2 * uniform(*shape) - 1)
        angles = angles + math.radians(LEFT_TURN) * wrong * (2 * uniform(B, N) - 1)
        laid = degrading.move(x.flatten(0, 1), shifts.flatten(0, 1), angles.flatten(), self.size)
        far = FARTHEST * self.size * (uniform(B, 1) < FAR) * others
        place = torch.arange(self.size, device=self.device) - (self.size - 1) / 2
        places = place + (shifts + far[..., None] * (2 * uniform(*shape) - 1))[..., None]
        rows, columns = (places.abs() <= self.size / 2).unbind(2)  # (B, N, size)
        seen = (rows[..., :, None] & columns[..., None, :]).unsqueeze(2)
        return torch.where(seen, laid.unflatten(0, (B, N)), x[:, :1])

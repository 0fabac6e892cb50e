"""Pictures with the statistics of natural ones, made of leaves that cover each other."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from symsets.experiments.synthetic import leaves as _leaves
from symsets.experiments.synthetic.generated import Device, Generated


@dataclass(frozen=True)
class DeadLeaves(Generated):
    r"""Generate pictures of textured, shaded leaves that hide one another.

    Leaves of radius :math:`r` with density :math:`\propto r^{-3}` fall on the picture until it is
    covered: the only choice that looks the same at every scale, with edges, occlusion and a power
    spectrum near :math:`1 / f^2`, as photographs have. Each leaf has a shape, colour, texture and
    curvature of its own and casts a soft shadow; each picture has its palette, light and exposure.

    They are rendered on the device in batches.

    Example:
        >>> DeadLeaves(size=32).images("test", 5).shape
        torch.Size([5, 3, 32, 32])

    Reference:
        A. Lee, D. Mumford, J. Huang: Occlusion models for natural images (IJCV 2001).
    """

    name = "dead leaves"
    BLOCK = 16  # pictures rendered at once
    LEAVES = 900  # at most in a picture, nearly all of them small
    OVERSAMPLING = 2  # edges are smoothed by rendering larger

    def images(self, split: str, num: int | None = None, device: Device = "cpu") -> Tensor:
        """Return the first ``num`` pictures of a split, ``(num, 3, size, size)`` bytes."""
        generator, num = self._start(split, num)
        blocks = [self._block(generator, device) for _ in range(-(-num // self.BLOCK))]
        return torch.cat(blocks)[:num]

    def _block(self, generator: torch.Generator, device: Device) -> Tensor:
        leaves = _leaves.fall(self.BLOCK, self.LEAVES, generator).to(device)
        textures = _leaves.noise_textures(generator).to(device)
        angle = 2 * math.pi * torch.rand(self.BLOCK, generator=generator)
        light = torch.stack([angle.sin(), angle.cos()], -1).to(device)
        front = _leaves.seen(leaves, self.size * self.OVERSAMPLING)
        picture = _leaves.paint(leaves, front, textures, light) * _shadow(front, light)
        exposure = torch.randn(self.BLOCK, 2, generator=generator).to(device)
        picture = F.avg_pool2d(_expose(picture, light, exposure), self.OVERSAMPLING)
        return (255 * picture).round().clamp(0, 255).to(torch.uint8)


def _shadow(front: Tensor, light: Tensor, steps: int = 4) -> Tensor:
    """Return how much light ``(B, 1, R, R)`` passes the leaves between a pixel and the light."""
    B, side = front.shape[:2]
    place = torch.arange(side, device=front.device)
    picture = torch.arange(B, device=front.device)[:, None, None]
    hidden = torch.zeros(front.shape, device=front.device)
    for step in range(1, steps + 1):
        offset = (light * step * side / 80).round().long()  # (B, 2)
        rows = (place + offset[:, :1]).clamp(0, side - 1)
        columns = (place + offset[:, 1:]).clamp(0, side - 1)
        hidden += front[picture, rows[:, :, None], columns[:, None, :]] < front
    soft = F.avg_pool2d(hidden[:, None], 5, stride=1, padding=2, count_include_pad=False)
    return 1 - 0.6 * soft / steps


def _expose(picture: Tensor, light: Tensor, exposure: Tensor) -> Tensor:
    """Let the light fall off, choose an exposure, and turn linear colours into display values."""
    side = picture.shape[-1]
    place = torch.linspace(-1, 1, side, device=picture.device)
    across = light[:, :1, None] * place[:, None] + light[:, 1:, None] * place  # (B, R, R)
    falloff = (0.35 * exposure[:, 1, None, None] * across).exp()
    picture = picture * falloff[:, None]
    gain = 0.35 * (0.35 * exposure[:, 0]).exp() / picture.mean((1, 2, 3))
    return (1 - (-gain[:, None, None, None] * picture).exp()) ** (1 / 2.2)

"""What surfaces look like: colours and patterns of their own, light, and what is behind them."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from symsets.experiments.synthetic.random import Draws, uniform
from symsets.experiments.views.cameras import Cameras

SIDE_TINT = (0.18, 0.0, -0.18)  # red, green, blue: warm where a surface faces +x, cool towards -x
AMBIENT, SHINE = 0.35, 0.2
STREAM = 1 << 22  # of the random numbers of backgrounds
GRID = 5  # random colours along each side of a background


@dataclass(frozen=True)
class Look:
    """The colours of objects, for each of R roles that their surfaces can play.

    Attributes:
        colours: Two colours that a pattern mixes, ``(B, R, 2, 3)``.
        waves: The pattern's wave vector in object coordinates, ``(B, R, 3)``.
    """

    colours: Tensor
    waves: Tensor

    def albedo(self, role: Tensor, x: Tensor) -> Tensor:
        """Return the colours of points ``x (B, M, 3)`` with roles ``(B, M)``."""
        rows = torch.arange(len(x), device=x.device)[:, None]
        phase = (self.waves[rows, role] * (x - 0.5)).sum(-1, keepdim=True)
        mix = 0.5 + 0.5 * torch.tanh(3 * torch.sin(phase))
        pair = self.colours[rows, role]  # (B, M, 2, 3)
        return pair[..., 0, :].lerp(pair[..., 1, :], mix)


def random_look(draws: Draws, typical: Tensor) -> Look:
    """Draw colours around typical ones, and patterns.

    Args:
        draws: Numbers for each object.
        typical: Hue, saturation and value of each role and how far each may vary, ``(R, 2, 3)``,
            in 0 to 1; hues wrap around.
    """
    num = len(typical)
    typical = typical.to(draws.keys.device, draws.dtype)
    tone = typical[:, 0] + typical[:, 1] * draws.uniform(-1, 1, num, 3)
    second = tone + draws.uniform(-1, 1, num, 3) * tone.new_tensor([0.08, 0.15, 0.2])
    colours = torch.stack([_rgb(tone), _rgb(second)], dim=2)
    ways = draws.uniform(-1, 1, num, 3)
    ways = ways / ways.norm(dim=-1, keepdim=True).clamp_min(1e-3)
    return Look(colours, ways * draws.uniform(30, 90, num, 1))


def _rgb(tone: Tensor) -> Tensor:
    """Turn hue, saturation and value into red, green and blue."""
    hue = tone[..., 0:1] % 1
    saturation, value = tone[..., 1:2].clamp(0, 1), tone[..., 2:3].clamp(0, 1)
    offset = tone.new_tensor([5.0, 3.0, 1.0])
    k = (offset + 6 * hue) % 6
    return value - value * saturation * torch.minimum(k, 4 - k).clamp(0, 1)


def light_up(albedo: Tensor, normal: Tensor, cameras: Cameras, front: Tensor) -> Tensor:
    """Return the colours of lit surfaces; the light is above and beside the camera.

    Shape:
        - albedo (the surfaces' own colours), normal (outward, of length 1): ``(B, N, R, 3)``.
        - front (where they are): ``(B, N, 3, R)``.
        - output: ``(B, N, R, 3)``, in 0 to 1.
    """
    right, down, forward = cameras.axes.unbind(-2)
    side = torch.sin(37 * cameras.position.sum(-1, keepdim=True))  # differs from view to view
    light = 0.7 * side * right - 0.6 * down - forward
    light = (light / light.norm(dim=-1, keepdim=True))[:, :, None]
    towards = cameras.position[:, :, None] - front.mT
    towards = towards / towards.norm(dim=-1, keepdim=True)
    facing = (normal * light).sum(-1, keepdim=True).clamp_min(0)
    halfway = light + towards
    halfway = halfway / halfway.norm(dim=-1, keepdim=True).clamp_min(1e-6)
    gloss = (normal * halfway).sum(-1, keepdim=True).clamp_min(0) ** 20
    tint = 1 + normal[..., 0:1] * normal.new_tensor(SIDE_TINT)
    return (albedo * tint * (AMBIENT + (1 - AMBIENT) * facing) + SHINE * gloss).clamp(0, 1)


def paint(colour: Tensor, mask: Tensor, keys: Tensor, size: int) -> Tensor:
    """Put colours ``(B, N, 3, R)`` in front of smooth random backgrounds."""
    B, N = colour.shape[:2]
    u = uniform(keys, N * 3 * GRID * GRID, stream=STREAM).reshape(-1, 3, GRID, GRID)
    behind = interpolate(u, size=(size, size), mode="bilinear", align_corners=True)
    behind = behind.unflatten(0, (B, N)).to(colour.dtype)
    seen = mask[:, :, None].unflatten(-1, (size, size))
    return torch.where(seen, colour.unflatten(-1, (size, size)), behind)

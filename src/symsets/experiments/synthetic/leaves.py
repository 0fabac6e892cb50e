"""How leaves fall, what is seen of them, and how they look, for a batch of pictures at once."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

SMALLEST, LARGEST = 0.015, 0.45  # radii, in units of the side of the picture
COVERAGE = 2.5  # area of all leaves in units of the picture's
CHUNK = 1 << 20  # pixels of leaves looked at together
TEXTURES = 32  # noise textures to choose from
TEXELS = 128  # side of a texture, which repeats


class Leaf(NamedTuple):
    """Properties of leaves, each a tensor of the same shape: ``(B, K)``, or one leaf per pixel.

    Lengths are in units of the side of the picture.
    """

    row: Tensor
    column: Tensor
    radius: Tensor  # of the circle around the leaf
    angle: Tensor  # of its long axis
    aspect: Tensor
    exponent: Tensor  # of the superellipse: 1 a diamond, 2 an ellipse, 9 nearly a rectangle
    lobes: Tensor  # how many,
    height: Tensor  # how high, and
    phase: Tensor  # where
    red: Tensor
    green: Tensor
    blue: Tensor
    texture: Tensor  # which one,
    shift: Tensor  # from where in it,
    texel: Tensor  # its scale,
    stretch: Tensor  # along the leaf, and
    strength: Tensor
    stripes: Tensor  # how many,
    stripe: Tensor  # and how strong
    bend: Tensor  # how much brighter is the side that faces the light

    def to(self, device: torch.device | str) -> Leaf:
        """Move all properties."""
        return Leaf(*(part.to(device) for part in self))

    def at(self, index: Tensor) -> Leaf:
        """Return the leaves ``(B, …)`` that an index into each picture's leaves names."""
        flat = index.flatten(1)
        return Leaf(*(part.gather(1, flat).view_as(index) for part in self))

    def local(self, row: Tensor, column: Tensor) -> tuple[Tensor, Tensor]:
        """Turn points of the picture into coordinates along and across the leaf."""
        y, x = (row - self.row) / self.radius, (column - self.column) / self.radius
        cos, sin = self.angle.cos(), self.angle.sin()
        return cos * x + sin * y, cos * y - sin * x

    def level(self, along: Tensor, across: Tensor) -> Tensor:
        """Return 0 in the centre, 1 on the outline, in between inside, whatever the shape."""
        u, v = along.abs() + 1e-6, self.aspect * across.abs() + 1e-6
        ball = (u**self.exponent + v**self.exponent) ** (1 / self.exponent)
        corners = 2 ** (0.5 - 1 / self.exponent).clamp_min(0)  # keeps them inside the circle
        wave = torch.cos(self.lobes * torch.atan2(across, along) + self.phase)
        return ball * corners * (1 + self.height) / (1 + self.height * wave)


def fall(num_pictures: int, num_leaves: int, generator: torch.Generator) -> Leaf:
    """Draw the leaves of each picture, front ones first; the last is a ground without end."""
    B, K = num_pictures, num_leaves

    def u(low: float = 0.0, high: float = 1.0, num: int = K) -> Tensor:
        return low + (high - low) * torch.rand(B, num, generator=generator)

    radius = _radii(u(), smallest=SMALLEST * 8 ** u(num=1))  # some have large leaves only
    red, green, blue = _colours(B, K, generator).unbind(-1)
    leaves = Leaf(
        row=0.5 + u(-0.5, 0.5) * (1 + 2 * radius),
        column=0.5 + u(-0.5, 0.5) * (1 + 2 * radius),
        radius=radius,
        angle=u(0, 2 * math.pi),
        aspect=1 + 2.5 * u() ** 2,
        exponent=torch.where(u() < 0.5, 2.0, 1.3 + 9 * u() ** 2),
        lobes=u(2, 7).floor(),
        height=u(0, 0.35) * (u() < 0.4),
        phase=u(0, 2 * math.pi),
        red=red,
        green=green,
        blue=blue,
        texture=u(0, TEXTURES).floor(),
        shift=u(0, TEXELS),
        texel=0.5 * 4 ** u(),
        stretch=torch.where(u() < 0.3, u(2, 8), 1.0),
        strength=0.7 * u() ** 1.5,
        stripes=2 * 5 ** u(),
        stripe=u(0, 0.5) * (u() < 0.15),
        bend=u(0, 0.8),
    )
    ground = {"row": 0.5, "column": 0.5, "radius": 2.0, "height": 0.0, "stripe": 0.0}
    for name, value in ground.items():
        getattr(leaves, name)[:, -1] = value
    return leaves


def _radii(u: Tensor, smallest: Tensor) -> Tensor:
    """Draw radii with density r⁻³ among all leaves in the plane, given that they may hit.

    Once a picture's leaves have ``COVERAGE`` times its area, the rest get the radius 0.
    """
    r = torch.logspace(math.log10(SMALLEST), math.log10(LARGEST), 2000, dtype=torch.float64)
    number = (r**-2 * (1 + 2 * r) ** 2).flip(0).cumsum(0).flip(0)  # of leaves of at least r
    area = (0.5 * math.pi * torch.ones_like(r)).flip(0).cumsum(0).flip(0)  # that they cover
    start = torch.searchsorted(r, smallest.double())
    place = torch.searchsorted(-number, -number[start] * (1 - u.double()))
    radius = r[place.clamp_max(len(r) - 1)].float()
    enough = COVERAGE * number[start] / area[start]
    return radius * (torch.arange(u.shape[1]) < enough)


def _colours(B: int, K: int, generator: torch.Generator) -> Tensor:
    """Draw linear colours ``(B, K, 3)`` from a small palette of each picture."""

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    # brightness varies most, then blue against yellow, then red against green, as outdoors
    axes = torch.tensor([[1.0, 1.0, 1.0], [0.55, 0.25, -0.8], [0.5, -0.5, 0.0]])
    palette = normal(B, 6, 3) * torch.tensor([1.2, 0.6, 0.35]) + normal(B, 1, 3) * 0.25
    which = torch.randint(6, (B, K), generator=generator)
    chosen = palette.gather(1, which[..., None].expand(B, K, 3))
    return (chosen + normal(B, K, 3) * torch.tensor([0.35, 0.12, 0.1])).matmul(axes).exp()


def seen(leaves: Leaf, side: int) -> Tensor:
    """Return the front leaf at each pixel, ``(B, side, side)``.

    Leaves of like size are drawn together, each in the square around it, and the smallest number
    wins at every pixel: the work is the area of the leaves, not leaves times pixels.
    """
    B, K = leaves.radius.shape
    front = torch.full((B * side * side,), K - 1, device=leaves.radius.device)
    radius = leaves.radius[:, : K - 1] * side
    widths = SMALLEST * side * 2 ** torch.arange(0, math.log2(LARGEST / SMALLEST) + 0.5, 0.5)
    for low, high in pairwise([0.0, *widths.tolist()]):
        picture, number = ((radius > low) & (radius <= high)).nonzero(as_tuple=True)
        reach = math.ceil(high) + 1
        step = max(1, CHUNK // (2 * reach + 1) ** 2)
        for some in zip(picture.split(step), number.split(step), strict=True):
            _draw(leaves, *some, front, side, reach)
    return front.view(B, side, side)


def _draw(
    leaves: Leaf, picture: Tensor, number: Tensor, front: Tensor, side: int, reach: int
) -> None:
    """Enter some leaves into ``front``, each in a window of ``reach`` pixels to all sides."""
    leaf = Leaf(*(part[picture, number, None, None] for part in leaves))  # (n, 1, 1) each
    window = torch.arange(-reach, reach + 1, device=front.device)
    row = (leaf.row * side).long() + window[:, None]  # (n, w, 1)
    column = (leaf.column * side).long() + window  # (n, 1, w)
    inside = leaf.level(*leaf.local((row + 0.5) / side, (column + 0.5) / side)) < 1
    inside &= (row >= 0) & (row < side) & (column >= 0) & (column < side)
    pixel = (picture[:, None, None] * side + row) * side + column
    drawn = number[:, None, None].expand_as(pixel)[inside]
    front.scatter_reduce_(0, pixel[inside], drawn, "amin")


def noise_textures(generator: torch.Generator) -> Tensor:
    """Draw periodic noise ``(TEXTURES, TEXELS, TEXELS)`` of spectra between f⁰ and f⁻³."""
    f = torch.fft.fftfreq(TEXELS)
    frequency = torch.hypot(f[:, None], f[None, :]).clamp_min(1 / TEXELS)
    slope = torch.linspace(0.2, 1.6, TEXTURES)[:, None, None]
    white = torch.fft.fft2(torch.randn(TEXTURES, TEXELS, TEXELS, generator=generator))
    noise = torch.fft.ifft2(white * frequency**-slope).real
    noise = noise - noise.mean((1, 2), keepdim=True)
    return noise / noise.std((1, 2), keepdim=True)


def paint(leaves: Leaf, front: Tensor, textures: Tensor, light: Tensor) -> Tensor:
    """Return linear colours ``(B, 3, side, side)`` of the leaves in front.

    ``front (B, side, side)`` is from :func:`seen`, ``textures`` from :func:`noise_textures`;
    ``light (B, 2)`` is the direction of the light, in rows and columns.
    """
    side = front.shape[-1]
    leaf = leaves.at(front)
    place = (torch.arange(side, device=front.device) + 0.5) / side
    row, column = place[:, None], place
    along, across = leaf.local(row, column)
    to_texel = side * leaf.radius * leaf.texel
    i = (along * to_texel / leaf.stretch + leaf.shift).long() % TEXELS
    j = (across * to_texel + 7 * leaf.shift).long() % TEXELS
    grain = textures[leaf.texture.long(), i, j] * leaf.strength
    wave = torch.sin(math.pi * leaf.stripes * along + grain)
    facing = light[:, 0, None, None] * (row - leaf.row) + light[:, 1, None, None] * (
        column - leaf.column
    )
    edge = leaf.level(along, across).clamp(0, 1) ** 6
    bright = grain + leaf.stripe * wave + leaf.bend * (facing / leaf.radius - 0.35 * edge)
    return torch.stack([leaf.red, leaf.green, leaf.blue], 1) * bright.exp()[:, None]

"""What cameras do to pictures: motion, blur, noise, exposure and JPEG, on the device."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from symsets.ops._constants import constant

RADIUS = 15  # px: kernels of a shaking camera are 31 pixels wide
POINTS = 48  # of its path
BLOCK = 8  # px of JPEG
# Steps of JPEG at quality 50 (Annex K of the standard), for brightness and for colour.
BRIGHTNESS = (
    (16, 11, 10, 16, 24, 40, 51, 61),
    (12, 12, 14, 19, 26, 58, 60, 55),
    (14, 13, 16, 24, 40, 57, 69, 56),
    (14, 17, 22, 29, 51, 87, 80, 62),
    (18, 22, 37, 56, 68, 109, 103, 77),
    (24, 35, 55, 64, 81, 104, 113, 92),
    (49, 64, 78, 87, 103, 121, 120, 101),
    (72, 92, 95, 98, 112, 100, 103, 99),
)
COLOUR = ((17, 18, 24, 47), (18, 21, 26, 66), (24, 26, 56, 99), (47, 66, 99, 99))  # else 99
TO_YCC = ((0.299, 0.587, 0.114), (-0.1687, -0.3313, 0.5), (0.5, -0.4187, -0.0813))


def move(pictures: Tensor, shifts: Tensor, angles: Tensor, size: int) -> Tensor:
    """Return the middle of pictures as a camera sees it that was shifted and turned.

    Args:
        pictures: ``(T, C, H, W)``.
        shifts: ``(T, 2)``, rows and columns, in pixels.
        angles: ``(T,)``, in radians, around the middle.
        size: Height and width of the result.

    Example:
        >>> x = torch.rand(1, 3, 20, 20)
        >>> y = move(x, torch.tensor([[1.0, -2.0]]), torch.zeros(1), 10)
        >>> torch.allclose(y, x[:, :, 6:16, 3:13], atol=1e-5)
        True
    """
    height, width = pictures.shape[-2:]
    place = torch.arange(size, device=pictures.device, dtype=pictures.dtype) - (size - 1) / 2
    cos, sin = torch.cos(angles)[:, None, None], torch.sin(angles)[:, None, None]
    row, column = place[:, None], place[None, :]
    rows = cos * row + sin * column + shifts[:, 0, None, None]
    columns = cos * column - sin * row + shifts[:, 1, None, None]
    grid = torch.stack([2 * columns / width, 2 * rows / height], dim=-1)
    if (height - size) % 2:
        grid = torch.stack([grid[..., 0] - 1 / width, grid[..., 1] - 1 / height], dim=-1)
    return F.grid_sample(pictures, grid, "bicubic", "reflection", align_corners=False)


def opposite(shifts: Tensor, angles: Tensor) -> tuple[Tensor, Tensor]:
    """Return the shifts and angles by which :func:`move` undoes other shifts and angles.

    Example:
        >>> shifts, angles = torch.tensor([[3.0, -2.0]]), torch.tensor([0.1])
        >>> wave = torch.linspace(0, 6, 40).sin()
        >>> x = (wave[:, None] * wave).expand(1, 1, 40, 40)
        >>> y = move(move(x, shifts, angles, 40), *opposite(shifts, angles), 40)
        >>> bool((y - x)[..., 10:-10, 10:-10].abs().max() < 1e-2)
        True
    """
    rows, columns = shifts.unbind(-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([sin * columns - cos * rows, -sin * rows - cos * columns], -1), -angles


def shake_kernels(
    shape: tuple[int, ...],
    shake: float | Tensor,
    uniform: Callable[..., Tensor],
    normal: Callable[..., Tensor],
    *,
    centred: bool = False,
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
        centred: Whether the middle of the path lies in the middle, not its start: then pictures are
            blurred where they are.
    """
    drift = normal(*shape, 1, 2)
    pushes = normal(*shape, POINTS, 2).cumsum(-2) / math.sqrt(POINTS)
    velocity = drift + 1.5 * pushes
    length = velocity.norm(dim=-1, keepdim=True).sum(-2, keepdim=True)
    path = (velocity * (shake * uniform(*shape, 1, 1) / length.clamp(min=1e-6))).cumsum(-2)
    origin = path.mean(-2, keepdim=True) if centred else path[..., :1, :]
    place = (path - origin).clamp(-RADIUS, RADIUS)
    grid = torch.arange(-RADIUS, RADIUS + 1, device=place.device, dtype=place.dtype)
    # Bilinear splats of all points of a path, added up as a product of two matrices.
    hats = (1 - (place[..., None] - grid).abs()).clamp(min=0)  # (*shape, POINTS, 2, k)
    kernels = hats[..., 0, :].mT @ hats[..., 1, :]
    return kernels / kernels.sum((-2, -1), keepdim=True)


def blur(scenes: Tensor, kernels: Tensor) -> Tensor:
    """Convolve pictures with kernels of 31×31 pixels; borders are mirrored.

    Args:
        scenes: ``(B, N, C, S, S)``, or ``(B, 1, C, S, S)`` for all elements of a set.
        kernels: ``(B, N, 31, 31)``.
    """
    side = scenes.shape[-1]
    mirrored = F.pad(scenes.flatten(0, 1), [RADIUS] * 4, mode="reflect")
    mirrored = mirrored.unflatten(0, scenes.shape[:2])
    length = math.ceil((side + 2 * RADIUS) / 16) * 16  # such lengths are fast
    shape = (length, length)
    product = torch.fft.rfft2(mirrored, shape) * torch.fft.rfft2(kernels, shape)[:, :, None]
    whole = torch.fft.irfft2(product, shape)
    inside = slice(2 * RADIUS, 2 * RADIUS + side)  # what comes round the edge ends before
    return whole[..., inside, inside]


def gaussian_kernels(sigma: Tensor) -> Tensor:
    """Return Gaussian blur kernels ``(*sigma.shape, 31, 31)`` of some widths in pixels."""
    place = torch.arange(-RADIUS, RADIUS + 1, device=sigma.device, dtype=sigma.dtype)
    # A blur far below a pixel is none; the bound keeps 0 / 0 away.
    line = torch.exp(-place.square() / (2 * sigma[..., None].clamp(min=1e-2).square()))
    line = line / line.sum(-1, keepdim=True)
    return line[..., :, None] * line[..., None, :]


def disc_kernels(radius: Tensor) -> Tensor:
    """Return kernels ``(*radius.shape, 31, 31)`` of lenses out of focus: discs with soft rims.

    Example:
        >>> disc_kernels(torch.tensor(1.0))[14:17, 14:17]
        tensor([[0.0257, 0.1496, 0.0257],
                [0.1496, 0.2991, 0.1496],
                [0.0257, 0.1496, 0.0257]])
    """
    place = torch.arange(-RADIUS, RADIUS + 1, device=radius.device, dtype=radius.dtype)
    distance = torch.hypot(place[:, None], place)
    discs = (radius[..., None, None] + 0.5 - distance).clamp(0, 1)
    return discs / discs.sum((-2, -1), keepdim=True)


def sensor_noise(
    pictures: Tensor,
    strength: Tensor,
    poisson: Tensor,
    normal: Callable[..., Tensor],
    alike: Tensor | None = None,
) -> Tensor:
    r"""Add noise whose variance grows with brightness.

    .. math:: x + s \sqrt{p \, x + 1 - p} \; n

    Args:
        pictures: :math:`x`, in [0, 1].
        strength: :math:`s`, its standard deviation at full brightness.
        poisson: :math:`p`, the share of its variance that grows with brightness.
        normal: Draws standard normal numbers of a given shape.
        alike: Correlation of :math:`n` between colours: 1 for grey pictures, 0 if left out.
    """
    spread = (poisson * pictures + 1 - poisson).sqrt()
    noise = normal(*pictures.shape)
    if alike is not None:
        common = normal(*pictures.shape[:-3], 1, *pictures.shape[-2:])
        noise = (1 - alike).sqrt() * noise + alike.sqrt() * common
    return pictures + strength * spread * noise


def grey(pictures: Tensor) -> Tensor:
    """Return pictures ``(…, 3, H, W)`` whose colours are all the brightness of JPEG."""
    weights = pictures.new_tensor(TO_YCC[0])[:, None, None]
    return (weights * pictures).sum(-3, keepdim=True).expand_as(pictures)


def jpeg(pictures: Tensor, quality: Tensor, halved: Tensor | None = None) -> Tensor:
    """Return what is left of pictures after JPEG.

    Args:
        pictures: ``(T, 3, H, W)`` in [0, 1], with H and W multiples of 8.
        quality: ``(T,)``, from 1 to 100, as other programs count it.
        halved: Whether colours are kept at half the size, ``(T,)``, as cameras do (4:2:0); not, if
            left out. Their own blocks are not of half the size here.
    """
    T, _, H, W = pictures.shape
    to_ycc, to_rgb, level, tables, cosines = (
        constant(part, (), pictures.dtype, pictures)
        for part in (_to_ycc, _to_rgb, _level, _tables, _cosines)
    )
    scale = torch.where(quality < 50, 50 / quality, 2 - quality / 50)[:, None, None, None]
    steps = (tables * scale).round().clamp(1, 255)[:, :, None, :, None, :]  # (T, 3, 1, 8, 1, 8)
    ycc = 255 * torch.einsum("kc,tchw->tkhw", to_ycc, pictures) - level
    if halved is not None:
        small = F.avg_pool2d(ycc[:, 1:], 2)
        large = F.interpolate(small, scale_factor=2, mode="bilinear", align_corners=False)
        colour = torch.where(halved[:, None, None, None], large, ycc[:, 1:])
        ycc = torch.cat([ycc[:, :1], colour], dim=1)
    blocks = ycc.reshape(T, 3, H // BLOCK, BLOCK, W // BLOCK, BLOCK)
    waves = torch.einsum("ai,tchiwj,bj->tchawb", cosines, blocks, cosines)
    waves = (waves / steps).round() * steps
    blocks = torch.einsum("ai,tchawb,bj->tchiwj", cosines, waves, cosines)
    ycc = blocks.reshape(T, 3, H, W) + level
    return torch.einsum("ck,tkhw->tchw", to_rgb, ycc / 255).clamp(0, 1)


def _to_ycc(device: torch.device) -> Tensor:
    return torch.tensor(TO_YCC, dtype=torch.float64, device=device)


def _to_rgb(device: torch.device) -> Tensor:
    return torch.linalg.inv(_to_ycc(device))


def _level(device: torch.device) -> Tensor:
    """Return what brightness and colours are counted from."""
    return torch.tensor([128.0, 0, 0], device=device)[:, None, None]


def _tables(device: torch.device) -> Tensor:
    """Return the steps of JPEG at quality 50, ``(3, 8, 8)``."""
    tables = torch.full((3, BLOCK, BLOCK), 99.0, device=device)
    tables[0] = torch.tensor(BRIGHTNESS, device=device)
    tables[1:, :4, :4] = torch.tensor(COLOUR, device=device)
    return tables


def _cosines(device: torch.device) -> Tensor:
    """Return the orthogonal matrix of the discrete cosine transform."""
    k = torch.arange(BLOCK, device=device, dtype=torch.float64)
    waves = torch.cos(math.pi / BLOCK * (k + 0.5) * k[:, None]) * math.sqrt(2 / BLOCK)
    waves[0] = waves[0] / math.sqrt(2)
    return waves

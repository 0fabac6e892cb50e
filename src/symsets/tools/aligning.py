"""Lay shots of one scene over each other, to a fraction of a pixel."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

COARSEST, FINEST = 96, 1024  # px of the longer side: where alignment begins, and where it ends
STEPS = 6  # of least squares at each size, at most
ENOUGH = 0.01  # px: a step that moves nothing further is the last one at its size
DAMPING = 1e-4  # keeps scenes without detail where they are
FRAME = 3  # px at the border that no fit looks at
FLAT = 0.6  # of smooth over fine contrast: white noise has 0.3, and photographs have far more
ALIKE = 0.25  # correlation of coarse, aligned shots below which they show different scenes
SURE = 0.95  # and from which on they show the same one, whatever their details say
SIDE, BROAD = 128, 17  # px: the size at which details are compared, and what is too broad for one


def align(shots: Tensor, reference: int = 0) -> tuple[Tensor, Tensor]:
    r"""Find the affine map from the places of one shot to those of each other shot.

    Phase correlation of coarse copies finds large shifts. From there, Gauss–Newton steps (Lucas and
    Kanade, 1981) fit all six numbers of a map, with a contrast and a brightness of its own for each
    shot, to finer and finer copies.

    Args:
        shots: ``(N, C, H, W)``.
        reference: The shot that stays where it is.

    Returns:
        Maps ``(N, 2, 3)``: the pixel at ``(column, row, 1)`` of the reference is at ``map @ place``
        of the shot, in units in which the longer side is 2 and the middle is 0. And how alike each
        shot and the reference are ``(N,)``: the correlation of coarse copies, or 1 where both show
        nothing but noise.

    Example:
        >>> scene = torch.nn.functional.avg_pool2d(torch.rand(1, 3, 200, 200), 9, 1)
        >>> shots = torch.cat([scene[..., 10:150, 10:150], scene[..., 13:153, 8:148]])
        >>> maps, _ = align(shots)
        >>> (maps[1, :, 2] * 140 / 2).round().tolist()  # columns, rows
        [2.0, -3.0]
    """
    grey = shots.mean(1)
    longer = max(grey.shape[-2:])
    sizes = [min(longer, FINEST)]
    while sizes[-1] >= 2 * COARSEST:
        sizes.append(sizes[-1] // 2)
    maps = torch.eye(2, 3, device=grey.device, dtype=grey.dtype).repeat(len(grey), 1, 1)
    alike, flat = grey.new_ones(len(grey)), grey.new_zeros(len(grey)).bool()
    for size in reversed(sizes):
        fine = shrunk(grey[:, None], size / longer)[:, 0]
        small = _smooth(fine)
        if size == sizes[-1]:
            maps[:, :, 2] = _shifts(small, reference)
        table = _table(small[reference])
        for _ in range(STEPS):
            step = _correction(small, maps, table)
            maps = maps - step
            if float(step.abs().max()) * size / 2 < ENOUGH:
                break
        if size == sizes[-1]:
            alike = _correlation(small, maps, reference)
            flat = small.std((1, 2)) <= FLAT * (fine - small).std((1, 2))
    # Shots of nothing, in which there is only noise to compare, stay where they are.
    still = flat & flat[reference] & (alike < ALIKE)
    still[reference] = True
    eye = torch.eye(2, 3, device=maps.device, dtype=maps.dtype)
    return torch.where(still[:, None, None], eye, maps), torch.where(still, 1, alike)


def other_scenes(shots: Tensor, maps: Tensor, alike: Tensor, reference: int) -> Tensor:
    """Return which shots show another scene than the reference ``(N,)``, given their alignment.

    Many scenes are bright above and dark below. So if coarse copies do not settle it, their details
    must be alike, too.
    """
    grey = shrunk(shots.mean(1, keepdim=True), min(1, SIDE / max(shots.shape[-2:])))
    small = _smooth(grey[:, 0])
    shades = F.avg_pool2d(small[:, None], BROAD, 1, BROAD // 2, count_include_pad=False)[:, 0]
    details = _correlation(small - shades, maps, reference)
    return (alike < ALIKE) | ((alike < SURE) & (details < ALIKE))


def sample(
    shots: Tensor, maps: Tensor, top: int = 0, left: int = 0, size: tuple[int, int] | None = None
) -> tuple[Tensor, Tensor]:
    """Return what shots show where the reference has a window, and where they show something.

    The window begins at row ``top`` and column ``left``; without ``size (h, w)`` it is all of the
    picture.

    Shape:
        - shots: ``(N, C, H, W)``.
        - maps: ``(N, 2, 3)`` from :func:`align`.
        - output: ``(N, C, h, w)``, and ``(N, 1, h, w)``, true inside the shot.
    """
    height, width = shots.shape[-2:]
    h, w = size or (height, width)
    rows = torch.arange(top, top + h, device=maps.device, dtype=maps.dtype)
    columns = torch.arange(left, left + w, device=maps.device, dtype=maps.dtype)
    places = _positions(maps, rows - (height - 1) / 2, columns - (width - 1) / 2, (height, width))
    inside = (places.abs() <= 1).all(-1).unsqueeze(1)
    found = F.grid_sample(shots, places, "bicubic", "border", align_corners=False)
    return found, inside


def _positions(maps: Tensor, rows: Tensor, columns: Tensor, shape: tuple[int, int]) -> Tensor:
    """Return where pixels of the reference are in each shot, ``(N, h, w, 2)``, as torch counts."""
    half = max(shape) / 2
    x, y = (columns / half)[None, :], (rows / half)[:, None]
    a = maps[:, :, :, None, None]
    places = a[:, :, 0] * x + a[:, :, 1] * y + a[:, :, 2]  # (N, 2, h, w)
    sides = maps.new_tensor([shape[1], shape[0]]) / (2 * half)
    return places.movedim(1, -1) / sides


def shrunk(pictures: Tensor, scale: float) -> Tensor:
    """Make pictures ``(N, C, H, W)`` smaller, by means of pixels."""
    if scale == 1:
        return pictures
    size = [max(8, round(side * scale)) for side in pictures.shape[-2:]]
    return F.interpolate(pictures, size=size, mode="area")


def _smooth(grey: Tensor) -> Tensor:
    """Blur by about a pixel, so that noise has less and slopes have more to say."""
    line = grey.new_tensor([1.0, 4.0, 6.0, 4.0, 1.0]) / 16
    padded = F.pad(grey[:, None], [2] * 4, mode="replicate")
    return F.conv2d(F.conv2d(padded, line.view(1, 1, 1, 5)), line.view(1, 1, 5, 1))[:, 0]


def _shifts(small: Tensor, reference: int) -> Tensor:
    """Return shifts ``(N, 2)`` (columns, rows; the longer side is 2) by phase correlation."""
    height, width = small.shape[-2:]
    window = [
        torch.hann_window(side, periodic=False, device=small.device, dtype=small.dtype)
        for side in (height, width)
    ]
    centred = (small - small.mean((-2, -1), keepdim=True)) * window[0][:, None] * window[1]
    waves = torch.fft.rfft2(centred)
    product = waves * waves[reference].conj()
    peak = torch.fft.irfft2(product / product.abs().clamp(min=1e-12), (height, width))
    best = peak.flatten(1).argmax(1)
    rows, columns = best // width, best % width
    rows = torch.where(rows > height // 2, rows - height, rows)
    columns = torch.where(columns > width // 2, columns - width, columns)
    return torch.stack([columns, rows], dim=1).to(small.dtype) * 2 / max(height, width)


def _moved(small: Tensor, maps: Tensor) -> tuple[Tensor, Tensor]:
    """Return shots as they lie under maps, and the weight of each pixel: 0 outside."""
    found, inside = sample(small[:, None], maps)
    weight = inside[:, 0].to(small.dtype)
    weight[:, :FRAME], weight[:, -FRAME:] = 0, 0
    weight[..., :FRAME], weight[..., -FRAME:] = 0, 0
    return found[:, 0], weight


def _table(picture: Tensor) -> Tensor:
    r"""Return what a picture ``(H, W)`` changes by, ``(8, H W)``.

    Under a map that is wrong by :math:`D`, a shot is
    :math:`g \cdot reference + o + \nabla reference \cdot D p`: six rows for :math:`D`, two for
    contrast and brightness.
    """
    height, width = picture.shape
    half = max(height, width) / 2
    down, right = (slope * half for slope in torch.gradient(picture))
    rows, columns = (
        (torch.arange(side, device=picture.device, dtype=picture.dtype) - (side - 1) / 2) / half
        for side in (height, width)
    )
    y, x, one = rows[:, None], columns[None, :], torch.ones_like(picture)
    parts = [slope * place for slope in (right, down) for place in (x, y, one)]
    return torch.stack([*parts, picture, one]).flatten(1)


def _correction(small: Tensor, maps: Tensor, table: Tensor) -> Tensor:
    """Return by how much maps are wrong, ``(N, 2, 3)``, by least squares (see :func:`_table`)."""
    moved, weight = _moved(small, maps)
    scale = table.square().mean(1).sqrt().clamp(min=1e-9)
    weighted = table * weight.flatten(1)[:, None]  # (N, 8, H W)
    eye = torch.eye(len(table), device=table.device, dtype=table.dtype)
    normal = weighted @ table.mT / (scale[:, None] * scale) + DAMPING * table.shape[1] * eye
    given = weighted @ moved.flatten(1)[..., None] / scale[:, None]
    found = torch.linalg.solve(normal, given)[..., 0] / scale
    gain = found[:, 6, None, None].clamp(min=0.5)
    step = found[:, :6].unflatten(1, (2, 3)) / gain
    most = 8 / max(small.shape[-2:])  # a few pixels at a time
    return step.clamp(-most, most)


def _correlation(small: Tensor, maps: Tensor, reference: int) -> Tensor:
    """Return the correlation of each aligned shot with the reference."""
    moved, weight = _moved(small, maps)
    total = weight.sum((1, 2), keepdim=True).clamp(min=1)

    def centred(pictures: Tensor) -> Tensor:
        mean = (weight * pictures).sum((1, 2), keepdim=True) / total
        return weight * (pictures - mean)

    one, other = centred(small[reference]), centred(moved)
    norms = one.square().sum((1, 2)) * other.square().sum((1, 2))
    return (one * other).sum((1, 2)) / norms.sqrt().clamp(min=1e-12)

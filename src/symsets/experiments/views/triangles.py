"""Where the rays of pixels enter and leave meshes of triangles."""

import torch
from torch import Tensor

from symsets.experiments.views.cameras import Cameras
from symsets.experiments.views.casting import Hits

PAIRS = 2**22  # of a pixel and a triangle, at once


def cast_triangles(corners: Tensor, cameras: Cameras, size: int) -> Hits:
    r"""Follow the ray of every pixel through a mesh.

    A triangle is tried at the pixels inside the bounding box of its image. There the ray meets
    it if the triple products :math:`d \cdot (v_1 \times v_2)`, :math:`d \cdot (v_2 \times v_0)`
    and :math:`d \cdot (v_0 \times v_1)` have one sign. Neighbours compute the product of their
    common edge from the same numbers, so no ray slips between them.

    Shape:
        - corners (all triangles, in front of all cameras): ``(T, 3, 3)``.
        - output: as of :func:`~symsets.experiments.views.casting.cast`, with B = 1, R = ``size²``,
          and the triangle that is met first instead of a part.
    """
    N, R = cameras.focal.shape[1], size * size
    seen = cameras.axes @ (corners[:, None] - cameras.position[:, :, None]).mT
    seen = seen.mT.flatten(0, 1)  # (T N, corner, axis)
    focal = cameras.focal[0].repeat(len(corners))
    view = torch.arange(N, device=focal.device).repeat(len(corners))
    low, shape = _boxes(seen, focal, size)
    counts = shape.prod(-1)
    edges = torch.linalg.cross(seen[:, [1, 2, 0]], seen[:, [2, 0, 1]])  # v1×v2, v2×v0, v0×v1
    volume = (seen[:, 0] * edges[:, 0]).sum(-1)
    total = N * R
    first = corners.new_full((total,), torch.inf)
    last = corners.new_full((total,), -torch.inf)
    face = torch.full((total,), len(corners), device=focal.device)
    for rows in _chunks(counts):
        row = torch.repeat_interleave(rows, counts[rows])
        first_of_row = torch.repeat_interleave(_starts(counts[rows]), counts[rows])
        step = torch.arange(len(row), device=row.device) - first_of_row
        i = low[row, 0] + torch.div(step, shape[row, 1], rounding_mode="floor")
        j = low[row, 1] + step % shape[row, 1]
        way = _way(i, j, focal[row], size)
        sides = (edges[row] @ way[..., None])[..., 0]  # (pairs, 3)
        inside = (sides >= 0).all(-1) | (sides <= 0).all(-1)
        slope = sides.sum(-1)
        hit = inside & (slope != 0)
        pixel, row = (view[row] * R + i * size + j)[hit], row[hit]
        depth = volume[row] / slope[hit]
        before = first.clone()
        first.scatter_reduce_(0, pixel, depth, "amin")
        last.scatter_reduce_(0, pixel, depth, "amax")
        face = torch.where(first < before, len(corners), face)
        winner = depth == first[pixel]
        face.scatter_reduce_(0, pixel[winner], row[winner] // N, "amin")
    face = face.clamp_max(len(corners) - 1)
    # A ray that only touches the mesh enters and leaves at one point.
    last = torch.where(last == first, first + first.abs() * torch.finfo(first.dtype).eps, last)
    return Hits(*(found.reshape(1, N, R) for found in (first, last, face)))


def _boxes(seen: Tensor, focal: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Return the first row and column that a triangle may cover, and how many of each."""
    flat = seen[..., [1, 0]] / seen[..., 2:] * focal[:, None, None]  # down, right
    place = ((flat + 1) * size - 1) / 2
    # a little more, so that rounding does not lose a pixel whose centre is on the border
    low = (place.amin(1) - 1e-3).ceil().long().clamp(0, size)
    high = (place.amax(1) + 1e-3).floor().long().clamp(-1, size - 1)
    return low, (high - low + 1).clamp_min(0)


def _way(i: Tensor, j: Tensor, focal: Tensor, size: int) -> Tensor:
    """Return directions of pixels in the camera's own axes, one unit deep."""
    u, v = ((2 * k.to(focal.dtype) + 1) / size - 1 for k in (j, i))
    return torch.stack([u / focal, v / focal, torch.ones_like(focal)], dim=-1)


def _starts(counts: Tensor) -> Tensor:
    return counts.cumsum(0) - counts


def _chunks(counts: Tensor) -> list[Tensor]:
    """Divide the triangles that cover anything, so that no chunk has too many pairs."""
    rows = counts.nonzero()[:, 0]
    group = torch.div(_starts(counts[rows]), PAIRS, rounding_mode="floor")
    sizes = torch.unique_consecutive(group, return_counts=True)[1]
    return list(rows.split(sizes.tolist()))

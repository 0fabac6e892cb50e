"""Points on the outer surface of objects made of parts."""

import math

import torch
from torch import Tensor

from symsets.experiments.synthetic.parts import Parts
from symsets.experiments.synthetic.random import uniform

CANDIDATES = 4  # for each point that is asked for
INSIDE = 1 - 1e-5  # the level below which a point counts as inside another part
STREAM = 1 << 21


def sample_surface(parts: Parts, keys: Tensor, num: int) -> Tensor:
    """Return points spread evenly over the surface of the union of the parts.

    Candidates are drawn on every part in proportion to its area; those inside another part are
    dropped. Of the others each is taken with a probability in proportion to the area it stands
    for. Where too few are left, which only very hidden parts could bring about, points are
    repeated.

    Shape:
        - keys (what the random numbers of each object come from): ``(B,)``.
        - output: ``(B, num, 3)``.

    Example:
        >>> from symsets.experiments.synthetic.objects import make_objects
        >>> parts, _, keys = make_objects("cars", [0], dtype=torch.float64)
        >>> levels = parts.level(sample_surface(parts, keys, 1000)).amin(-1)
        >>> bool(((levels - 1).abs() < 1e-4).all())
        True
    """
    M, dtype = CANDIDATES * num, parts.centre.dtype
    *numbers, start = uniform(keys, 4 * M + 1, stream=STREAM).to(dtype).split([M, M, M, M, 1], 1)
    ends = _areas(parts).cumsum(1)
    part = torch.searchsorted(ends, numbers[0] * ends[:, -1:], right=True)
    part = part.clamp_max(ends.shape[1] - 1)  # (B, M)
    rows = torch.arange(len(parts), device=part.device)[:, None]
    half = parts.half[rows, part]
    own, weight = _on_surface(parts, part, half, torch.stack(numbers[1:], dim=1))
    x = parts.centre[rows, part] + (parts.turn[rows, part] @ (own * half)[..., None])[..., 0]
    level = parts.level(x).scatter(2, part[..., None], torch.inf)  # of all parts but its own
    outside = level.amin(2) > INSIDE
    # Equal steps along the weights: unlike a draw without replacement, exactly in proportion.
    edges = (weight * outside).double().cumsum(1)
    steps = (torch.arange(num, device=edges.device) + start.double()) / num * edges[:, -1:]
    place = torch.searchsorted(edges, steps, right=True).clamp_max(M - 1)
    return x.gather(1, place[..., None].expand(-1, -1, 3))


def _areas(parts: Parts) -> Tensor:
    """Return the area of every part (a close formula for ellipsoids), ``(B, K)``."""
    a, b, c = parts.half.unbind(-1)
    found = []
    for kind, span in parts.spans:
        x, y, z = a[:, span], b[:, span], c[:, span]
        if kind == "box":
            found.append(8 * (x * y + y * z + z * x))
        elif kind == "ellipsoid":
            p = 1.6075  # Thomsen's formula, within 1.1 %
            powers = ((x * y) ** p + (y * z) ** p + (z * x) ** p) / 3
            found.append(4 * math.pi * powers ** (1 / p))
        else:
            found.append(2 * y * _circumference(x, z) + 2 * math.pi * x * z)
    return torch.cat(found, dim=1) * parts.present


def _circumference(a: Tensor, c: Tensor) -> Tensor:
    """Return the circumference of ellipses by Ramanujan's formula."""
    return math.pi * (3 * (a + c) - ((3 * a + c) * (a + 3 * c)).sqrt())


def _on_surface(parts: Parts, part: Tensor, half: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    """Return points in the parts' own coordinates, and what each should count for."""
    u0, u1, u2 = u.unbind(1)
    turn = 2 * math.pi * u1
    kind = parts.kind_of(part)
    box, even = _on_box(half, u0, u1, u2), torch.ones_like(u0)
    z = 2 * u0 - 1
    level = (1 - z * z).clamp_min(0).sqrt()
    ball = torch.stack([level * turn.cos(), z, level * turn.sin()], dim=-1)
    # How much of the ellipsoid a piece of the sphere becomes, compared with its mean.
    stretch = (ball / half).norm(dim=-1) * half.prod(-1)
    a, b, c = half.unbind(-1)
    mean = ((a * b) ** 1.6 + (b * c) ** 1.6 + (c * a) ** 1.6).div(3) ** (1 / 1.6)
    pipe, pipe_weight = _on_cylinder(half, u0, turn, u2)
    own = torch.where((kind == 0)[..., None], box, torch.where((kind == 1)[..., None], ball, pipe))
    weight = torch.where(kind == 1, stretch / mean, torch.where(kind == 2, pipe_weight, even))
    return own, weight


def _on_box(half: Tensor, u0: Tensor, u1: Tensor, u2: Tensor) -> Tensor:
    a, b, c = half.unbind(-1)
    faces = torch.stack([b * c, c * a, a * b], dim=-1)  # across x, y, z
    edges = faces.cumsum(-1) / faces.sum(-1, keepdim=True)
    side = 2 * u0  # the whole part tells the sign, the rest the face
    sign, rest = 2 * side.floor() - 1, side.frac()
    across = (rest[..., None] >= edges).sum(-1).clamp_max(2)
    s, t = 2 * u1 - 1, 2 * u2 - 1
    placed = torch.stack([sign, s, t, s, sign, t, s, t, sign], dim=-1).unflatten(-1, (3, 3))
    return placed.gather(-2, across[..., None, None].expand(*across.shape, 1, 3))[..., 0, :]


def _on_cylinder(half: Tensor, u0: Tensor, turn: Tensor, u2: Tensor) -> tuple[Tensor, Tensor]:
    a, y, c = half.unbind(-1)
    around = _circumference(a, c)
    caps = 2 * math.pi * a * c
    share = caps / (caps + 2 * y * around)
    on_cap = u0 < share
    top = torch.where(u0 < share / 2, -1.0, 1.0).to(u0.dtype)
    reach = torch.where(on_cap, u2.sqrt(), 1.0)
    height = torch.where(on_cap, top, 2 * u2 - 1)
    own = torch.stack([reach * turn.cos(), height, reach * turn.sin()], dim=-1)
    # Equal angles are unequal lengths of an ellipse.
    length = ((a * turn.sin()).square() + (c * turn.cos()).square()).sqrt() * 2 * math.pi / around
    return own, torch.where(on_cap, torch.ones_like(u0), length)

"""Where rays enter and leave objects: exact, for many objects and views at once."""

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor

from symsets.experiments.synthetic.parts import GROUPS, Parts

TINY = 1e-12  # the least component of a direction: no division by zero


class Hits(NamedTuple):
    """The first and last meeting of rays with an object.

    Attributes:
        first: How far along the ray the object begins, ``(B, N, R)``; infinity where it is missed.
        last: How far along the ray it ends; minus infinity where it is missed.
        part: Which part is met first, ``(B, N, R)``.
    """

    first: Tensor
    last: Tensor
    part: Tensor

    @property
    def mask(self) -> Tensor:
        """Which rays meet the object."""
        return self.first < self.last


def cast(parts: Parts, origin: Tensor, direction: Tensor) -> Hits:
    r"""Follow rays :math:`o + t d` through objects.

    Parts are convex, so a ray is inside each for one interval of :math:`t`. The object begins
    where the first interval begins and ends where the last one ends; what lies between does not
    matter.

    Shape:
        - origin (where the rays of a view start, outside the object): ``(B, N, 3)``.
        - direction (where each ray goes; any length): ``(B, N, 3, R)``.

    Example:
        >>> from symsets.experiments.synthetic.parts import Builder
        >>> builder = Builder(torch.zeros(1))
        >>> builder.add("box", 0, (0, 0, 0), (1, 1, 1))
        >>> away = torch.tensor([[[[0.0], [0.0], [1.0]]]])
        >>> hits = cast(builder.build(), torch.tensor([[[0.5, 0.5, -1.0]]]), away)
        >>> round(float(hits.last - hits.first), 4)  # the diagonal is 1, so an edge is 1/√3
        0.5774
    """
    into = parts.into
    start = torch.einsum("bkij,bnkj->bnki", into, origin[:, :, None] - parts.centre[:, None])
    ways = into[:, None] @ direction[:, :, None]  # (B, N, K, 3, R)
    enters, leaves = [], []
    for kind, span in parts.spans:
        o = start[:, :, span, :, None].unbind(-2)
        d = ways[:, :, span].unbind(-2)
        inside = [_interval([(o[k], d[k]) for k in group]) for group in GROUPS[kind]]
        each_enter, each_leave = zip(*inside, strict=True)
        enter, leave = reduce(torch.maximum, each_enter), reduce(torch.minimum, each_leave)
        there = parts.present[:, None, span, None] & (enter < leave)
        enters.append(enter.masked_fill(~there, torch.inf))
        leaves.append(leave.masked_fill(~there, -torch.inf))
    first, part = torch.cat(enters, dim=2).min(2)
    last = torch.cat(leaves, dim=2).amax(2)
    return Hits(first, last, part)


def _interval(lines: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Return where some coordinates, each given by its start and speed, have a norm below 1."""
    if len(lines) == 1:
        ((o, d),) = lines
        inverse = 1 / torch.where(d.abs() < TINY, torch.full_like(d, TINY), d)
        middle, reach = -o * inverse, inverse.abs()
        return middle - reach, middle + reach
    speed = _sum(d * d for _, d in lines).clamp_min(TINY * TINY)
    # From the nearest point to the centre: a far start would cost digits in the discriminant.
    nearest = -_sum(o * d for o, d in lines) / speed
    inside = 1 - _sum((o + nearest * d).square() for o, d in lines)
    reach = (inside.clamp_min(0) / speed).sqrt()  # 0 where the ray misses
    return nearest - reach, nearest + reach


def _sum(terms: Iterable[Tensor]) -> Tensor:
    return reduce(torch.add, terms)


def normals(parts: Parts, part: Tensor, x: Tensor) -> Tensor:
    """Return the outward unit normals of parts at points on them.

    Shape:
        - part: ``(B, M)``, which part each point is on; x and output: ``(B, M, 3)``.
    """
    rows = torch.arange(len(parts), device=x.device)[:, None]
    into = parts.into[rows, part]  # (B, M, 3, 3)
    own = (into @ (x - parts.centre[rows, part])[..., None])[..., 0]
    size = own.abs()
    flat = torch.zeros_like(own).scatter(-1, size.argmax(-1, keepdim=True), 1.0) * own.sign()
    round_ = own * own.new_tensor([1.0, 0.0, 1.0])
    on_cap = size[..., 1:2] > round_.norm(dim=-1, keepdim=True)
    cap = own.sign() * own.new_tensor([0.0, 1.0, 0.0])
    kind = parts.kind_of(part)[..., None]
    local = torch.where(kind == 0, flat, torch.where(kind == 1, own, round_.where(~on_cap, cap)))
    outward = (local[..., None, :] @ into)[..., 0, :]  # normals transform by the transpose
    return outward / outward.norm(dim=-1, keepdim=True).clamp_min(TINY)

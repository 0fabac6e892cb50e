"""Objects made of convex parts: boxes, ellipsoids and cylinders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import torch
from torch import Tensor

# Axes in groups: inside a part, in its own coordinates, each group has a norm of less than 1. The
# own coordinates of a part put its half-axes at 1. A cylinder stands along its own y.
GROUPS = {"box": ((0,), (1,), (2,)), "ellipsoid": ((0, 1, 2),), "cylinder": ((0, 2), (1,))}
KINDS = tuple(GROUPS)


def norms(kind: str, x: Sequence[Tensor]) -> list[Tensor]:
    """Return the norm of each group of coordinates; the largest is 1 on the surface.

    Example:
        >>> norms("cylinder", torch.tensor([0.6, 0.5, 0.8]))
        [tensor(1.), tensor(0.5000)]
    """
    picked = ([x[axis] for axis in group] for group in GROUPS[kind])
    return [
        some[0].abs() if len(some) == 1 else reduce(torch.add, (a * a for a in some)).sqrt()
        for some in picked
    ]


def rotation(yaw: Tensor, pitch: Tensor, roll: Tensor) -> Tensor:
    """Return turns about z by ``roll``, then about x by ``pitch``, then about y by ``yaw``.

    Shape:
        - angles: ``(*S)``, in radians; output: ``(*S, 3, 3)``.
    """
    one, zero = torch.ones_like(yaw), torch.zeros_like(yaw)

    def matrix(*rows: Tensor) -> Tensor:
        return torch.stack(rows, dim=-1).unflatten(-1, (3, 3))

    cy, sy, cp, sp, cr, sr = (f(a) for a in (yaw, pitch, roll) for f in (torch.cos, torch.sin))
    about_y = matrix(cy, zero, sy, zero, one, zero, -sy, zero, cy)
    about_x = matrix(one, zero, zero, zero, cp, -sp, zero, sp, cp)
    about_z = matrix(cr, -sr, zero, sr, cr, zero, zero, zero, one)
    return about_y @ about_x @ about_z


@dataclass(frozen=True)
class Parts:
    """A batch of objects, each the union of the same kinds of parts.

    Attributes:
        kinds: What each of the K parts is; equal kinds are neighbours.
        roles: Which parts look alike, as a number per part.
        centre: ``(B, K, 3)``.
        half: Half-axes, ``(B, K, 3)``.
        turn: The rotation of each part, ``(B, K, 3, 3)``.
        present: Which parts an object has, ``(B, K)``.
    """

    kinds: tuple[str, ...]
    roles: tuple[int, ...]
    centre: Tensor
    half: Tensor
    turn: Tensor
    present: Tensor

    def __len__(self) -> int:
        return len(self.centre)

    @property
    def spans(self) -> list[tuple[str, slice]]:
        """Where the parts of each kind are."""
        found = []
        for kind in KINDS:
            if kind in self.kinds:
                first = self.kinds.index(kind)
                found.append((kind, slice(first, first + self.kinds.count(kind))))
        return found

    def kind_of(self, part: Tensor) -> Tensor:
        """Return the place in :data:`KINDS` of parts given by their numbers."""
        return torch.tensor([KINDS.index(kind) for kind in self.kinds], device=part.device)[part]

    @property
    def into(self) -> Tensor:
        """The matrices that take ``x - centre`` to a part's own coordinates, ``(B, K, 3, 3)``."""
        return self.turn.mT / self.half[..., None]

    def extent(self) -> tuple[Tensor, Tensor]:
        """Return the corners of the tight bounding box of every object, each ``(B, 3)``."""
        axes = self.turn * self.half[:, :, None]  # columns: the half-axes in space
        reach = [
            reduce(torch.add, norms(kind, axes[:, span].unbind(-1))) for kind, span in self.spans
        ]
        out = torch.cat(reach, dim=1)  # (B, K, 3)
        there = self.present[..., None]
        low = (self.centre - out).masked_fill(~there, torch.inf).amin(1)
        high = (self.centre + out).masked_fill(~there, -torch.inf).amax(1)
        return low, high

    def corners(self) -> Tensor:
        """Return the corners of boxes around all parts, ``(B, 8 K, 3)``.

        Instead of those of missing parts there is the middle of the unit cube.
        """
        signs = torch.cartesian_prod(*3 * (self.half.new_tensor([-1.0, 1.0]),))  # (8, 3)
        reach = signs * self.half[:, :, None]  # (B, K, 8, 3)
        found = self.centre[:, :, None] + reach @ self.turn.mT
        return found.where(self.present[..., None, None], 0.5).flatten(1, 2)

    def normalised(self) -> Parts:
        """Scale to a bounding box of diagonal 1, in the middle of the unit cube."""
        low, high = self.extent()
        scale = 1 / (high - low).norm(dim=-1)[:, None, None]
        centre = (self.centre - (low + high)[:, None] / 2) * scale + 0.5
        return replace(self, centre=centre, half=self.half * scale)

    def level(self, x: Tensor) -> Tensor:
        """Return how far out points ``(B, M, 3)`` are in every part, ``(B, M, K)``.

        Less than 1 is inside; parts that an object does not have are infinitely far.
        """
        own = torch.einsum("bkij,bmkj->ibmk", self.into, x[:, :, None] - self.centre[:, None])
        found = [
            reduce(torch.maximum, norms(kind, own[..., span].unbind())) for kind, span in self.spans
        ]
        return torch.cat(found, dim=-1).masked_fill(~self.present[:, None], torch.inf)


class Builder:
    """Collect the parts of a batch of objects, of the length, type and device of ``like (B,)``.

    Numbers may be plain, or tensors ``(B,)``.
    """

    def __init__(self, like: Tensor) -> None:
        self.like = like
        self._parts: list[tuple[str, int, Tensor, Tensor, Tensor, Tensor]] = []

    def add(
        self,
        kind: str,
        role: int,
        centre: Sequence[Tensor | float],
        half: Sequence[Tensor | float],
        *,
        yaw: Tensor | float = 0.0,
        pitch: Tensor | float = 0.0,
        roll: Tensor | float = 0.0,
        present: Tensor | None = None,
        mirrored: bool = False,
    ) -> None:
        """Add a part, and its mirror image on the other side of x = 0 if asked for."""
        where, size = self._vector(centre), self._vector(half)
        turn = rotation(*self._vector((yaw, pitch, roll)).unbind(-1))
        if present is None:
            present = torch.ones_like(self.like, dtype=torch.bool)
        self._parts.append((kind, role, where, size, turn, present))
        if mirrored:
            flip = self.like.new_tensor([-1.0, 1.0, 1.0])
            image = turn * flip[:, None] * flip
            self._parts.append((kind, role, where * flip, size, image, present))

    def _vector(self, numbers: Sequence[Tensor | float]) -> Tensor:
        like = self.like
        return torch.stack([n * torch.ones_like(like) for n in numbers], dim=-1)

    def build(self) -> Parts:
        """Return the parts, normalised."""
        ordered = sorted(self._parts, key=lambda part: KINDS.index(part[0]))
        kinds, roles, *numbers = zip(*ordered, strict=True)
        centre, half, turn, present = (torch.stack(some, dim=1) for some in numbers)
        return Parts(kinds, roles, centre, half, turn, present).normalised()

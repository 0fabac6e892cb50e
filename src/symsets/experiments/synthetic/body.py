"""A body made of tapered limbs: its skeleton, one closed mesh around it, and how the mesh follows.

The person looks along +z, y points up, and +x is the left side; the root joint is the origin.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import coo_matrix
from torch import Tensor

from symsets.experiments.synthetic.surface_nets import surface_of

Array = np.ndarray[Any, np.dtype[np.float64]]
Place = tuple[float, float, float]

# name, parent, where the joint is at rest
_MIDDLE = (
    ("pelvis", "", (0.0, 0.0, 0.0)),
    ("spine", "pelvis", (0.0, 0.10, 0.0)),
    ("chest", "spine", (0.0, 0.27, -0.01)),
    ("neck", "chest", (0.0, 0.49, -0.01)),
    ("head", "neck", (0.0, 0.58, 0.01)),
)
_LEFT = (
    ("thigh", "pelvis", (0.11, -0.05, 0.0)),
    ("shin", "thigh", (0.16, -0.46, 0.01)),
    ("foot", "shin", (0.20, -0.86, -0.02)),
    ("arm", "chest", (0.18, 0.43, -0.01)),
    ("forearm", "arm", (0.44, 0.38, -0.01)),
    ("hand", "forearm", (0.68, 0.33, 0.0)),
)
# which joint moves it, from where to where, radius at both ends
_LIMBS = (
    ("pelvis", (-0.07, -0.02, 0.0), (0.07, -0.02, 0.0), 0.125, 0.125),
    ("spine", (-0.04, 0.15, 0.0), (0.04, 0.15, 0.0), 0.12, 0.12),
    ("chest", (-0.07, 0.33, -0.01), (0.07, 0.33, -0.01), 0.13, 0.13),
    ("chest", (-0.15, 0.43, -0.01), (0.15, 0.43, -0.01), 0.075, 0.075),
    ("neck", (0.0, 0.46, -0.01), (0.0, 0.58, 0.01), 0.065, 0.06),
    ("head", (0.0, 0.65, 0.02), (0.0, 0.71, 0.01), 0.10, 0.105),
    ("thigh", (0.11, -0.05, 0.0), (0.16, -0.46, 0.01), 0.10, 0.065),
    ("shin", (0.16, -0.46, 0.01), (0.20, -0.86, -0.02), 0.065, 0.05),
    ("foot", (0.20, -0.89, -0.02), (0.215, -0.90, 0.14), 0.05, 0.045),
    ("arm", (0.18, 0.43, -0.01), (0.44, 0.38, -0.01), 0.065, 0.055),
    ("forearm", (0.44, 0.38, -0.01), (0.68, 0.33, 0.0), 0.055, 0.045),
    ("hand", (0.68, 0.33, 0.0), (0.82, 0.30, 0.01), 0.045, 0.045),
)
SIDES = ("left", "right")
STEP = 0.074  # of the grid that the surface is found on, in metres: 530 vertices


def _mirrored(place: Place) -> Place:
    return -place[0], place[1], place[2]


_JOINTS = [*_MIDDLE]
for _side in SIDES:
    for _name, _parent, _place in _LEFT:
        _above = f"{_side} {_parent}" if any(_parent == n for n, _, _ in _LEFT) else _parent
        _JOINTS.append(
            (f"{_side} {_name}", _above, _place if _side == "left" else _mirrored(_place))
        )
JOINTS = [name for name, _, _ in _JOINTS]
PARENTS = [JOINTS.index(parent) if parent else -1 for _, parent, _ in _JOINTS]


class Body(NamedTuple):
    """A mesh with its skeleton: J joints, V vertices, F triangles.

    Attributes:
        heads: Where the joints are at rest, ``(J, 3)``.
        along: The direction of the bone that starts at each joint, ``(J, 3)``.
        rest: The vertices at rest, ``(V, 3)``.
        weights: How much each vertex follows each joint, ``(V, J)``.
        faces: ``(F, 3)``.
    """

    heads: Tensor
    along: Tensor
    rest: Tensor
    weights: Tensor
    faces: Tensor


class _Limbs(NamedTuple):
    joint: list[int]
    start: Array
    end: Array
    radius: Array  # (limbs, 2)

    @classmethod
    def make(cls) -> _Limbs:
        rows = []
        for name, a, b, *radii in _LIMBS:
            if name in JOINTS:
                rows.append((JOINTS.index(name), a, b, radii))
                continue
            rows.append((JOINTS.index(f"left {name}"), a, b, radii))
            rows.append((JOINTS.index(f"right {name}"), _mirrored(a), _mirrored(b), radii))
        joint, start, end, radius = zip(*rows, strict=True)
        return cls(list(joint), np.array(start), np.array(end), np.array(radius))

    def distance(self, points: Array) -> Array:
        """Return the distance of points ``(*P, 3)`` to the skin of each limb, ``(*P, limbs)``."""
        bone = self.end - self.start
        from_start = points[..., None, :] - self.start
        share = (from_start * bone).sum(-1) / (bone * bone).sum(-1)
        share = share.clip(0, 1)
        radius = self.radius[:, 0] + share * (self.radius[:, 1] - self.radius[:, 0])
        return np.linalg.norm(from_start - share[..., None] * bone, axis=-1) - radius

    def inside(self, points: Array) -> Array:
        """Return a smooth height that is negative inside the union of all limbs."""
        sharpness = 60.0
        near = self.distance(points)
        return -np.log(np.exp(-sharpness * near).sum(-1)) / sharpness


@lru_cache(maxsize=1)
def body() -> Body:
    """Build the body; the same at every call.

    Example:
        >>> made = body()
        >>> bool((made.weights.sum(1) - 1).abs().max() < 1e-5), 400 <= len(made.rest) <= 1000
        (True, True)
    """
    limbs = _Limbs.make()
    vertices, faces = surface_of(limbs.inside, (-0.95, -1.05, -0.25), (0.95, 0.95, 0.30), STEP)
    heads = np.array([place for _, _, place in _JOINTS])
    weights = _weights(limbs, vertices, faces)
    return Body(
        heads=torch.from_numpy(heads).float(),
        along=torch.from_numpy(_directions(limbs)).float(),
        rest=torch.from_numpy(vertices).float(),
        weights=torch.from_numpy(weights).float(),
        faces=torch.from_numpy(faces),
    )


def _directions(limbs: _Limbs) -> Array:
    """Return the direction along which each joint's bone grows; up in the trunk."""
    along = np.tile(np.array([0.0, 1.0, 0.0]), (len(JOINTS), 1))
    for joint, start, end in zip(limbs.joint, limbs.start, limbs.end, strict=True):
        if JOINTS[joint].startswith(SIDES):
            along[joint] = (end - start) / np.linalg.norm(end - start)
    return along


def _weights(limbs: _Limbs, vertices: Array, faces: Any) -> Array:
    """Let every vertex follow the nearest joint, and its neighbours in the skeleton a little."""
    by_limb = limbs.distance(vertices)
    near = np.full((len(vertices), len(JOINTS)), np.inf)
    for limb, joint in enumerate(limbs.joint):
        near[:, joint] = np.minimum(near[:, joint], by_limb[:, limb])
    linked = np.eye(len(JOINTS), dtype=bool)
    for joint, parent in enumerate(PARENTS):
        if parent >= 0:
            linked[joint, parent] = linked[parent, joint] = True
    closest = near.argmin(1)
    lag = near - near[np.arange(len(near)), closest][:, None]
    weights = np.where(linked[closest], np.exp(-lag / 0.02), 0)
    # Where the nearest joint changes, so do the weights; smoothing over the mesh makes it gradual.
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    ones, size = np.ones(len(sides)), (len(vertices), len(vertices))
    joined = coo_matrix((ones, (sides[:, 0], sides[:, 1])), size).tocsr()
    joined = joined + joined.T
    degree = np.asarray(joined.sum(1))
    for _ in range(3):
        weights = weights / weights.sum(1, keepdims=True)
        weights = 0.5 * weights + 0.5 * (joined @ weights) / degree
    return weights / weights.sum(1, keepdims=True)

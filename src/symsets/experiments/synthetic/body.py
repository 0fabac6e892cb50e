"""A body with its skeleton: one closed mesh around tapered limbs, and how the mesh follows.

The person looks along +z, y points up, and +x is the left side; the root joint is the origin.
The surface of the smooth union of the limbs was meshed once, on a grid of 7.4 cm. Every vertex
follows the joint of the nearest limb, and its neighbours in the skeleton a little.
"""

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

with np.load(Path(__file__).with_name("body.npz")) as _file:
    _CONTENT = dict(_file)
JOINTS: list[str] = _CONTENT["joints"].tolist()
PARENTS: list[int] = _CONTENT["parents"].tolist()  # -1 for the root


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


@lru_cache(maxsize=1)
def body() -> Body:
    """Return the body; the same at every call.

    Example:
        >>> made = body()
        >>> bool((made.weights.sum(1) - 1).abs().max() < 1e-5), made.rest.shape
        (True, torch.Size([530, 3]))
    """
    made = Body(*(torch.from_numpy(_CONTENT[name]) for name in Body._fields))
    return made._replace(faces=made.faces.long())

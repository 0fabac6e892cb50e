import numpy as np
import torch

from symsets.experiments.synthetic.parts import Builder
from symsets.experiments.views.cameras import random_cameras
from symsets.experiments.views.casting import cast
from symsets.experiments.views.triangles import cast_triangles

F64 = torch.float64
CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)], dtype=np.float64)
QUADS = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))


def triangles():
    return np.array([t for a, b, c, d in QUADS for t in ((a, b, c), (a, c, d))])


def test_a_mesh_is_seen_as_the_same_box_made_of_parts():
    builder = Builder(torch.zeros(1, dtype=F64))
    builder.add("box", 0, (0, 0, 0), (0.5, 1, 1.5))
    parts = builder.build()
    mesh = torch.from_numpy(((CUBE - [0.5, 1, 1.5]) / 14**0.5 + 0.5)[triangles()])
    cameras = random_cameras(torch.tensor([3]), 6, parts.corners())
    expected = cast(parts, cameras.position, cameras.directions(32))
    found = cast_triangles(mesh, cameras, 32)
    assert torch.equal(found.mask, expected.mask)
    seen = found.mask
    torch.testing.assert_close(found.first[seen], expected.first[seen], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(found.last[seen], expected.last[seen], rtol=1e-9, atol=1e-9)

import pytest
import torch

from symsets.experiments.synthetic.objects import CATEGORIES, make_objects
from symsets.experiments.views.cameras import random_cameras
from symsets.experiments.views.rendering import make_views

F64 = torch.float64


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_coordinates_are_seen_at_the_centre_of_their_pixel(category, dtype):
    views = make_views(category, range(4), size=32, dtype=dtype)
    parts, _, keys = make_objects(category, range(4), dtype=dtype)
    cameras = random_cameras(keys, 3, parts.corners())
    seen = views.mask.flatten(3).bool().expand(-1, -1, 2, -1)
    centre = (2 * torch.arange(32, dtype=dtype) + 1) / 32 - 1
    down, right = torch.meshgrid(centre, centre, indexing="ij")
    pixel = torch.stack([right, down]).flatten(1)
    for surface in (views.y[:, :, 1:4], views.y[:, :, 4:]):
        own = cameras.axes @ (surface.flatten(3) - cameras.position[..., None])  # right, down, deep
        place = cameras.focal[..., None, None] * own[:, :, :2] / own[:, :, 2:]
        assert (place - pixel)[seen].abs().max() < (1e-12 if dtype == F64 else 1e-5)

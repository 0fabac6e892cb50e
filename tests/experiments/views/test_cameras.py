import pytest
import torch

from symsets.experiments.synthetic.objects import CATEGORIES
from symsets.experiments.views.rendering import make_views

F64 = torch.float64


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_unprojecting_a_pixel_lands_on_its_coordinates(category, dtype):
    views = make_views(category, range(4), size=32, dtype=dtype)
    assert views.cameras is not None
    seen = views.mask.bool().expand_as(views.front)
    for surface in (views.front, views.back):
        # forwards: the point is projected to the centre of its own pixel
        place = views.cameras.project(surface, 32)
        pixel = torch.meshgrid(torch.arange(32), torch.arange(32), indexing="ij")
        pixel = torch.stack(pixel).expand_as(place).to(dtype)
        assert (place - pixel)[seen[:, :, :2]].abs().max() < 1e-4 * 32
        # backwards: the pixel at its depth is the point
        again = views.cameras.unproject(views.cameras.depth(surface))
        assert (again - surface)[seen].abs().max() < (1e-12 if dtype == F64 else 1e-5)

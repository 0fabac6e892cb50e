import torch

from symsets.experiments.views.rendering import make_views
from symsets.experiments.views.sets import Views

F64 = torch.float64


def test_batches_can_be_cut_and_joined():
    views = make_views("cars", range(3), size=16, num_points=20)
    again = Views.join([views[:1], views[1:]])
    for name in ("image", "mask", "front", "back", "points"):
        assert torch.equal(getattr(again, name), getattr(views, name))
    assert torch.equal(again.cameras.axes, views.cameras.axes)
    assert again.names == views.names
    fewer = views.first_views(2)
    assert fewer.num_views == 2 == fewer.cameras.focal.shape[1]
    assert views.to("cpu", F64).points.dtype == F64
    assert torch.equal(views.targets[:, :, 4:], views.back)
    assert len(views) == 3

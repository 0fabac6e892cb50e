import torch

from symsets.experiments.views.rendering import make_views
from symsets.experiments.views.sets import Views

F64 = torch.float64


def test_batches_can_be_cut_and_joined():
    views = make_views("cars", range(3), size=16, num_points=20)
    again = Views.join([views.first(1), make_views("cars", [1, 2], size=16, num_points=20)])
    for name in ("x", "y", "points"):
        assert torch.equal(getattr(again, name), getattr(views, name))
    assert views.to("cpu", F64).points.dtype == F64
    assert len(views) == 3


def test_only_evaluation_sees_the_points():
    views = make_views("cars", range(3), size=16, num_points=20)
    x, maps = views.batch(torch.tensor([2, 0]))
    assert torch.equal(maps, views.y[[2, 0]])
    x, truth = views.part(1, 3)
    assert torch.equal(x, views.x[1:])
    assert torch.equal(truth.points, views.points[1:])

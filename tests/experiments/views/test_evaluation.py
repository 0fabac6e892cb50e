import pytest
import torch
from torch import nn

from symsets.experiments.views.evaluation import (
    errors_by_views,
    predict,
    reconstruction_errors,
    union_of_views,
)
from symsets.experiments.views.rendering import make_views


class Oracle(nn.Module):
    """Answer with the truth, which it finds by the colours of the first pixel."""

    def __init__(self, views):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.known = {self.key(i): t for i, t in zip(views.x, views.y, strict=True)}

    @staticmethod
    def key(images):
        return tuple(images[0, :, 0, 0].tolist())

    def forward(self, x):
        out = torch.stack([self.known[self.key(i)][: len(i)] for i in x]).clone()
        out[:, :, 0] = 40 * out[:, :, 0] - 20
        return out * self.scale


@pytest.fixture(scope="module")
def views():
    return make_views("chairs", range(3), num_views=5, size=32, num_points=4000)


def test_true_maps_make_the_true_shape_and_more_views_more_of_it(views):
    errors = errors_by_views(Oracle(views), views, (1, 2, 3, 5, 8))
    assert list(errors) == [1, 2, 3, 5]  # there are no eight
    chamfers = [sum(found) / len(found) for found in errors.values()]
    assert chamfers == sorted(chamfers, reverse=True)
    assert chamfers[-1] < 0.5 * chamfers[0]
    assert chamfers[-1] < 0.1


def test_f_scores_grow_with_the_distance_that_counts_as_near(views):
    network = Oracle(views)
    scores = [
        reconstruction_errors(predict(network, views.x[:, :num]), views.points) for num in (1, 5)
    ]
    one, five = ({name: sum(found) for name, found in score.items()} for score in scores)
    assert five["f-score@0.02"] > one["f-score@0.02"] > 0.3
    assert five["f-score@0.01"] < five["f-score@0.02"]


def test_union_has_front_and_back_of_every_pixel_of_the_mask(views):
    output = views.y.clone()
    output[:, :, 0] -= 0.5  # logits
    for cloud, one in zip(union_of_views(output), views.y, strict=True):
        mask = one[:, 0].bool()
        assert len(cloud) == 2 * mask.sum()
        maps = one.movedim(1, -1)[mask]
        expected = torch.cat([maps[:, 1:4], maps[:, 4:]])
        assert torch.equal(cloud, expected)


def test_no_cloud_is_empty():
    output = torch.full((2, 3, 7, 8, 8), -9.0)
    output[0, 1, 0, 3, 3] = -8
    output[0, 1, 1:, 3, 3] = 0.25
    first, second = union_of_views(output)
    assert torch.equal(first, torch.full((2, 3), 0.25))
    assert second.shape == (2, 3)


def test_prediction_restores_the_mode_and_needs_no_gradient():
    net = nn.Sequential(nn.Conv3d(2, 2, 1), nn.Dropout(0.5)).train()
    out = predict(net, torch.rand(5, 2, 3, 4, 4), batch_size=2)
    assert net.training
    assert not out.requires_grad
    assert torch.equal(out, predict(net, torch.zeros(5, 2, 3, 4, 4), batch_size=5)) is False


def test_networks_of_other_types_get_their_own():
    net = nn.Conv3d(3, 7, 1).double()

    def per_view(x):
        return net(x.transpose(1, 2)).transpose(1, 2)

    net_of_views = nn.Module()
    net_of_views.map, net_of_views.forward = net, per_view
    assert predict(net_of_views, torch.rand(3, 2, 3, 4, 4), batch_size=2).dtype == torch.float64

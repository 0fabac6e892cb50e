"""Vectors of fitted weights with classes."""

import pytest
import torch

from symsets.experiments.weights.fitting import draw, pixel_places, start_scale
from symsets.experiments.weights.pictures import PictureSource
from symsets.experiments.weights.sets import OWN, SAME, SPACE, reordered, weight_sets


@pytest.fixture(scope="module")
def source():
    pictures = torch.zeros(6, 4, 4)
    pictures[:, 0, 0] = torch.linspace(-1, 1, 6)
    y = torch.arange(6)
    splits = {"train": (pictures[:3], y[:3]), "val": (pictures[3:4], y[3:4])}
    splits["test"] = pictures[4:], y[4:]
    return PictureSource("corners", splits, num_classes=6, seed=0, steps=100)


def test_networks_draw_their_pictures_and_have_their_classes(source):
    sets = weight_sets(source, "train", 7)
    assert sets.x.shape == (7, 1, 1185)
    assert sets.y.tolist() == [0, 1, 2, 0, 1, 2, 0]
    drawn = draw(SPACE, sets.x.squeeze(1) * start_scale(SPACE), pixel_places(4, 4))
    target = source.split("train")[0].flatten(1)[sets.y]
    assert (drawn.squeeze(-1) - target).square().mean() < 1e-2
    assert not torch.allclose(sets.x[0], sets.x[3], atol=0.1)  # another network of one picture
    assert torch.equal(weight_sets(source, "train", 7).x, sets.x)


def test_tests_have_one_network_of_each_picture(source):
    assert [weight_sets(source, split, 9).num_sets for split in ("val", "test")] == [1, 2]


@pytest.mark.parametrize("setting", [OWN, SAME])
def test_starts_are_their_own_or_the_same(source, setting):
    still = PictureSource("unfitted", source.splits, 6, seed=0, steps=2)
    sets = {s: weight_sets(still, s, 3, setting=setting).x for s in ("train", "test")}
    near = [
        torch.pdist(sets["train"].squeeze(1)).max(),
        (sets["train"][0] - sets["test"][0]).norm(),
    ]
    assert all((distance < 25) == (setting == SAME) for distance in near)


def test_reordered_networks_compute_the_same(source):
    sets = weight_sets(source, "test", 2)
    moved = reordered(sets)
    assert not torch.allclose(moved.x, sets.x, atol=0.1)
    places = pixel_places(4, 4)
    one, other = (draw(SPACE, s.x.squeeze(1) * start_scale(SPACE), places) for s in (sets, moved))
    torch.testing.assert_close(one, other, rtol=0, atol=1e-4)  # float32

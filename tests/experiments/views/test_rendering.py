import pytest
import torch

from symsets.experiments.study.catalogue import view_source
from symsets.experiments.synthetic.objects import CATEGORIES, make_objects
from symsets.experiments.views.cameras import random_cameras
from symsets.experiments.views.rendering import GeneratedViews, make_views

F64 = torch.float64


@pytest.fixture(params=CATEGORIES)
def category(request):
    return request.param


def test_the_back_is_never_in_front_of_the_front(category):
    views = make_views(category, range(8), size=32)
    seen = views.mask.bool()
    parts, _, keys = make_objects(category, range(8))
    eye = random_cameras(keys, 3, parts.corners()).position[..., None, None]
    front, back = ((x - eye).norm(dim=2, keepdim=True) for x in views.y[:, :, 1:].split(3, dim=2))
    assert (back - front)[seen].min() >= 0
    assert (back - front)[seen].mean() > 0.05


def test_coordinates_are_on_the_surface_and_zero_elsewhere(category):
    views = make_views(category, range(3), size=32, dtype=F64)
    parts = make_objects(category, range(3), dtype=F64).parts
    seen = views.mask[:, :, 0].flatten(1).bool()
    for x in (views.y[:, :, 1:4], views.y[:, :, 4:]):
        points = x.movedim(2, -1).flatten(1, 3)
        level = parts.level(points).amin(-1)
        assert (level - 1)[seen].abs().max() < 1e-6
        assert not points[~seen].any()


def test_objects_are_seen_whole_and_large(category):
    views = make_views(category, range(12), size=64)
    border = torch.ones(64, 64, dtype=torch.bool)
    border[1:-1, 1:-1] = False
    assert not (views.mask.bool() & border).any()
    assert views.mask.mean((2, 3, 4)).min() > 0.02
    assert 0.08 < views.mask.mean() < 0.5


def test_views_depend_on_nothing_but_their_names(category):
    many = make_views(category, range(40), size=16, num_views=3, num_points=50)
    few = make_views(category, [7, 30], size=16, num_views=2, num_points=50)
    for name in ("x", "y"):
        assert torch.equal(getattr(many, name)[[7, 30], :2], getattr(few, name))
    assert torch.equal(many.points[[7, 30]], few.points)
    other = make_views(category, [7, 30], size=16, num_views=2, seed=1)
    assert not torch.equal(other.mask, few.mask)
    assert not torch.equal(make_views(category, [7], size=16, split=1).mask, many.mask[7:8])


def test_objects_differ_and_images_show_them(category):
    views = make_views(category, range(10), size=16)
    assert len({tuple(m.flatten().tolist()) for m in views.mask}) == 10
    assert 0 <= views.x.min() < views.x.max() <= 1
    seen = views.mask.bool().expand_as(views.x)
    assert views.x[seen].std() > 0.1


def test_both_sides_of_an_object_look_different():
    views = make_views("cars", range(30), num_views=8, size=16)
    x = views.y[:, :, 1:4][:, :, 0]
    seen = views.mask[:, :, 0].bool()
    warm = views.x[:, :, 0] - views.x[:, :, 2]
    assert warm[seen & (x > 0.6)].mean() > warm[seen & (x < 0.4)].mean() + 0.03


def test_a_source_has_three_splits_with_nothing_in_common():
    source = GeneratedViews("chairs", size=16)
    masks = [source.views(split, 3).mask for split in ("train", "val", "test")]
    assert not torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[1], masks[2])
    assert torch.equal(source.views("val", 2).mask, masks[1][:2])
    assert source.name == "generated chairs"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_views("boats", [0]), r"category must be one of \['cars', .*\], got 'boats'"),
        (lambda: GeneratedViews("boats"), r"category must be one of \['cars', .*\], got 'boats'"),
        (lambda: GeneratedViews().views("all", 1), r"split must be one of"),
        (lambda: GeneratedViews().views("test", 0), r"num must be at least 1, got 0"),
        (lambda: make_views("cars", [0], size=8).first(4), r"num must be in 1\.\.1, got 4"),
        (
            lambda: view_source("nowhere"),
            r"data must be a folder that exists or one of .*, got 'nowhere'",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_source_has_one_size():
    with pytest.raises(TypeError, match="multiple values for keyword argument 'size'"):
        GeneratedViews(size=16).views("test", 1, size=8)

import pytest
import torch

from symsets.experiments.study.catalogue import view_source
from symsets.experiments.synthetic.objects import CATEGORIES, make_objects
from symsets.experiments.synthetic.parts import Builder
from symsets.experiments.synthetic.random import Draws, make_keys, uniform
from symsets.experiments.views.distances import nearest
from symsets.experiments.views.rendering import GeneratedViews, make_views
from symsets.experiments.views.sets import Views
from symsets.experiments.views.surface import sample_surface

F64 = torch.float64


@pytest.fixture(params=CATEGORIES)
def category(request):
    return request.param


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


def test_the_back_is_never_in_front_of_the_front(category):
    views = make_views(category, range(8), size=32)
    seen = views.mask.bool()
    front, back = (views.cameras.depth(x) for x in (views.front, views.back))
    assert (back - front)[seen].min() >= 0
    assert (back - front)[seen].mean() > 0.05


def test_coordinates_are_on_the_surface_and_zero_elsewhere(category):
    views = make_views(category, range(3), size=32, dtype=F64)
    parts = make_objects(category, range(3), dtype=F64).parts
    seen = views.mask[:, :, 0].flatten(1).bool()
    for x in (views.front, views.back):
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
    for name in ("image", "mask", "front", "back"):
        assert torch.equal(getattr(many, name)[[7, 30], :2], getattr(few, name))
    assert torch.equal(many.points[[7, 30]], few.points)
    other = make_views(category, [7, 30], size=16, num_views=2, seed=1)
    assert not torch.equal(other.mask, few.mask)
    assert not torch.equal(make_views(category, [7], size=16, split=1).mask, many.mask[7:8])


def test_objects_differ_and_images_show_them(category):
    views = make_views(category, range(10), size=16)
    assert len({tuple(m.flatten().tolist()) for m in views.mask}) == 10
    assert 0 <= views.image.min() < views.image.max() <= 1
    seen = views.mask.bool().expand_as(views.image)
    assert views.image[seen].std() > 0.1


def test_both_sides_of_an_object_look_different():
    views = make_views("cars", range(30), num_views=8, size=16)
    x = views.front[:, :, 0]
    seen = views.mask[:, :, 0].bool()
    warm = views.image[:, :, 0] - views.image[:, :, 2]
    assert warm[seen & (x > 0.6)].mean() > warm[seen & (x < 0.4)].mean() + 0.03


def test_points_are_on_the_outer_surface(category):
    parts, _, keys = make_objects(category, range(4), dtype=F64)
    level = parts.level(sample_surface(parts, keys, 500)).amin(-1)
    assert (level - 1).abs().max() < 2e-5


def test_points_are_spread_over_the_whole_surface(category):
    views = make_views(category, range(2), num_views=6, size=32, num_points=8000)
    for k in range(2):
        seen = views.mask[k, :, 0].bool()
        rendered = torch.cat(
            [x[k].movedim(1, -1)[seen] for x in (views.front, views.back)]
        )  # what is seen is near a sampled point
        distance = nearest(rendered, views.points[k])
        assert distance.mean() < 0.01
        assert distance.max() < 0.05


@pytest.mark.parametrize("kind", ["box", "ellipsoid", "cylinder"])
def test_points_are_spread_evenly(kind):
    builder = Builder(torch.zeros(1, dtype=F64))
    builder.add(kind, 0, (0, 0, 0), (2.0, 0.5, 1.0))
    parts = builder.build()
    points = sample_surface(parts, make_keys([0]), 20_000)[0]
    # the mean of squares over the surface, from a fine grid of the whole surface by its area
    own = (points - 0.5) / parts.half[0, 0]
    scale = parts.half[0, 0] / parts.half[0, 0].max() * 2
    grid = surface_grid(kind, scale)
    x, area = grid
    expected = (x.square() * area[:, None]).sum(0) / area.sum()
    torch.testing.assert_close(
        own.square().mean(0) * scale.square(), expected, rtol=0.04, atol=0.02
    )


def test_flat_parts_have_no_more_points_at_their_edges():
    builder = Builder(torch.zeros(1, dtype=F64))
    builder.add("ellipsoid", 0, (0, 0, 0), (1.0, 0.1, 1.0))
    parts = builder.build()
    half = parts.half[0, 0]
    points = torch.cat([sample_surface(parts, make_keys([k]), 8192) for k in range(8)])
    edge = (((points - 0.5) / half)[..., 1].abs() < 0.5).double().mean()
    x, area = surface_grid("ellipsoid", half)
    expected = (area * ((x / half)[:, 1].abs() < 0.5)).sum() / area.sum()
    assert abs(edge / expected - 1) < 0.02


def surface_grid(kind, half):
    """Points and areas of small pieces of a surface."""
    n = 400
    u = (torch.arange(n, dtype=F64) + 0.5) / n
    s, t = torch.meshgrid(u, u, indexing="ij")
    turn = 2 * torch.pi * t

    def pieces(fn):
        p, step = fn(s, turn), 1e-5
        ds = (fn(s + step, turn) - fn(s - step, turn)) / (2 * step)
        dt = (fn(s, turn + step) - fn(s, turn - step)) / (2 * step)
        return p.flatten(0, 1) * half, torch.linalg.cross(ds * half, dt * half).norm(
            dim=-1
        ).flatten()

    def stack(*c):
        return torch.stack(torch.broadcast_tensors(*c), dim=-1)

    def ball(s, a):
        z = 2 * s - 1
        level = (1 - z * z).clamp_min(0).sqrt()
        return stack(level * a.cos(), z, level * a.sin())

    if kind == "ellipsoid":
        return pieces(ball)
    if kind == "cylinder":
        parts = [pieces(lambda s, a: stack(a.cos(), 2 * s - 1, a.sin()))]
        for end in (-1.0, 1.0):
            cap = torch.full_like(s, end)
            parts.append(pieces(lambda s, a, cap=cap: stack(s * a.cos(), cap, s * a.sin())))
    else:
        parts = []
        for axis in range(3):
            for end in (-1.0, 1.0):
                face = torch.full_like(s, end)

                def flat(s, a, axis=axis, face=face):
                    sides = [2 * s - 1, a / torch.pi - 1]
                    sides.insert(axis, face)
                    return stack(*sides)

                parts.append(pieces(flat))
    return tuple(torch.cat(some) for some in zip(*parts, strict=True))


def test_a_source_has_three_splits_with_nothing_in_common():
    source = GeneratedViews("chairs", size=16)
    masks = [source.views(split, 3).mask for split in ("train", "val", "test")]
    assert not torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[1], masks[2])
    assert torch.equal(source.views("val", 2).mask, masks[1][:2])
    assert source.name == "generated chairs"
    assert source.views("val", 2).names == ("chairs/0", "chairs/1")


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


def test_random_numbers_are_even_and_independent():
    u = uniform(make_keys(range(2000)), 50)
    assert u.min() >= 0
    assert u.max() < 1
    counts = torch.histc(u, 20, 0, 1) / u.numel()
    assert (counts - 0.05).abs().max() < 0.003  # four standard deviations
    assert (torch.corrcoef(u.T) - torch.eye(50)).abs().max() < 0.12
    draws = Draws(make_keys(range(2000)))
    assert (draws.uniform() - draws.uniform()).abs().mean() > 0.3
    assert draws.choice(3).bincount().min() > 500
    assert 0.2 < draws.chance(0.25).float().mean() < 0.3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_views("boats", [0]), r"category must be one of \['cars', .*\], got 'boats'"),
        (lambda: GeneratedViews("boats"), r"category must be one of \['cars', .*\], got 'boats'"),
        (lambda: make_views("cars", []), r"which must name at least one object, got none"),
        (lambda: make_views("cars", [0], size=30), r"size must be a multiple of 8, got 30"),
        (lambda: make_views("cars", [0], num_views=0), r"num_views must be positive, got 0"),
        (lambda: make_views("cars", [0], num_points=-1), r"num_points must not be negative"),
        (lambda: GeneratedViews().views("all", 1), r"split must be one of"),
        (lambda: GeneratedViews().views("test", 0), r"num must be at least 1, got 0"),
        (lambda: make_views("cars", [0], size=8).first_views(4), r"num must be in 1\.\.3, got 4"),
        (
            lambda: view_source("nowhere"),
            r"data must be a folder that exists or one of .*, got 'nowhere'",
        ),
    ],
)
def test_bad_input_gets_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()

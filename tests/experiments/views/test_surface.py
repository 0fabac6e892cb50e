import pytest
import torch

from symsets.experiments.synthetic.objects import CATEGORIES, make_objects
from symsets.experiments.synthetic.parts import Builder
from symsets.experiments.synthetic.random import make_keys
from symsets.experiments.views.distances import nearest
from symsets.experiments.views.rendering import make_views
from symsets.experiments.views.surface import sample_surface

F64 = torch.float64


@pytest.fixture(params=CATEGORIES)
def category(request):
    return request.param


def test_points_are_on_the_outer_surface(category):
    parts, _, keys = make_objects(category, range(4), dtype=F64)
    level = parts.level(sample_surface(parts, keys, 500)).amin(-1)
    assert (level - 1).abs().max() < 2e-5


def test_points_are_spread_over_the_whole_surface(category):
    views = make_views(category, range(2), num_views=6, size=32, num_points=8000)
    for k in range(2):
        seen = views.mask[k, :, 0].bool()
        rendered = torch.cat(
            [x[k].movedim(1, -1)[seen] for x in (views.y[:, :, 1:4], views.y[:, :, 4:])]
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

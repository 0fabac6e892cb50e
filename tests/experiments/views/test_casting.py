import pytest
import torch

from symsets.experiments.synthetic.objects import CATEGORIES, make_objects
from symsets.experiments.synthetic.parts import KINDS, Builder
from symsets.experiments.views.casting import cast, normals

F64 = torch.float64


def one_part(kind):
    """A part of each kind, turned and stretched, on its own."""
    builder = Builder(torch.zeros(3, dtype=F64))
    half = [0.3 + torch.rand(3, dtype=F64) for _ in range(3)]
    angles = dict(zip(("yaw", "pitch", "roll"), 3 * torch.randn(3, 3, dtype=F64), strict=True))
    builder.add(kind, 0, (0.2, 0.1, -0.3), half, **angles)
    return builder.build()


def rays(num_objects, num, towards=0.5):
    """Start outside of the unit cube and go through it, three views of each object."""
    origin = torch.randn(num_objects, 3, 3, dtype=F64)
    origin = towards + 2 * origin / origin.norm(dim=-1, keepdim=True)
    goal = torch.rand(num_objects, 3, 3, num, dtype=F64)
    return origin, goal - origin[..., None]


@pytest.mark.parametrize("kind", KINDS)
def test_rays_enter_and_leave_on_the_surface(kind):
    parts = one_part(kind)
    origin, direction = rays(3, 500)
    hits = cast(parts, origin, direction)
    assert 0.02 < hits.mask.double().mean() < 0.98
    for t in (hits.first, hits.last):
        x = origin[..., None] + direction * t[:, :, None].where(hits.mask[:, :, None], 0.0)
        level = parts.level(x.mT.flatten(1, 2))[..., 0].unflatten(1, (3, -1))
        assert (level - 1)[hits.mask].abs().max() < 1e-9


@pytest.mark.parametrize("category", CATEGORIES)
def test_nothing_is_met_before_the_first_or_after_the_last_hit(category):
    parts = make_objects(category, range(4), dtype=F64).parts
    origin, direction = rays(4, 60)
    hits = cast(parts, origin, direction)
    steps = torch.linspace(0, 2.5, 600, dtype=F64)
    x = origin[..., None, None] + direction[..., None] * steps  # (B, N, 3, R, S)
    inside = parts.level(x.movedim(2, -1).flatten(1, 3)).amin(-1) < 1 - 1e-9
    inside = inside.unflatten(1, (3, 60, 600))
    first, last = hits.first[..., None], hits.last[..., None]
    assert inside.any()
    assert not (inside & ((steps < first) | (steps > last))).any()
    assert (inside.any(-1) & ~hits.mask).sum() == 0
    assert not (hits.last < hits.first)[hits.mask].any()


@pytest.mark.parametrize("kind", KINDS)
def test_rays_along_the_axes_are_no_exception(kind):
    builder = Builder(torch.zeros(1))
    builder.add(kind, 0, (0, 0, 0), (1, 1, 1))
    parts = builder.build()
    origin = torch.tensor([[[0.5, 0.5, -1.0], [0.5, 3.0, 0.5]]])
    direction = torch.tensor([[[0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]])[..., None]
    hits = cast(parts, origin, direction)
    edge = 3**-0.5
    torch.testing.assert_close(hits.last - hits.first, torch.full((1, 2, 1), edge))


@pytest.mark.parametrize("kind", KINDS)
def test_normals_are_those_of_the_level(kind):
    parts = one_part(kind)
    origin, direction = rays(3, 200)
    hits = cast(parts, origin, direction)
    x = origin[..., None] + direction * hits.first[:, :, None].where(hits.mask[:, :, None], 1.0)
    x = x.mT.flatten(1, 2).requires_grad_()
    (gradient,) = torch.autograd.grad(parts.level(x).sum(), x)
    expected = gradient / gradient.norm(dim=-1, keepdim=True)
    found = normals(parts, hits.part.flatten(1), x)
    torch.testing.assert_close(found[hits.mask.flatten(1)], expected[hits.mask.flatten(1)])

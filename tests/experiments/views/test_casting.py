import pytest
import torch

from symsets.experiments.synthetic.objects import CATEGORIES, make_objects
from symsets.experiments.synthetic.parts import KINDS, Builder, Parts, rotation
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


def test_missing_parts_are_not_met():
    builder = Builder(torch.zeros(2, dtype=F64))
    builder.add("box", 0, (0, 0, 0), (1, 1, 1))
    builder.add("ellipsoid", 0, (5, 0, 0), (1, 1, 1), present=torch.tensor([True, False]))
    builder.add("cylinder", 0, (-5, 0, 0), (1, 1, 1), present=torch.tensor([True, False]))
    low, high = builder.build().extent()
    box = (high - low)[1]
    torch.testing.assert_close(box, torch.full((3,), 3**-0.5, dtype=F64))
    assert (high - low)[0, 0] > 2 * (high - low)[0, 1]


@pytest.mark.parametrize("category", CATEGORIES)
def test_objects_are_normalised_exactly(category):
    parts = make_objects(category, range(50), dtype=F64).parts
    low, high = parts.extent()
    torch.testing.assert_close((low + high) / 2, torch.full((50, 3), 0.5, dtype=F64))
    torch.testing.assert_close((high - low).norm(dim=1), torch.ones(50, dtype=F64))


@pytest.mark.parametrize("kind", KINDS)
def test_the_bounding_box_is_tight(kind):
    parts = one_part(kind)
    own = torch.randn(100_000, 3, dtype=F64)
    if kind == "box":
        own = own.sign()
    elif kind == "ellipsoid":
        own = own / own.norm(dim=-1, keepdim=True)
    else:
        flat = own[:, [0, 2]] / own[:, [0, 2]].norm(dim=-1, keepdim=True)
        own = torch.stack([flat[:, 0], own[:, 1].sign(), flat[:, 1]], dim=-1)
    x = parts.centre + (own * parts.half) @ parts.turn[:, 0].mT
    low, high = parts.extent()
    assert (x.amin(1) - low).min() > -1e-9
    torch.testing.assert_close(x.amin(1), low, rtol=0, atol=5e-3)  # random points just miss it
    torch.testing.assert_close(x.amax(1), high, rtol=0, atol=5e-3)


def test_turns_are_rotations():
    turn = rotation(*torch.randn(3, 5, dtype=F64))
    torch.testing.assert_close(turn @ turn.mT, torch.eye(3, dtype=F64).expand(5, 3, 3))
    torch.testing.assert_close(torch.linalg.det(turn), torch.ones(5, dtype=F64))


def test_mirrored_parts_are_mirror_images():
    builder = Builder(torch.zeros(1, dtype=F64))
    builder.add("box", 0, (2, 1, 0), (1, 0.2, 0.4), yaw=0.3, pitch=0.5, roll=-0.7, mirrored=True)
    parts = builder.build()
    x = torch.rand(1, 500, 3, dtype=F64)
    image = x * x.new_tensor([-1, 1, 1]) + x.new_tensor([1, 0, 0])
    torch.testing.assert_close(parts.level(x), parts.level(image).flip(-1))


def test_parts_of_one_kind_are_neighbours():
    parts = make_objects("chairs", [0]).parts
    assert isinstance(parts, Parts)
    assert list(parts.kinds) == sorted(parts.kinds, key=KINDS.index)
    assert sum(span.stop - span.start for _, span in parts.spans) == len(parts.kinds)

import pytest
import torch

from symsets.experiments.synthetic.objects import make_objects
from symsets.experiments.synthetic.parts import KINDS, Builder, rotation

F64 = torch.float64


def one_part(kind):
    """A part of each kind, turned and stretched, on its own."""
    builder = Builder(torch.zeros(3, dtype=F64))
    half = [0.3 + torch.rand(3, dtype=F64) for _ in range(3)]
    angles = dict(zip(("yaw", "pitch", "roll"), 3 * torch.randn(3, 3, dtype=F64), strict=True))
    builder.add(kind, 0, (0.2, 0.1, -0.3), half, **angles)
    return builder.build()


def test_missing_parts_are_not_met():
    builder = Builder(torch.zeros(2, dtype=F64))
    builder.add("box", 0, (0, 0, 0), (1, 1, 1))
    builder.add("ellipsoid", 0, (5, 0, 0), (1, 1, 1), present=torch.tensor([True, False]))
    builder.add("cylinder", 0, (-5, 0, 0), (1, 1, 1), present=torch.tensor([True, False]))
    low, high = builder.build().extent()
    box = (high - low)[1]
    torch.testing.assert_close(box, torch.full((3,), 3**-0.5, dtype=F64))
    assert (high - low)[0, 0] > 2 * (high - low)[0, 1]


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
    assert list(parts.kinds) == sorted(parts.kinds, key=KINDS.index)
    assert sum(span.stop - span.start for _, span in parts.spans) == len(parts.kinds)

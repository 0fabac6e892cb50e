import pytest
import torch

from symsets.data import Augment


def copies(B=40, N=5, size=10):
    """Sets of equal pictures in which every pixel has a number of its own."""
    return torch.arange(B * 2 * size * size).view(B, 1, 2, size, size).expand(B, N, -1, -1, -1)


def poses(picture, crop, *, flip, rotate):
    """Return all crops of one picture, flipped and turned, as plain torch makes them."""
    found = []
    for i in range(picture.shape[-2] - crop + 1):
        for j in range(picture.shape[-1] - crop + 1):
            window = picture[..., i : i + crop, j : j + crop]
            for mirrored in [window, window.flip(-1)] if flip else [window]:
                found += [mirrored.rot90(k, (-2, -1)) for k in range(4 if rotate else 1)]
    return found


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("rotate", [False, True])
@pytest.mark.parametrize("per_element", [False, True])
def test_results_are_poses_of_the_input_and_all_occur(flip, rotate, per_element):
    x = torch.arange(16).view(1, 1, 1, 4, 4).expand(400, 1, 1, 4, 4)
    augment = Augment(3, flip=flip, rotate=rotate, per_element=per_element)
    seen = {tuple(y.flatten().tolist()) for y in augment(x)}
    expected = poses(x[0, 0, 0], 3, flip=flip, rotate=rotate)
    assert seen == {tuple(pose.flatten().tolist()) for pose in expected}
    assert len(seen) == 4 * (1 + flip) * (4 if rotate else 1)


def test_elements_of_a_set_move_together():
    y = Augment(6, rotate=True)(copies())
    assert y.shape == (40, 5, 2, 6, 6)
    assert torch.equal(y, y[:, :1].expand_as(y))
    # channels too: the second has the numbers after the first
    assert (y[:, :, 1] - y[:, :, 0] == 100).all()


def test_elements_move_on_their_own_when_asked():
    y = Augment(6, rotate=True, per_element=True)(copies())
    moved = (y != y[:, :1]).flatten(2).any(2)[:, 1:]
    assert moved.float().mean() > 0.95
    assert (y[:, :, 1] - y[:, :, 0] == 100).all()


def test_sets_of_a_batch_move_on_their_own():
    x = copies(B=1).expand(40, -1, -1, -1, -1)
    assert len(Augment(6, rotate=True)(x).flatten(1).unique(dim=0)) > 30


def test_moves_are_fixed_by_their_generator():
    x = copies()
    a, b = (Augment(6)(x, generator=torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(a, b)


def test_bytes_and_pictures_that_are_not_square():
    x = torch.randint(256, (3, 1, 3, 9, 14), dtype=torch.uint8)
    y = Augment(8, rotate=True)(x)
    assert y.dtype == torch.uint8
    for before, after in zip(x, y, strict=True):
        assert any(torch.equal(after, pose) for pose in poses(before, 8, flip=True, rotate=True))


def test_the_centre_is_always_the_same():
    x = copies(size=10)
    assert torch.equal(Augment(6)(x, move=False), x[..., 2:8, 2:8])


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"crop must be in 1\.\.10, got 11"):
        Augment(11)(copies())
    with pytest.raises(ValueError, match=r"x must have the shape \(B, N, C, H, W\), got \(2, 3\)"):
        Augment(11)(torch.zeros(2, 3))

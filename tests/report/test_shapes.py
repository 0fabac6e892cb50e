import pytest
import torch

image = pytest.importorskip("matplotlib.image", reason="needs matplotlib")

from symsets.report.shapes import GHOST, RIGHT, SKIN, WRONG, picture  # noqa: E402

FACES = torch.tensor([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])
CORNERS = torch.tensor([[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def sets(num):
    """Return a tetrahedron that moves to the right, in the order of time."""
    moved = torch.arange(7.0)[:, None, None] * torch.tensor([0.2, 0, 0])[:, None]
    return (CORNERS + moved).expand(num, -1, -1, -1)


def drawn(path):
    return image.imread(path)[..., :3]


def amount(pixels, colour):
    """Return the share of pixels with a colour, in any light."""
    wanted = torch.tensor([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    directions = torch.from_numpy(pixels.copy()).flatten(0, 1)
    bright = directions.norm(dim=1)
    near = (directions @ wanted) / (bright * wanted.norm() + 1e-9) > 0.995
    return float((near & (bright < 1.6)).float().mean())


@pytest.mark.parametrize("faces", [FACES, None])
def test_right_and_wrong_picks_are_seen(tmp_path, faces):
    wrong = picture(sets(1)[0], faces, 3, {"dss-sum": 5, "mean-shape": 5}, tmp_path / "a" / "w.png")
    right = picture(sets(1)[0], faces, 3, {"dss-sum": 3, "mean-shape": 3}, tmp_path / "r.png")
    red_if_wrong, red_if_right = (amount(drawn(path), WRONG) for path in (wrong, right))
    assert red_if_wrong > 0.0004 > 10 * red_if_right
    assert amount(drawn(right), RIGHT) > 1.5 * amount(drawn(wrong), RIGHT) > 0
    assert amount(drawn(wrong), SKIN) > 0.0004
    assert SKIN != GHOST


def test_several_sets_lie_below_each_other(tmp_path):
    targets = torch.tensor([3, 3])
    one = drawn(picture(sets(1), FACES, targets[:1], {"dss-sum": [3]}, tmp_path / "1.png"))
    two = drawn(picture(sets(2), FACES, targets, {"dss-sum": targets}, tmp_path / "2.png"))
    assert two.shape[0] == pytest.approx(2 * one.shape[0], abs=2)
    assert two.shape[1] == one.shape[1]


def test_as_many_models_as_there_are(tmp_path):
    picks = {f"model{i}": [i % 7] for i in range(9)}
    wide = drawn(picture(sets(1), FACES, [3], picks, tmp_path / "wide.png"))
    narrow = drawn(picture(sets(1), FACES, [3], {}, tmp_path / "narrow.png"))
    assert wide.shape[1] == pytest.approx(narrow.shape[1] * 10 / 7, abs=3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda p: picture(sets(2), FACES, [3], {}, p),
            r"target must have one place in 0\.\.6 for",
        ),
        (lambda p: picture(sets(1), FACES, [3], {"a": [7]}, p), r"a must have one .*, got \[7\]"),
        (lambda p: picture(CORNERS, FACES, [3], {}, p), r"x must be \(N, 3, V\) or \(S, N, 3, V\)"),
    ],
)
def test_bad_input_gets_a_sentence(tmp_path, call, message):
    with pytest.raises(ValueError, match=message):
        call(tmp_path / "p.png")

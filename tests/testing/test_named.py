"""Symmetries by name."""

import numpy as np
import pytest
import torch

from symsets import groups
from symsets.testing.named import draw

X = torch.arange(2.0 * 4 * 3 * 6).view(2, 4, 3, 6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("flip", X.flip(-1)),
        ("flip:axis=-2", X.flip(-2)),
        ("roll:by=2", X.roll(2, -1)),
        ("roll:axis=1,by=1", X.roll(1, 1)),
    ],
)
def test_what_is_told_is_done(text, expected):
    assert torch.equal(draw(text, X, seed=0).act(X), expected)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_permute_reorders_one_axis(axis):
    orders = set()
    for seed in range(10):
        moved = draw(f"permute:axis={axis}", X, seed).act(X)
        rows, found = X.movedim(axis, 0), moved.movedim(axis, 0)
        order = [next(k for k, row in enumerate(rows) if torch.equal(row, one)) for one in found]
        assert sorted(order) == list(range(len(rows)))
        orders.add(tuple(order))
    assert len(orders) > 1 or orders == {(1, 0)}


def test_rotate_draws_quarter_turns():
    x = torch.rand(2, 3, 5, 5)
    turns = {
        next(k for k in range(4) if torch.equal(draw("rotate", x, s).act(x), x.rot90(k, (-2, -1))))
        for s in range(20)
    }
    assert turns == {1, 2, 3}


def test_a_group_acts_on_the_last_axes():
    group = groups.parse("S3 x C6")
    moved = draw("S3 x C6", X, seed=0).act(X)
    element = group.group.random_element(np.random.default_rng(0))
    assert torch.equal(moved, group.act(X, element))
    assert not torch.equal(moved, X)


def test_sets_that_join_the_batch_are_reordered_there():
    drawn = draw("permute:axis=1", X, seed=1)
    [act] = drawn.moves(X.flatten(0, 1))
    assert torch.equal(act(X.flatten(0, 1)), drawn.act(X).flatten(0, 1))


def test_coarser_axes_are_shifted_by_their_share():
    drawn = draw("roll:by=4", X, seed=0)
    half = X[..., ::2]
    [act] = drawn.moves(half)
    assert torch.equal(act(half), half.roll(2, -1))
    assert draw("roll:by=3", X, seed=0).moves(half) == []


@pytest.mark.parametrize("text", ["flip", "roll:by=2", "rotate", "S3 x C6"])
def test_nothing_is_said_of_tensors_that_lost_their_axes(text):
    assert draw(text, X, seed=0).moves(X.flatten(1)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shuffle", "symmetry must be one of permute, roll, flip, rotate, or a group"),
        ("S5", r"x must end in the axes \(5,\), got \(2, 4, 3, 6\)"),
        ("permute:axis=4", "'permute:axis=4' must name an axis of the input"),
        ("permute:by=2", "must have axis=K after its colon, got 'by=2'"),
        ("roll:by=two", "must have axis=K, by=K after its colon, got 'by=two'"),
        ("roll:axis=-1,by=12", "must move an axis of 6 entries, which by=12 does not"),
        ("roll:by=0", "must move an axis of 6 entries, which by=0 does not"),
        ("rotate:axis=1", "must have nothing after its colon, got 'axis=1'"),
    ],
)
def test_wrong_names_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        draw(text, X, seed=0)


def test_axes_too_short_are_refused():
    with pytest.raises(ValueError, match="two entries or more"):
        draw("permute:axis=1", X[:, :1], seed=0)
    with pytest.raises(ValueError, match="two axes to turn"):
        draw("rotate", X[0, 0, 0], seed=0)


@pytest.mark.parametrize("name", ["permute", "S2", "C2"])
def test_the_identity_is_never_drawn(name):
    x = torch.tensor([[1.0, 2.0]])
    assert all(not torch.equal(draw(name, x, seed).act(x), x) for seed in range(12))


def test_a_trivial_group_moves_nothing():
    x = torch.randn(2, 3, 1)
    assert torch.equal(draw("S1", x, 0).act(x), x)

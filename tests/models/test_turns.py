"""The mean over turns and mirror images."""

from itertools import product

import torch

from symsets import RaggedSets
from symsets.models.turns import over_turns, turned


def slanted(x):
    """A network of sets that knows where right and down are."""
    pictures = torch.stack([one.mean(0) for one in x]) if isinstance(x, RaggedSets) else x.mean(1)
    return (pictures.cumsum(-1) + 3 * pictures).cumsum(-2).tanh()


def test_it_is_the_mean_over_the_group():
    x = torch.randn(2, 3, 1, 5, 7, dtype=torch.float64)
    total = 0
    for quarters, mirrored in product(range(4), (False, True)):
        moved = x.rot90(quarters, (-2, -1))
        y = slanted(moved.flip(-1) if mirrored else moved)
        total = total + (y.flip(-1) if mirrored else y).rot90(-quarters, (-2, -1))
    torch.testing.assert_close(over_turns(slanted, x), total / 8)


def test_it_commutes_with_all_turns():
    x = torch.randn(2, 3, 1, 5, 7, dtype=torch.float64)
    y = over_turns(slanted, x)
    assert (slanted(x) - y).abs().max() > 0.01
    for way in product((False, True), repeat=3):
        torch.testing.assert_close(over_turns(slanted, turned(x, *way)), turned(y, *way))


def test_sets_may_be_ragged():
    x = RaggedSets(torch.randn(5, 1, 4, 6, dtype=torch.float64), sizes=[2, 3])
    expected = torch.cat([over_turns(slanted, one[None]) for one in x])
    torch.testing.assert_close(over_turns(slanted, x), expected)

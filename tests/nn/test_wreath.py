import pytest
import torch
from matrices import GROUPS, D, N, dimension_spanned, one_channel
from torch import nn

from symsets import Wreath, groups


@pytest.mark.parametrize("H", GROUPS[:3], ids=str)
def test_wreath_is_every_linear_layer_when_elements_move_alone(H):
    G = groups.wreath(H, N)
    spanned = dimension_spanned(lambda: Wreath(one_channel(H), size=N), (N, 1, D), groups.basis(G))
    assert spanned == groups.dimension(G) == groups.dimension(H) + 1


@pytest.mark.parametrize(
    ("layer", "formula"),
    [
        (Wreath(nn.Linear(1, 1)), "element(x_i) + β Σ_j mean_k x_jk"),
    ],
)
def test_repr_shows_the_formula(layer, formula):
    assert formula in repr(layer)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Wreath(nn.ReLU()), TypeError, "out_channels must be an integer, got None"),
        (lambda: Wreath(nn.Linear(1, 1), size=-1), ValueError, "size must be positive, got -1"),
        (
            lambda: Wreath(nn.ReLU(), in_channels=4, out_channels=4)(torch.zeros(1, 2, 3)),
            ValueError,
            r"x must have 4 channels \(first axis of an element\) for Wreath, got 3",
        ),
        (
            lambda: Wreath(nn.Linear(3, 3), channel_axis=4)(torch.zeros(1, 2, 3, 3)),
            ValueError,
            r"channel_axis must be one of the axes 1 to 2 of \(B, \*E\), got 4",
        ),
    ],
)
def test_wrong_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("given", [{}, {"channel_axis": -1}])
def test_points_of_a_linear_map_move_on_their_own(given):
    """As many points as channels: taking one for the other would raise nothing."""
    layer, x = Wreath(nn.Linear(4, 4), **given), torch.randn(2, 3, 4, 4)
    mixed = x.clone()
    mixed[0, 1] = x[0, 1][torch.randperm(4)]  # one element alone
    torch.testing.assert_close(layer(mixed)[:, [0, 2]], layer(x)[:, [0, 2]])
    by_hand = layer.element(x) + (x.mean(2).sum(1) @ layer.beta.T)[:, None, None]
    torch.testing.assert_close(layer(x), by_hand)

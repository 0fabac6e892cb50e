import pytest
import torch

from symsets import RaggedSets
from symsets.models.restoration import (
    ChannelNorm,
    GatedBlock,
    WeightedMerge,
    in_cells,
    restoration_trunk,
)

SCHEMES = ("siamese", "dss-mean", "dss-max", "dss-sum", "aittala", "attention", "sridhar")


def awake(module):
    """Draw the weights that start at zero, in double precision."""
    for parameter in module.parameters():
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.2)
    return module.double()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("num", [1, 2, 7])
def test_a_trunk_commutes_with_orders_and_takes_ragged_sets(scheme, num):
    trunk = awake(restoration_trunk(scheme, 3, 8, num_blocks=2))
    x, order = torch.randn(2, num, 3, 9, 11, dtype=torch.float64), torch.randperm(num)
    y = trunk(x)
    torch.testing.assert_close(trunk(x[:, order]), y[:, order], rtol=1e-9, atol=1e-9)
    ragged = RaggedSets(torch.cat([x[0], x[1, :1]]), [num, 1])
    out = trunk(ragged)
    torch.testing.assert_close(out.elements[:num], y[0], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(out.elements[num:], trunk(x[1:, :1])[0], rtol=1e-9, atol=1e-9)


def test_a_trunk_commutes_with_shifts_but_for_the_border():
    trunk = awake(restoration_trunk("dss-mean", 3, 8, num_blocks=1))
    x = torch.randn(1, 3, 3, 24, 24, dtype=torch.float64)
    moved, inner = trunk(x.roll((2, 3), (-2, -1))), slice(6, -6)
    expected = trunk(x).roll((2, 3), (-2, -1))
    torch.testing.assert_close(moved[..., inner, inner], expected[..., inner, inner])


def test_new_blocks_change_nothing():
    x = torch.randn(2, 3, 8, 5, 6)
    for scheme in SCHEMES:
        assert torch.equal(GatedBlock(scheme, 8)(x), x)


def test_elements_meet_in_every_block_but_the_siamese():
    x = torch.randn(1, 3, 8, 6, 6, dtype=torch.float64)
    other = x.clone()
    other[:, 2] += 1 + torch.rand_like(other[:, 2])
    for scheme in SCHEMES:
        block = awake(GatedBlock(scheme, 8))
        same = torch.allclose(block(x)[:, :2], block(other)[:, :2])
        assert same == (scheme == "siamese")


def test_channels_are_normalised_at_every_pixel_alone():
    x = torch.randn(2, 16, 4, 5, dtype=torch.float64)
    y = ChannelNorm(eps=0.0)(x)
    expected = (x - x.mean(1, keepdim=True)) / x.std(1, correction=0, keepdim=True)
    torch.testing.assert_close(y, expected)
    assert ChannelNorm()(torch.full((1, 8, 2, 2), 5.0)).abs().max() == 0


def test_merging_is_a_softmax_over_each_set():
    merge = WeightedMerge(4, 6).double()
    x = torch.randn(2, 5, 4, 3, 3, dtype=torch.float64)
    rows = x.flatten(0, 1)
    weights = merge.score(rows).unflatten(0, (2, 5)).softmax(1)
    expected = (weights * merge.value(rows).unflatten(0, (2, 5))).sum(1)
    torch.testing.assert_close(merge(x), expected, rtol=1e-9, atol=1e-9)
    ragged = RaggedSets(torch.cat([x[0, :2], x[1]]), [2, 5])
    torch.testing.assert_close(merge(ragged)[1], expected[1], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(merge(x[:, torch.randperm(5)]), expected, rtol=1e-9, atol=1e-9)


def test_empty_sets_merge_into_zeros_and_gradients_stay_finite():
    merge = WeightedMerge(4, 6).double()
    rows = torch.randn(3, 4, 2, 2, dtype=torch.float64)
    merged = merge(RaggedSets(rows, [2, 0, 1]))
    assert torch.equal(merged[1], torch.zeros_like(merged[1]))
    assert torch.equal(merged[[0, 2]], merge(RaggedSets(rows, [2, 1])))
    merged.square().sum().backward()
    assert all(weight.grad.isfinite().all() for weight in merge.parameters())


def test_scores_of_any_size_are_merged_without_overflow():
    merge = WeightedMerge(4, 6)
    out = merge(1e4 * torch.randn(1, 3, 4, 2, 2))
    assert out.isfinite().all()


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="scheme must be one of"):
        restoration_trunk("dss-mode", 3, 8, num_blocks=1)
    with pytest.raises(ValueError, match="channels must be at least 1, got 0"):
        restoration_trunk("dss-mean", 3, 0, num_blocks=1)


def test_in_training_whole_sets_skip_a_block_and_others_change_more():
    torch.manual_seed(0)
    block, x = awake(GatedBlock("dss-mean", 4, drop=0.25)), torch.randn(400, 2, 4, 3, 3).double()
    change = block.train()(x) - x
    usual = block.eval()(x) - x
    skipped = (change == 0).flatten(1).all(1)
    assert 0.15 < skipped.double().mean() < 0.35
    torch.testing.assert_close(change[~skipped], usual[~skipped] / 0.75)
    plain = awake(GatedBlock("dss-mean", 4))
    plain.load_state_dict(block.state_dict())
    torch.testing.assert_close(plain.train()(x), x + usual)


def test_ragged_sets_skip_a_block_as_a_whole():
    torch.manual_seed(0)
    block = awake(GatedBlock("siamese", 4, drop=0.5)).train()
    x = RaggedSets(torch.randn(60, 4, 3, 3).double(), [1, 2, 3] * 10)
    same = (block(x).elements == x.elements).flatten(1).all(1)
    parts = [part.unique() for part in same.split([1, 2, 3] * 10)]
    assert all(len(part) == 1 for part in parts)
    assert {bool(part) for part in parts} == {True, False}


@pytest.mark.parametrize(("drop", "message"), [(1, "below 1, got 1"), (-1, "0 or positive")])
def test_shares_that_are_none_are_named(drop, message):
    with pytest.raises(ValueError, match=f"drop must be {message}"):
        GatedBlock("siamese", 4, drop=drop)


def test_pictures_are_filled_up_by_their_last_pixels_and_become_cells():
    x = torch.rand(2, 3, 13, 18)
    cells = in_cells(x, 2, 8)
    assert cells.shape == (2, 12, 8, 12)
    filled = torch.nn.functional.pixel_shuffle(cells, 2)
    assert torch.equal(filled[..., :13, :18], x)
    assert torch.equal(filled[..., :13, 18:], x[..., -1:].expand(2, 3, 13, 6))
    assert torch.equal(filled[..., 13:, :18], x[..., -1:, :].expand(2, 3, 3, 18))
    assert in_cells(x[:0], 2, 8).shape == (0, 12, 8, 12)


def test_shapes_can_be_asked_for_without_numbers():
    with torch.device("meta"):
        assert restoration_trunk("dss-mean", 3, 8, num_blocks=1)(torch.zeros(1, 2, 3, 8, 8)).is_meta

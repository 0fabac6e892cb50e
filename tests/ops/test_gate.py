"""Gates, and the blocks that add the context of a set inside them."""

import pytest
import torch
from torch import nn
from torch.func import functional_call

from symsets import DSS, RaggedSets, ops
from symsets.models._convolution import Conv2d
from symsets.models.restoration import GatedBlock


class Mean(nn.Module):
    def forward(self, x):
        return x.mean((2, 3), keepdim=True)


def awake(scheme, channels=8):
    """Return a block in double precision whose weights are all drawn at random."""
    block = GatedBlock(scheme, channels, size=3.0).double()
    for parameter in block.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return block.to(memory_format=torch.channels_last)


def test_a_gate_of_a_sum_is_the_gate_of_what_the_sets_add_up_to():
    x, context = torch.randn(6, 4, 5, 7), torch.randn(2, 4, 5, 7)
    total = x + context.repeat_interleave(3, 0)
    assert torch.equal(ops.gate(x, context), total[:, :2] * total[:, 2:].sigmoid())


@pytest.mark.parametrize("scheme", ["dss-mean", "dss-sum", "dss-max", "dss-power2", "siamese"])
def test_a_block_in_a_captured_step_has_the_gradients_of_its_formula(scheme, agree):
    block = awake(scheme)
    names, weights = zip(*block.named_parameters(), strict=True)

    def run(x, *weights):
        return functional_call(block, dict(zip(names, weights, strict=True)), (x,))

    sets = torch.randn(2, 3, 5, 6, 8, dtype=torch.float64).movedim(-1, 2)
    agree(run, sets, *weights)


def test_a_block_never_adds_the_context_to_elements(fast_forms):
    block, x = awake("dss-mean"), torch.randn(2, 3, 5, 6, 8).double().movedim(-1, 2)
    with fast_forms.expected("normalised", "added", "gated", "added"):  # of the context, and last
        block(x)
    with fast_forms.expected("normalised", "added", "gated", "added"):
        block(RaggedSets(x.flatten(0, 1), [1, 5]))


@pytest.mark.parametrize(
    "layer",
    [
        lambda: DSS(nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.Tanh())),
        lambda: DSS(Conv2d(8, 16, 3, padding=1), nn.Sequential(Mean(), nn.Conv2d(8, 16, 1))),
        lambda: DSS(Conv2d(8, 16, 3, padding=1, bias=False), pool="max"),
    ],
)
def test_layers_of_schemes_of_ones_own_keep_their_formula(layer, agree):
    block = awake("siamese")
    block.hear = layer().double().to(memory_format=torch.channels_last)
    agree(block, torch.randn(2, 3, 5, 6, 8, dtype=torch.float64).movedim(-1, 2))


@pytest.mark.usefixtures("fast_forms")
def test_other_types_and_layouts_of_a_context_take_the_formula():
    x = torch.randn(4, 5, 6, 6).movedim(-1, 1)
    contexts = (
        torch.randn(2, 6, 5, 6),
        torch.randn(2, 5, 6, 6).double().movedim(-1, 1),
        torch.randn(2, 6, 1, 1),  # the same for all pixels
    )
    for context in contexts:
        with ops.plain():
            expected = ops.gate(x, context)
        torch.testing.assert_close(ops.gate(x, context), expected)


@pytest.mark.usefixtures("fast_forms")
@pytest.mark.parametrize(
    ("x", "message"),
    [
        (
            torch.zeros(2, 3, 5, 6, 7).double().movedim(-1, 2),
            r"x must have shape \(B, N, 8, H, W\)",
        ),
        (torch.zeros(2, 3, 5, 6, 8, dtype=torch.float32).movedim(-1, 2), "x must be torch.float64"),
    ],
)
def test_in_captured_steps_a_block_says_what_is_wrong_with_its_input(x, message):
    with pytest.raises((ValueError, TypeError), match=message):
        awake("dss-mean")(x)


@pytest.mark.usefixtures("fast_forms")
def test_in_captured_steps_no_block_adds_one_channel_to_all():
    block, x = awake("siamese"), torch.randn(2, 3, 5, 6, 8).double().movedim(-1, 2)
    element, context = Conv2d(8, 16, 3, padding=1), Conv2d(8, 1, 3, padding=1)
    block.hear = DSS(element, context).double().to(memory_format=torch.channels_last)
    with pytest.raises(ValueError, match="must give outputs of one shape"):
        block(x)


@pytest.mark.usefixtures("fast_forms")
def test_in_captured_steps_no_sets_stay_none():
    x = torch.zeros(0, 3, 5, 6, 8, dtype=torch.float64).movedim(-1, 2)
    assert awake("dss-mean")(x).shape == x.shape

"""Maps that set layers are made of: twins, biases, types."""

import pytest
import torch
import torch.nn.utils.prune
from torch import nn

from symsets import DSS, SetAttention, Wreath


class TestTwins:
    def test_are_fresh_and_without_the_bias_that_the_element_has(self):
        layer = DSS(nn.Conv2d(3, 4, 3))
        assert layer.element.bias is not None
        assert layer.context.bias is None
        assert not torch.equal(layer.element.weight, layer.context.weight)

    def test_keep_the_inner_biases_of_a_block(self):
        block = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))
        layer = DSS(block)
        assert layer.context[0].bias is not None
        assert not torch.equal(layer.context[2].weight, block[2].weight)

    def test_parts_that_cannot_be_reset_are_named(self):
        class Scale(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.randn(3))

            def forward(self, x):
                return x * self.scale

        with pytest.raises(ValueError, match=r"part '1' \(Scale\) .* pass context= yourself"):
            DSS(nn.Sequential(nn.Linear(3, 3), Scale()))
        DSS(Scale(), Scale())

    def test_weights_that_a_reset_does_not_reach_are_noticed(self):
        normed = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))
        with pytest.raises(ValueError, match="give it one, or pass context= yourself"):
            DSS(normed)


@pytest.mark.parametrize("layer", [DSS, SetAttention, Wreath])
def test_all_parts_are_of_the_type_and_on_the_device_of_the_element(layer):
    wide = layer(nn.Linear(3, 4, dtype=torch.float64))
    assert wide(torch.randn(2, 5, 3, dtype=torch.float64)).dtype == torch.float64
    assert all(p.is_meta for p in layer(nn.Linear(3, 4, device="meta")).parameters())


def test_the_twin_of_a_frozen_map_learns():
    layer = DSS(nn.Linear(3, 4).requires_grad_(False))
    assert not layer.element.weight.requires_grad
    assert layer.context.weight.requires_grad


def test_a_lazy_map_has_a_lazy_twin():
    layer = DSS(nn.LazyConv1d(4, 3))
    assert layer(torch.randn(2, 5, 3, 8)).shape == (2, 5, 4, 6)
    assert layer.context.weight.requires_grad
    assert layer.context.bias is None


class AlwaysBiased(nn.Module):
    """A map that was not made to do without its bias."""

    def __init__(self):
        super().__init__()
        self.weight, self.bias = (nn.Parameter(torch.empty(size)) for size in ((3, 4), (4,)))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.normal_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x):
        return x @ self.weight + self.bias


def test_the_twin_of_a_map_that_needs_its_bias_keeps_it():
    layer = DSS(AlwaysBiased())
    assert layer.context.bias is not None
    assert layer(torch.randn(2, 5, 3)).shape == (2, 5, 4)


@pytest.mark.parametrize(
    "make", [lambda element: DSS(element, pool_last=True), lambda element: SetAttention(element)]
)
def test_several_maps_must_see_the_same_input(make):
    with pytest.raises(ValueError, match=r"must not change its input in place, .* got a SiLU"):
        make(nn.Sequential(nn.SiLU(inplace=True), nn.Linear(3, 4)))
    make(nn.Sequential(nn.Linear(3, 4), nn.SiLU(inplace=True)))


def test_a_lazy_map_does_not_show_its_channels():
    with pytest.raises(TypeError, match="in_channels must be an integer, got None"):
        Wreath(nn.LazyLinear(4))
    assert Wreath(nn.LazyLinear(4), in_channels=3)(torch.randn(2, 5, 3)).shape == (2, 5, 4)

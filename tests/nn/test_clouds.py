"""Elements without a common index set: clouds with different numbers of points."""

import pytest
import torch
from torch import nn

from symsets import (
    DSS,
    ConcatPool,
    RaggedSets,
    RemoveMean,
    Sequential,
    SetAttention,
    Siamese,
    Wreath,
    lift,
)
from symsets.nn import CircularConv1d, Exchangeable, Merge


class TestDifferentSizes:
    """Elements without a common index set: clouds with different numbers of points."""

    clouds = ((4, 2), (5,), ())

    def sets(self):
        return RaggedSets.from_list(
            [[torch.randn(p, 3) for p in sizes] for sizes in self.clouds[:2]]
        )

    def test_siamese_and_wreath_work(self):
        for layer in (
            Siamese(DSS(nn.Linear(3, 8), pool="max")),
            Wreath(DSS(nn.Linear(3, 8), pool="max"), size=2),
        ):
            out = layer(self.sets())
            assert [len(cloud) for one in out for cloud in one] == [4, 2, 5]
            assert out[0][1].shape == (2, 8)

    @pytest.mark.parametrize("layer", [DSS, ConcatPool, RemoveMean, SetAttention])
    def test_the_others_say_why_not(self, layer):
        with pytest.raises(ValueError, match="their symmetry is the wreath product"):
            layer(Siamese(nn.Linear(3, 8)))(self.sets())

    @pytest.mark.parametrize(
        "layer", [Siamese, Wreath, ConcatPool, RemoveMean, SetAttention, Sequential, lift]
    )
    def test_the_map_of_an_element_must_take_sets(self, layer):
        message = r"^element must itself be a set layer .*, as in Siamese\(Siamese\(Linear\(…\)\)\)"
        for element in (nn.Linear(3, 8), nn.Sequential(nn.Linear(3, 8), nn.ReLU())):
            with pytest.raises(ValueError, match=f"{message}, got the Linear in [A-Z]"):
                layer(element)(self.sets())

    @pytest.mark.parametrize("element", [nn.ReLU(), CircularConv1d(3, 8, 3), Exchangeable(3, 8)])
    def test_so_must_all_maps_of_torch_and_ours(self, element):
        name = type(element).__name__
        with pytest.raises(ValueError, match=f"must itself be a set layer .* {name} in Siamese"):
            Siamese(element)(self.sets())

    def test_maps_that_keep_or_take_whatever_they_get_are_left_alone(self):
        class Ends(nn.Module):
            def forward(self, x):
                return x.map(lambda rows: rows[:, :1])

        for element in (nn.Identity(), nn.Sequential(), Ends()):
            assert Siamese(element)(self.sets()).elements.sizes.tolist() == [4, 2, 5]

    def test_merging_them_says_why_not(self):
        with pytest.raises(ValueError, match="their symmetry is the wreath product"):
            Merge(nn.Linear(3, 8))(self.sets())

    def test_power_sums_of_them_say_why_not(self):
        with pytest.raises(ValueError, match="their symmetry is the wreath product"):
            DSS(Siamese(nn.Linear(3, 8)), pool="power2")(self.sets())

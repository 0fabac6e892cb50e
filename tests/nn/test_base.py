"""What all set layers, and all maps of ours, do alike."""

import pytest
import torch
from elements import EDGES
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
    groups,
)
from symsets.nn import (
    AdjacencyLinear,
    CircularConv1d,
    EquivariantLinear,
    Exchangeable,
    Graph,
    GraphConv,
    Merge,
    NormAct,
    SetLayer,
)


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

    @pytest.mark.parametrize("layer", [Siamese, Wreath, Sequential])
    def test_the_map_of_an_element_must_take_sets(self, layer):
        for element in (nn.Linear(3, 8), nn.Sequential(nn.Linear(3, 8), nn.ReLU())):
            with pytest.raises(TypeError, match="linear must get tensors, got RaggedSets: apply"):
                layer(element)(self.sets())

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


class TestElementsOfAnotherShape:
    def test_are_noticed_where_torch_would_mix_the_elements(self):
        layer = Siamese(nn.Conv1d(6, 6, 3, padding=1))
        with pytest.raises(ValueError, match=r"shape \(B, N, 6, L\) .* got \(2, 3, 16\)"):
            layer(torch.randn(2, 3, 16))  # 6 rows: for torch, the channels of one element

    @pytest.mark.parametrize("error", [RuntimeError("mine"), torch.OutOfMemoryError("all gone")])
    def test_are_not_blamed_for_other_errors(self, error):
        class Failing(nn.Linear):
            def forward(self, x):
                raise error

        with pytest.raises(type(error)) as caught:
            DSS(Failing(3, 8))(torch.zeros(2, 4, 3))
        assert caught.value is error


class Total(nn.Module):
    def forward(self, x):
        return x.sum()


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (Wreath(nn.Conv1d(2, 3, 3)), (2, 8)),
        (DSS(Exchangeable(2, 3)), (2, 8)),
        (DSS(EquivariantLinear(groups.parse("S3 x C4"), 2, 3)), (2, 3, 4)),
    ],
)
def test_exported_layers_take_other_numbers_of_sets_and_elements(layer, shape):
    axes = {0: torch.export.Dim("B", min=2, max=9), 1: torch.export.Dim("N", min=2, max=9)}
    example, x = torch.randn(2, 3, *shape), torch.randn(5, 4, *shape)
    exported = torch.export.export(layer, (example,), dynamic_shapes=(axes,)).module()
    torch.testing.assert_close(exported(x), layer(x))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Exchangeable(0, 1), ValueError, "in_channels must be at least 1, got 0"),
        (lambda: AdjacencyLinear(1, 0), ValueError, "out_channels must be at least 1, got 0"),
        (lambda: GraphConv(1, "2"), TypeError, "out_channels must be an integer, got '2'"),
        (lambda: CircularConv1d(1, 1, 2.5), TypeError, "kernel_size must be an integer, got 2.5"),
        (lambda: Graph(EDGES, "5"), TypeError, "num_nodes must be an integer, got '5'"),
    ],
)
def test_wrong_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_layer_of_your_own_needs_no_formula_to_be_printed():
    class Mine(SetLayer):
        def forward(self, x):
            return self.map(x)

    assert "layer(X)_i" in repr(Mine(nn.Linear(3, 4)))
    assert "norm(layer(X)_i)" in repr(NormAct(Mine(nn.Linear(3, 4)), nn.BatchNorm1d(4)))

"""Set layers one by one: agreement with the theory's matrices, twins, formulas, bad input."""

import re
from collections import OrderedDict

import pytest
import torch
from elements import EDGES
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

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
    lift,
    register_scheme,
    schemes,
    set_layer,
)
from symsets.nn import (
    AdjacencyLinear,
    CircularConv1d,
    Classify,
    EquivariantLinear,
    Exchangeable,
    Graph,
    GraphConv,
    Merge,
    SetModule,
)
from symsets.nn.graph import GraphBatch
from symsets.nn.registry import unregister_scheme
from symsets.testing import equivariance_error

N, D = 3, 4


def dense_matrix(layer, in_shape):
    """The matrix of a linear layer on sets, found by applying it to unit vectors."""
    size = torch.Size(in_shape).numel()
    units = torch.eye(size, dtype=torch.float64).reshape(size, *in_shape)
    with torch.no_grad():
        return layer(units).reshape(size, -1).T


def dimension_spanned(make, in_shape, labels, draws=60):
    """Check that matrices are constant on orbits; return the dimension that they span."""
    labels = torch.as_tensor(labels)
    matrices = []
    for _ in range(draws):
        matrix = dense_matrix(make().double(), in_shape)
        assert matrix.shape == labels.shape
        for orbit in range(int(labels.max()) + 1):
            values = matrix[labels == orbit]
            torch.testing.assert_close(values, values[:1].expand_as(values), rtol=1e-9, atol=1e-9)
        matrices.append(matrix.flatten())
    return int(torch.linalg.matrix_rank(torch.stack(matrices), rtol=1e-8))


def one_channel(group, **kwargs):
    return EquivariantLinear(group, 1, 1, bias=False, **kwargs)


GROUPS = [groups.Cyclic(D), groups.Symmetric(D), groups.Dihedral(D), groups.Trivial(D)]


@pytest.mark.parametrize("H", GROUPS, ids=str)
def test_dss_is_every_linear_layer_with_the_symmetry(H):
    G = groups.Symmetric(N) * H
    spanned = dimension_spanned(lambda: DSS(one_channel(H)), (N, 1, D), groups.basis(G))
    assert spanned == groups.dimension(G) == 2 * groups.dimension(H)


@pytest.mark.parametrize("H", GROUPS[:3], ids=str)
def test_wreath_is_every_linear_layer_when_elements_move_alone(H):
    G = groups.wreath(H, N)
    spanned = dimension_spanned(lambda: Wreath(one_channel(H), size=N), (N, 1, D), groups.basis(G))
    assert spanned == groups.dimension(G) == groups.dimension(H) + 1


def test_dss_of_exchangeable_has_all_four_maps():
    G = groups.Symmetric(N) * groups.Symmetric(D)
    spanned = dimension_spanned(
        lambda: DSS(Exchangeable(1, 1, bias=False)), (N, 1, D), groups.basis(G)
    )
    assert spanned == 4


def test_layers_nest_on_sets_of_sets():
    layer = DSS(DSS(nn.Conv1d(2, 3, 3, padding=1, padding_mode="circular")))
    x = torch.randn(2, 5, 4, 2, 6)
    assert layer(x).shape == (2, 5, 4, 3, 6)
    assert equivariance_error(layer, x, symmetry=lambda rows: rows.roll(2, -1)) < 1e-9
    inner = torch.randperm(4)
    torch.testing.assert_close(layer(x[:, :, inner]), layer(x)[:, :, inner], rtol=1e-4, atol=1e-5)
    assert layer.context.element.bias is None


def test_context_runs_once_per_set():
    seen = []
    layer = DSS(nn.Linear(2, 2))
    layer.context.register_forward_hook(lambda m, args, out: seen.append(args[0].shape))
    layer(torch.randn(3, 7, 2))
    layer(RaggedSets(torch.randn(6, 2), [1, 5]))
    assert seen == [(3, 2), (2, 2)]


@pytest.mark.parametrize("pool", ["sum", "mean", "max", "median"])
def test_pooling_choices_follow_the_formula(pool):
    layer = DSS(nn.Linear(2, 2), pool=pool, size=4)
    x = torch.randn(3, 5, 2)
    summary = {
        "sum": x.sum(1) / 4,
        "mean": x.mean(1),
        "max": x.amax(1),
        "median": x.median(1).values,
    }[pool]
    expected = layer.element(x) + layer.context(summary)[:, None]
    torch.testing.assert_close(layer(x), expected)


def test_pooling_last_is_the_same_for_sums_and_another_layer_for_maxima():
    x = torch.randn(2, 5, 3, dtype=torch.float64)
    element, context = nn.Linear(3, 4).double(), nn.Linear(3, 4, bias=False).double()
    first, last = (DSS(element, context, size=5, pool_last=late) for late in (False, True))
    torch.testing.assert_close(first(x), last(x))
    layer = DSS(element, context, pool="max", pool_last=True)
    expected = element(x) + context(x).amax(1, keepdim=True)
    torch.testing.assert_close(layer(x), expected)
    torch.testing.assert_close(
        layer(RaggedSets(x.flatten(0, 1), [5, 5])).elements[0], expected[0, 0]
    )
    assert layer.formula == "element(x_i) + max_j context(x_j)"


def test_a_context_may_say_the_same_to_all_entries():
    layer = DSS(nn.Conv1d(2, 3, 1), nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Conv1d(2, 3, 1)))
    x = torch.randn(2, 4, 2, 5)
    assert layer(x).shape == (2, 4, 3, 5)
    assert layer(RaggedSets(x.flatten(0, 1), [3, 5])).elements.shape == (8, 3, 5)


def test_mean_keeps_its_scale_at_any_set_size():
    layer = DSS(nn.Linear(8, 8), pool="mean")
    small, large = (layer(torch.ones(1, n, 8)) for n in (8, 200))
    torch.testing.assert_close(small[:, :1], large[:, :1])


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


WRAPPERS = {
    "compiled": lambda module: torch.compile(module, backend="eager"),
    "averaged": torch.optim.swa_utils.AveragedModel,
    "checkpointed": checkpoint_wrapper,
}


class TestSequential:
    def test_plain_modules_run_per_element(self):
        net = Sequential(DSS(nn.Conv2d(3, 4, 3)), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
        assert net(torch.randn(2, 5, 3, 6, 6)).shape == (2, 5, 64)
        out = net(RaggedSets(torch.randn(4, 3, 6, 6), [1, 3]))
        assert out.elements.shape == (4, 64)

    def test_a_plain_chain_with_set_layers_inside_becomes_one_for_sets(self):
        inner = nn.Sequential(DSS(nn.Conv1d(2, 2, 1)), nn.BatchNorm1d(2))
        net = Sequential(inner, nn.ReLU())
        assert isinstance(net[0], Sequential)
        assert net(torch.randn(2, 3, 2, 5)).shape == (2, 3, 2, 5)

    def test_chains_made_in_other_ways_are_the_same(self):
        def inner():
            return nn.Sequential(DSS(nn.Conv1d(2, 2, 1)), nn.BatchNorm1d(2))

        made = [
            Sequential(OrderedDict(first=inner(), last=nn.ReLU())),
            Sequential(nn.ReLU()).append(inner()),
            Sequential(inner(), nn.ReLU(), nn.ReLU())[:2],
        ]
        for net in made:
            assert any(isinstance(part, Sequential) for part in net)
            assert net(torch.randn(2, 3, 2, 5)).shape == (2, 3, 2, 5)

    @pytest.mark.parametrize("ragged", [False, True])
    def test_what_follows_a_head_sees_one_thing_per_set(self, ragged):
        merge = Merge(nn.Conv2d(3, 4, 3), pool="max")
        after = nn.Sequential(nn.BatchNorm2d(4), nn.Conv2d(4, 2, 3), nn.Flatten(), nn.Linear(8, 5))
        x = torch.randn(3, 2, 3, 6, 6)
        sets = RaggedSets(x.flatten(0, 1), [2, 2, 2]) if ragged else x
        expected = after(merge(sets))
        torch.testing.assert_close(Sequential(merge, *after)(sets), expected)
        torch.testing.assert_close(Sequential(Sequential(merge), *after)(sets), expected)
        vector = Sequential(DSS(nn.Linear(3, 4)), Classify(4, 5), nn.Softmax(dim=1))
        torch.testing.assert_close(vector(torch.randn(2, 6, 3)).sum(1), torch.ones(2))

    @pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
    def test_a_wrapped_head_is_a_head(self, wrap):
        head, x = Classify(3, 4), torch.randn(2, 5, 3)
        net = Sequential(wrap(head), nn.Softmax(dim=-1))
        torch.testing.assert_close(net(x), head(x).softmax(-1))
        assert not net.returns_sets

    @pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
    def test_graphs_reach_the_wrapped_layers_that_take_them(self, wrap):
        parts = DSS(GraphConv(2, 4)), Sequential(nn.ReLU(), DSS(nn.Linear(6, 6))), Classify(4, 5)
        graph, x = Graph(EDGES, 6), torch.randn(2, 3, 2, 6)
        with torch.no_grad():
            expected = Sequential(*parts)(x, graph)
            torch.testing.assert_close(Sequential(*map(wrap, parts))(x, graph), expected)

    def test_a_module_may_come_twice(self):
        linear = nn.Linear(3, 3)
        x = torch.randn(2, 5, 3)
        torch.testing.assert_close(Sequential(linear, linear)(x), linear(linear(x)))

    def test_set_layers_after_such_a_head_are_refused(self):
        with pytest.raises(ValueError, match=r"must not take sets after .* got DSS at place 2"):
            Sequential(Merge(nn.Linear(3, 4)), nn.ReLU(), DSS(nn.Linear(4, 4)))

    def test_graphs_reach_the_layers_that_take_them(self):
        graph = Graph(EDGES, 5)
        net = Sequential(DSS(GraphConv(3, 4)), nn.ReLU(), DSS(nn.Conv1d(4, 2, 1)))
        assert net(torch.randn(2, 3, 3, 5), graph).shape == (2, 3, 2, 5)
        with pytest.raises(TypeError, match="none of the layers takes further arguments, got 1"):
            Sequential(DSS(nn.Linear(2, 2)))(torch.randn(1, 2, 2), graph)


class TestGraphs:
    def test_the_context_uses_the_mean_of_the_graphs_of_a_set(self):
        graphs = [Graph(EDGES[:, k : k + 6], 5) for k in range(4)]
        layer = DSS(GraphConv(3, 2)).double()
        x = torch.randn(2, 2, 3, 5, dtype=torch.float64)
        batch = GraphBatch(graphs).to(dtype=torch.float64)
        out = layer(x, batch)
        for b in range(2):
            mean = (graphs[2 * b].to_dense() + graphs[2 * b + 1].to_dense()) / 2
            context = layer.context.weight @ x[b].sum(0) @ mean.T
            for i in range(2):
                own = layer.element(x[b, i : i + 1], graphs[2 * b + i].to(dtype=torch.float64))[0]
                torch.testing.assert_close(out[b, i], own + context)

    def test_pyg_convolutions_are_element_maps(self):
        from torch_geometric.nn import GATConv, GCNConv

        x = torch.randn(2, 3, 4, 5)
        for conv in (GCNConv(4, 6), GATConv(4, 6)):
            layer = DSS(conv)
            out = layer(x, EDGES)
            assert out.shape == (2, 3, 6, 5)
            own = conv(x[1, 2].T, EDGES).T
            context = layer.context(x[1].sum(0, keepdim=True), EDGES)[0]
            torch.testing.assert_close(out[1, 2], own + context, rtol=1e-4, atol=1e-5)


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


class TestAttention:
    @pytest.mark.parametrize("compare", ["element", "summary"])
    def test_weights_are_what_values_are_mixed_with(self, compare):
        layer = SetAttention(nn.Conv1d(2, 4, 1), heads=2, compare=compare).double()
        x = torch.randn(3, 5, 2, 7, dtype=torch.float64)
        weights = layer.weights(x)  # (B, h, N, N)
        value = layer.value(x.flatten(0, 1)).unflatten(0, (3, 5)).unflatten(2, (2, 2))
        mixed = torch.einsum("bhij,bjhcl->bihcl", weights, value).flatten(2, 3)
        torch.testing.assert_close(layer.message(x), mixed)
        ragged = layer.weights(RaggedSets(x.flatten(0, 1)[:9], [5, 0, 4]))
        assert [tuple(w.shape) for w in ragged] == [(2, 5, 5), (2, 0, 0), (2, 4, 4)]
        torch.testing.assert_close(ragged[0], weights[0])
        torch.testing.assert_close(ragged[2], layer.weights(x[1:2, :4])[0])

    def test_maps_without_a_reset_say_which_arguments_to_pass(self):
        class Scale(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.randn(3))

        rule = "reset_parameters draws new weights, Scale has none that does: give it one, or pass"
        with pytest.raises(ValueError, match=f"{rule} value=, query= and key= yourself"):
            SetAttention(Scale())
        with pytest.raises(ValueError, match=f"{rule} value=, query= and key= yourself"):
            SetAttention(Scale(), Scale(), Scale())
        with pytest.raises(ValueError, match=f"{rule} context= yourself"):
            DSS(Scale())

    def test_weights_follow_the_formula(self):
        layer = SetAttention(nn.Conv1d(2, 4, 1), heads=2)
        x = torch.randn(1, 3, 2, 5)
        q, k, v = (
            part(x[0]).unflatten(1, (2, 2)) for part in (layer.query, layer.key, layer.value)
        )
        scores = torch.einsum("ihcl,jhcl->hij", q, k) / 10**0.5
        mixed = torch.einsum("hij,jhcl->ihcl", scores.softmax(-1), v).flatten(1, 2)
        torch.testing.assert_close(layer(x)[0], layer.element(x[0]) + mixed)

    def test_summaries_ignore_where_things_are(self):
        conv = nn.Conv1d(2, 4, 3, padding=1, padding_mode="circular")
        layer = SetAttention(conv, compare="summary")
        x = torch.randn(1, 3, 2, 6)
        shifted = x.clone()
        shifted[:, 0] = x[:, 0].roll(2, -1)
        value_of_last = layer(x)[:, 2] - layer(shifted)[:, 2]
        assert value_of_last.mean().abs() < 1e-5

    @pytest.mark.parametrize("compare", ["element", "summary"])
    def test_both_comparisons_keep_the_symmetry(self, compare):
        conv = nn.Conv2d(2, 4, 3, padding=1, padding_mode="circular")
        layer = SetAttention(conv, compare=compare, heads=2)
        error = equivariance_error(
            layer, torch.randn(2, 3, 2, 4, 4), symmetry=lambda x: x.roll((1, 2), (-2, -1))
        )
        assert error < 1e-9

    def test_an_empty_chain_is_an_identity_and_no_missing_part(self):
        identity = nn.Sequential()
        layer = SetAttention(nn.Linear(2, 2), identity, identity, identity)
        assert layer.value is layer.query is layer.key is identity

    def test_a_batch_of_empty_sets_is_fine(self):
        out = SetAttention(nn.Linear(2, 4))(RaggedSets(torch.zeros(0, 2), [0, 0]))
        assert out.elements.shape == (0, 4)


class TestRegistry:
    def test_a_scheme_of_your_own(self):
        @register_scheme("twice")
        def build(make, in_channels, out_channels, *, size):
            return Siamese(make(in_channels, out_channels))

        try:
            assert isinstance(set_layer("twice", nn.Linear, 2, 3), Siamese)
            assert "twice" in schemes()
            with pytest.raises(ValueError, match="there is a scheme 'twice' already"):
                register_scheme("twice")(print)
        finally:
            unregister_scheme("twice")
        with pytest.raises(ValueError, match="registered scheme"):
            unregister_scheme("twice")

    def test_a_cell_of_a_notebook_may_run_again(self):
        cell = """
@register_scheme("mine")
def build(make, in_channels, out_channels, *, size):
    return DSS(make(in_channels, out_channels), pool=pool)
"""
        try:
            for pool in ("max", "mean"):  # the second time changed
                names = {"__name__": "__main__", "DSS": DSS, "pool": pool}
                exec(cell, names | {"register_scheme": register_scheme})
                assert set_layer("mine", nn.Linear, 2, 3).pool == pool
        finally:
            unregister_scheme("mine")

    def test_another_function_without_a_name_is_another(self):
        def made(pool):
            return lambda make, i, o, *, size: DSS(make(i, o), pool=pool)

        register_scheme("mine")(made("max"))
        try:
            with pytest.raises(ValueError, match="there is a scheme 'mine' already"):
                register_scheme("mine")(made("mean"))
        finally:
            unregister_scheme("mine")

    @pytest.mark.parametrize("made", [None, nn.Linear(2, 3)])
    def test_a_scheme_makes_a_set_layer(self, made):
        register_scheme("none")(lambda make, in_channels, out_channels, *, size: made)
        try:
            with pytest.raises(TypeError, match=r"scheme 'none' must make a set layer, .* got"):
                set_layer("none", nn.Linear, 2, 3)
        finally:
            unregister_scheme("none")

    def test_every_scheme_returns_the_channels_asked_for(self):
        for scheme in schemes():
            layer = set_layer(scheme, nn.Linear, 3, 8, size=5)
            assert isinstance(layer, SetModule)
            assert layer(torch.randn(2, 5, 3)).shape == (2, 5, 8)
            assert layer(torch.randn(0, 5, 3)).shape == (0, 5, 8)


class TestElementsOfAnotherShape:
    @pytest.mark.parametrize(
        "layer", [DSS, Siamese, ConcatPool, RemoveMean, SetAttention, Wreath, Merge, Sequential]
    )
    @pytest.mark.parametrize(
        ("element", "shape", "wanted"),
        [
            (nn.Linear(3, 8), (2, 4, 5), r"\(B, N, …, 3\) for the Linear"),
            (nn.Conv1d(3, 8, 3), (2, 4, 5, 9), r"\(B, N, 3, L\) for the Conv1d"),
            (nn.Conv2d(3, 8, 3), (2, 4, 5, 9, 9), r"\(B, N, 3, H, W\) for the Conv2d"),
            (nn.Sequential(nn.Conv1d(3, 8, 3), nn.ReLU()), (2, 4, 5, 9), "for the Conv1d"),
        ],
    )
    def test_get_a_sentence_about_sets(self, layer, element, shape, wanted):
        x = torch.zeros(shape)
        message = rf"x must have shape .*{wanted} in {layer.__name__}, got "
        with pytest.raises(ValueError, match=message + re.escape(str(shape))):
            layer(element)(x)
        with pytest.raises(ValueError, match=message + r"RaggedSets\(2 sets of 3–5 elements \(5,"):
            layer(element)(RaggedSets(x.flatten(0, 1), [3, 5]))

    @pytest.mark.parametrize("dtype", [torch.float64, torch.uint8, torch.bfloat16])
    def test_may_also_be_of_another_type(self, dtype):
        x, message = torch.zeros(2, 4, 3).to(dtype), rf"torch.float32 like the Linear .*got {dtype}"
        for sets in (x, RaggedSets(x.flatten(0, 1), [3, 5])):
            with pytest.raises(TypeError, match=message):
                DSS(nn.Linear(3, 8))(sets)
        if dtype == torch.bfloat16:
            with torch.autocast("cpu", torch.bfloat16):
                assert DSS(nn.Linear(3, 8))(x).dtype == torch.bfloat16

    @pytest.mark.parametrize(
        ("layer", "shape"),
        [
            (CircularConv1d(3, 8, 3), (2, 3, 9)),
            (CircularConv1d(3, 8, 9), (2, 3, 9)),
            (Exchangeable(3, 8), (2, 3, 9)),
            (AdjacencyLinear(3, 8), (2, 3, 4, 4)),
            (EquivariantLinear(groups.Cyclic(4), 3, 8), (2, 3, 4)),
            (Classify(3, 8), (2, 4, 3, 9)),
            (Siamese(CircularConv1d(3, 8, 3)), (2, 4, 3, 9)),
        ],
    )
    def test_get_the_same_sentence_from_maps_of_our_own(self, layer, shape):
        with pytest.raises(TypeError, match=r"torch.float32 like the \w+.*got torch.float64"):
            layer(torch.zeros(shape, dtype=torch.float64))

    def test_are_noticed_where_torch_would_mix_the_elements(self):
        layer = Siamese(nn.Conv1d(6, 6, 3, padding=1))
        with pytest.raises(ValueError, match=r"shape \(B, N, 6, L\) .* got \(2, 3, 16\)"):
            layer(torch.randn(2, 3, 16))  # 6 rows: for torch, the channels of one element

    def test_are_for_the_map_to_judge_if_it_is_not_torchs_own(self):
        class Halved(nn.Linear):
            def forward(self, x):
                return super().forward(x[..., ::2])

        x = torch.zeros(2, 4, 6)
        hooked = nn.Linear(3, 8)
        hooked.register_forward_pre_hook(lambda module, inputs: (inputs[0][..., ::2],))
        for element in (Halved(3, 8), hooked, nn.LazyLinear(8)):
            assert Siamese(element)(x).shape == (2, 4, 8)

    @pytest.mark.filterwarnings("ignore")  # tracing is deprecated
    @pytest.mark.parametrize("layer", [Siamese, Sequential])
    def test_are_for_the_map_to_judge_if_it_was_traced(self, layer):
        linear, x = nn.Linear(3, 8), torch.randn(2, 4, 3)
        traced = torch.jit.trace(linear, torch.randn(5, 3))
        torch.testing.assert_close(layer(traced)(x), layer(linear)(x))

    @pytest.mark.parametrize("error", [RuntimeError("mine"), torch.OutOfMemoryError("all gone")])
    def test_are_not_blamed_for_other_errors(self, error):
        class Failing(nn.Linear):
            def forward(self, x):
                raise error

        with pytest.raises(type(error)) as caught:
            DSS(Failing(3, 8))(torch.zeros(2, 4, 3))
        assert caught.value is error


@pytest.mark.parametrize(
    ("layer", "formula"),
    [
        (Siamese(nn.Linear(1, 1)), "element(x_i)"),
        (DSS(nn.Linear(1, 1), size=25), "element(x_i) + context(Σ_j x_j / 25)"),
        (DSS(nn.Linear(1, 1), pool="power2"), "context([Σ_j x_j^1, Σ_j x_j^2])"),
        (ConcatPool(nn.Linear(1, 1)), "[element(x_i), max_j element(x_j)]"),
        (RemoveMean(nn.Linear(1, 1)), "element(x_i) - mean_j element(x_j)"),
        (SetAttention(nn.Linear(1, 1)), "softmax_j ⟨query(x_i), key(x_j)⟩ value(x_j)"),
        (Wreath(nn.Linear(1, 1)), "element(x_i) + β Σ_j mean_k x_jk"),
    ],
)
def test_printing_a_layer_reads_like_the_mathematics(layer, formula):
    assert formula in repr(layer)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: DSS(nn.Linear(2, 2), pool="medain"),
            ValueError,
            "pool must be one of .* 'medain'",
        ),
        (lambda: DSS(nn.Linear(2, 2), size=0), ValueError, "size must be positive, got 0"),
        (lambda: DSS(lambda x: x), TypeError, "element must be a module, got function"),
        (lambda: DSS(nn.Linear(2, 2), 3), TypeError, "context must be a module, got int"),
        (
            lambda: DSS(nn.Linear(2, 2), nn.Linear(2, 3))(torch.zeros(1, 4, 2)),
            ValueError,
            r"element and context must give outputs of one shape, got elements \(2,\) and \(3,\)",
        ),
        (
            lambda: DSS(nn.Linear(2, 4), nn.Linear(2, 1))(torch.zeros(1, 4, 2)),
            ValueError,
            r"element and context must give outputs of one shape, got elements \(4,\) and \(1,\)",
        ),
        (
            lambda: DSS(nn.Linear(2, 2))(torch.zeros(2)),
            ValueError,
            r"x must have at least 2 axes, .* got shape \(2,\)",
        ),
        (
            lambda: Siamese(nn.Flatten(0))(torch.zeros(2, 3, 4)),
            ValueError,
            "element must return one row per element, 6, got 24",
        ),
        (
            lambda: set_layer("dss-sun", nn.Linear, 2, 2),
            ValueError,
            r"scheme must be one of \['aittala', .*\] \(or dss-power2, .*\), got 'dss-sun'",
        ),
        (
            lambda: set_layer("aittala", nn.Linear, 2, 3),
            ValueError,
            "out_channels must be even for 'aittala', .* got 3",
        ),
        (lambda: register_scheme("My Scheme"), ValueError, "lower-case words"),
        (lambda: register_scheme("dss-power4")(print), ValueError, "there is a scheme"),
        (lambda: Wreath(nn.ReLU()), ValueError, "in_channels and out_channels must be given"),
        (lambda: Wreath(nn.Linear(1, 1), size=-1), ValueError, "size must be positive, got -1"),
        (
            lambda: SetAttention(nn.Linear(1, 1), compare="dot"),
            ValueError,
            r"compare must be one of \['element', 'summary'\], got 'dot'",
        ),
        (lambda: SetAttention(nn.Linear(1, 1), heads=0), ValueError, "heads must be at least 1"),
        (
            lambda: SetAttention(nn.Linear(1, 3), heads=2)(torch.zeros(1, 2, 1)),
            ValueError,
            "heads must divide the channels of query, 3, got 2",
        ),
        (lambda: SetAttention(nn.Linear(1, 1), heads=1.5), TypeError, "heads must be an integer"),
        (
            lambda: SetAttention(nn.Linear(1, 2), key=nn.Linear(1, 3))(torch.zeros(1, 2, 1)),
            ValueError,
            r"query and key must give outputs of one shape, got \(2,\) and \(3,\)",
        ),
        (lambda: DSS(nn.Linear(2, 2), size="5"), ValueError, "size must be positive, got '5'"),
        (lambda: set_layer(["dss-sum"], nn.Linear, 2, 2), ValueError, "scheme must be one of"),
        (
            lambda: set_layer("dss-sum", nn.Linear(2, 2), 2, 2),
            TypeError,
            "make must be a function of input and output channels .* got Linear",
        ),
        (
            lambda: set_layer("siamese", nn.Linear, 2, 2, size=0),
            ValueError,
            "size must be positive, got 0",
        ),
        (lambda: register_scheme(None), ValueError, "lower-case words joined by '-', got None"),
        (
            lambda: Wreath(nn.ReLU(), in_channels=4, out_channels=4)(torch.zeros(1, 2, 3)),
            ValueError,
            r"x must have 4 channels \(first axis of an element\), got 3",
        ),
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


@pytest.mark.parametrize(
    ("context", "pool", "message"),
    [
        (nn.Linear(5, 4), "sum", r"pooled sets \(B, 3\), got a Linear for \(B, …, 5\)"),
        (nn.Sequential(nn.Linear(5, 4)), "max", r"got a Linear for \(B, …, 5\)"),
        (nn.Linear(3, 4), "power2", r"pooled sets \(B, 6\), got a Linear for \(B, …, 3\)"),
        (nn.Conv1d(3, 4, 1), "sum", r"got a Conv1d for \(B, 3, L\)"),
    ],
)
def test_a_context_that_does_not_take_pooled_sets_is_named(context, pool, message):
    with pytest.raises(ValueError, match=f"context must take .*{message}"):
        DSS(nn.Linear(3, 4), context, pool=pool)(torch.randn(2, 5, 3))


# Chains, and what becomes of plain ones inside


def plain_chain():
    return nn.Sequential(OrderedDict(first=DSS(nn.Linear(3, 4)), last=nn.Flatten()))


def assigned(net):
    net[0] = plain_chain()


@pytest.mark.parametrize(
    "put",
    [assigned, lambda net: net.insert(0, plain_chain()), lambda net: net.append(plain_chain())],
)
def test_a_plain_chain_with_set_layers_is_a_chain_however_it_comes_in(put):
    net = Sequential(nn.Identity())
    put(net)
    assert net(torch.randn(2, 5, 3)).shape == (2, 5, 4)


def test_a_plain_chain_keeps_the_names_of_its_parts():
    assert [name for name, _ in Sequential(plain_chain())[0].named_children()] == ["first", "last"]


@pytest.mark.parametrize("join", [lambda a: a + a, lambda a: 2 * a])
def test_joined_chains_are_chains(join):
    net = join(Sequential(DSS(nn.Linear(3, 3)), nn.Flatten()))
    assert len(net) == 4
    assert net(torch.randn(2, 5, 3)).shape == (2, 5, 3)


# Twins


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


# Input


@pytest.mark.parametrize(
    "make", [lambda element: DSS(element, pool_last=True), lambda element: SetAttention(element)]
)
def test_several_maps_must_see_the_same_input(make):
    with pytest.raises(ValueError, match=r"must not change its input in place, .* got a SiLU"):
        make(nn.Sequential(nn.SiLU(inplace=True), nn.Linear(3, 4)))
    make(nn.Sequential(nn.Linear(3, 4), nn.SiLU(inplace=True)))


@pytest.mark.parametrize("x", [torch.zeros(2, 5), RaggedSets(torch.zeros(5), [2, 3])])
def test_elements_without_channels_are_named(x):
    maps = [nn.Identity() for _ in range(4)]
    for layer, name in ((ConcatPool(*maps[:1]), "element"), (SetAttention(*maps), "query")):
        with pytest.raises(ValueError, match=f"{name} must return elements with channels"):
            layer(x)


def test_a_map_that_returns_a_number_is_named():
    with pytest.raises(ValueError, match="one row per element, 10, got a single number"):
        Siamese(Total())(torch.zeros(2, 5, 3))


class Total(nn.Module):
    def forward(self, x):
        return x.sum()


def test_autocast_does_not_excuse_float64():
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(TypeError, match="x must be"):
        DSS(nn.Linear(3, 4))(torch.zeros(2, 5, 3, dtype=torch.double))


def test_attention_of_large_elements_fits_into_float16():
    maps = [nn.Identity() for _ in range(4)]
    x = torch.full((1, 2, 64, 64), 8.0)
    assert torch.equal(SetAttention(*maps)(x.half()).float(), SetAttention(*maps)(x))


def test_numbers_of_channels_are_integers():
    with pytest.raises(TypeError, match="in_channels must be an integer, got '3'"):
        set_layer("dss-sum", nn.Linear, "3", 4)
    with pytest.raises(TypeError, match=r"out_channels must be an integer, got 4\.5"):
        Wreath(nn.Linear(3, 4), out_channels=4.5)


# Export


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

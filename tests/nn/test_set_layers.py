"""Set layers one by one: agreement with the theory's matrices, twins, formulas, bad input."""

import pytest
import torch
from elements import EDGES
from torch import nn

from symsets import (
    DSS,
    ConcatPool,
    RaggedSets,
    RemoveMean,
    SetAttention,
    Siamese,
    Wreath,
    groups,
    register_scheme,
    set_layer,
)
from symsets.nn import (
    AdjacencyLinear,
    CircularConv1d,
    EquivariantLinear,
    Exchangeable,
    Graph,
    GraphBatch,
    GraphConv,
)
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
def test_bad_input_gets_a_sentence(call, error, message):
    with pytest.raises(error, match=message):
        call()


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

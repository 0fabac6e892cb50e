import pytest
import torch
from elements import EDGES
from matrices import GROUPS, D, N, dimension_spanned, one_channel
from torch import nn

from symsets import DSS, ConcatPool, RaggedSets, Siamese, groups, pool
from symsets.describing import describe
from symsets.making import make
from symsets.nn import AttentionPool, Exchangeable, Graph, GraphConv, Merge
from symsets.nn.graph import GraphBatch
from symsets.sets import fold, map_elements
from symsets.testing import assert_equivariant, equivariance_error


@pytest.mark.parametrize("H", GROUPS, ids=str)
def test_dss_is_every_linear_layer_with_the_symmetry(H):
    G = groups.Symmetric(N) * H
    spanned = dimension_spanned(lambda: DSS(one_channel(H)), (N, 1, D), groups.basis(G))
    assert spanned == groups.dimension(G) == 2 * groups.dimension(H)


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


def test_the_context_uses_the_mean_of_the_graphs_of_a_set():
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


def test_pyg_convolutions_are_element_maps():
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
    ],
)
def test_repr_shows_the_formula(layer, formula):
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
            lambda: DSS(nn.LSTM(2, 2))(torch.zeros(2, 3, 2)),
            TypeError,
            "summary must be one tensor, got tuple",
        ),
        (
            lambda: Siamese(Siamese(nn.LSTM(2, 2)))(torch.zeros(2, 3, 4, 2)),
            TypeError,
            "element must return one tensor, got tuple",
        ),
        (lambda: DSS(nn.Linear(2, 2), size="5"), TypeError, "size must be a number, got '5'"),
        (
            lambda: DSS(nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 4))),
            ValueError,
            "context must not look up summaries of numbers, got an Embedding: .* pool_last=True",
        ),
    ],
)
def test_wrong_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_numbers_may_be_looked_up_for_each_element():
    layer, x = DSS(nn.Embedding(9, 4), pool_last=True), torch.tensor([[1, 8, 3]])
    expected = layer.element(x) + layer.context(x).sum(1, keepdim=True)
    torch.testing.assert_close(layer(x), expected)


def smallest(x):
    return -pool(map_elements(x, torch.neg), "max")


class Weighted(nn.Module):
    """A sum of elements, each multiplied by learned weights."""

    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels))

    def forward(self, x):
        return pool(map_elements(x, lambda rows: self.weight * rows), "sum")


@pytest.mark.parametrize("own", [smallest, Weighted(4), AttentionPool(4)])
@pytest.mark.parametrize("ragged", [False, True])
def test_a_summary_of_ones_own(own, ragged):
    x = RaggedSets(torch.randn(7, 4), [2, 1, 4]) if ragged else torch.randn(3, 5, 4)
    layer = DSS(nn.Linear(4, 6), pool=own)
    sets = list(x)
    summaries = torch.stack([own(one[None])[0].squeeze(0) for one in sets])
    for found, one, summary in zip(layer(x), sets, summaries, strict=True):
        torch.testing.assert_close(found, layer.element(one) + layer.context(summary))
    for made in (layer, ConcatPool(nn.Linear(4, 4), pool=own), Merge(nn.Linear(4, 2), pool=own)):
        assert_equivariant(made, x, task="merge" if isinstance(made, Merge) else "transform")
        fold(made(x) if not isinstance(made, Merge) else made(x)[None])[0].sum().backward()
    if isinstance(own, nn.Module):
        assert all(p.grad is not None for p in own.parameters())
        assert {f"pool.{name}" for name in own.state_dict()} <= layer.state_dict().keys()


def test_summaries_of_ones_own_are_checked_and_named():
    layer = DSS(nn.Linear(4, 6), pool=smallest)
    assert layer.formula == "element(x_i) + context(smallest_j x_j)"
    with pytest.raises(ValueError, match=r"pool must return one element for each of 3 sets"):
        DSS(nn.Linear(4, 6), pool=lambda x: x.sum())(torch.randn(3, 5, 4))
    with pytest.raises(ValueError, match=r"pool must be one of .*, or a function of sets, got Lin"):
        DSS(nn.Linear(4, 6), pool=nn.Linear(4, 4))
    with pytest.raises(ValueError, match="'pool' is <function"):
        describe(layer)
    net = DSS(nn.Linear(4, 6), pool=AttentionPool(4))
    again = make(describe(net))
    again.load_state_dict(net.state_dict())
    x = torch.randn(2, 3, 4)
    assert torch.equal(again(x), net(x))

import pytest
import torch
from torch import nn

from symsets import RaggedSets, set_layer
from symsets.nn import DSS, Graph, GraphConv, InducedAttention
from symsets.nn.graph import GraphBatch
from symsets.testing import equivariance_error


def conv(i, o):
    return nn.Conv2d(i, o, 3, padding=1, padding_mode="circular")


def reference(layer, x):
    """The formula, set by set, element by element."""
    z = []
    for p in layer.points:
        scores = torch.stack([(p * e.flatten(1).mean(1)).sum() for e in x]) / len(p) ** 0.5
        z.append(sum(a * e for a, e in zip(scores.softmax(0), x, strict=True)))
    key, value = layer.key(torch.stack(z)), layer.value(torch.stack(z))
    rows = []
    for e in x:
        query = layer.query(e[None])[0]
        scores = torch.stack([(query * k).sum() for k in key]) / query.numel() ** 0.5
        mixed = sum(a * v for a, v in zip(scores.softmax(0), value, strict=True))
        rows.append(layer.element(e[None])[0] + mixed)
    return torch.stack(rows)


def test_it_follows_the_formula_dense_and_ragged():
    layer = InducedAttention(conv(2, 4), num_points=3).double()
    rows = torch.randn(7, 2, 4, 5, dtype=torch.float64)
    out = layer(RaggedSets(rows, [2, 0, 5]))
    for found, x in zip(out, RaggedSets(rows, [2, 0, 5]), strict=True):
        if len(x):
            torch.testing.assert_close(found, reference(layer, x), rtol=1e-10, atol=1e-10)
            torch.testing.assert_close(layer(x[None])[0], found, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("compare", ["element", "summary"])
def test_heads_and_comparisons_keep_the_symmetry(compare):
    layer = InducedAttention(conv(2, 4), num_points=3, heads=2, compare=compare)
    for x in (torch.randn(2, 5, 2, 4, 4), RaggedSets(torch.randn(6, 2, 4, 4), [1, 0, 5])):
        moved = equivariance_error(layer, x, symmetry=lambda e: e.roll((1, 2), (-2, -1)))
        assert moved < 1e-9


def test_one_point_at_zero_is_dss_with_means():
    layer = InducedAttention(nn.Linear(3, 4), num_points=1).double()
    nn.init.zeros_(layer.points)
    mean, x = DSS(layer.element, layer.value, pool="mean"), torch.randn(2, 5, 3).double()
    torch.testing.assert_close(layer(x), mean(x))


def test_weights_are_what_summaries_are_mixed_with():
    layer = InducedAttention(nn.Linear(3, 4), num_points=2, heads=2).double()
    x = torch.randn(2, 5, 3).double()
    weights = layer.weights(x)
    assert weights.shape == (2, 2, 5, 2)
    value = layer.value(layer.summaries(x)).unflatten(-1, (2, 2))  # (B, M, h, C / h)
    mixed = torch.einsum("bhim,bmhc->bihc", weights, value).flatten(2)
    torch.testing.assert_close(layer.message(x), mixed)
    ragged = layer.weights(RaggedSets(x.flatten(0, 1)[:7], [5, 2]))
    assert [tuple(w.shape) for w in ragged] == [(2, 5, 2), (2, 2, 2)]
    torch.testing.assert_close(ragged[0], weights[0])


def test_its_cost_is_linear_in_the_size_of_sets():
    layer = InducedAttention(nn.Linear(2, 2), num_points=4)
    x = torch.randn(1, 200_000, 2)  # a matrix of all pairs would take 160 GB
    assert layer(x).shape == x.shape


def test_summaries_of_elements_with_their_own_graphs_use_the_mean_graph():
    edges = [torch.tensor([[0, 1], [1, 0]]), torch.tensor([[1, 2], [2, 1]])]
    graphs = GraphBatch([Graph(own, 3) for own in edges])
    layer, x = set_layer("isab", GraphConv, 2, 4), torch.randn(1, 2, 2, 3)
    z = layer.summaries(x)
    mean = graphs.over_sets(torch.tensor([0, 0]), torch.tensor([2]))
    expected = torch.stack([layer.value(one, mean) for one in z.unbind(1)], dim=1)
    torch.testing.assert_close(layer._parts(x, graphs)[2], expected)
    assert layer(x, graphs).shape == (1, 2, 4, 3)


def test_a_batch_of_empty_sets_is_fine():
    out = InducedAttention(nn.Linear(2, 4))(RaggedSets(torch.zeros(0, 2), [0, 0]))
    assert out.elements.shape == (0, 4)


def test_repr_shows_the_formula():
    shown = repr(InducedAttention(nn.Linear(1, 1), num_points=5))
    assert "Σ_m softmax_m ⟨query(x_i), key(z_m)⟩ value(z_m)" in shown
    assert "z_m = Σ_j softmax_j ⟨point_m, mean x_j⟩ x_j, 5 points" in shown


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: InducedAttention(nn.Linear(1, 1), num_points=0), "num_points must be at least 1"),
        (
            lambda: InducedAttention(nn.Linear(3, 4))(torch.zeros(2, 5, 4)),
            r"x must have shape \(B, N, …, 3\) for the Linear in InducedAttention",
        ),
        (
            lambda: InducedAttention(nn.Conv1d(3, 4, 1), in_channels=2)(torch.zeros(2, 5, 3, 6)),
            r"x must have 2 channels \(first axis of an element\) for InducedAttention, got 3",
        ),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

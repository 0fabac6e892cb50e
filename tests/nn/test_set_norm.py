import pytest
import torch
from torch import nn
from torch.autograd import gradcheck

from symsets import DSS, RaggedSets, Sequential
from symsets.nn import Graph, GraphConv, SetNorm
from symsets.testing import equivariance_error, roll


def reference(norm, x):
    """The formula for one set ``(N, C, *E)``."""
    scaled = (x - x.mean()) / (x.var(correction=0) + norm.eps).sqrt()
    axes = (-1, *(1,) * (x.ndim - 2))
    return scaled * norm.weight.reshape(axes) + norm.bias.reshape(axes)


@pytest.mark.parametrize("shape", [(), (5,), (3, 2)])
def test_it_follows_the_formula_dense_and_ragged(shape):
    norm = SetNorm(4).double()
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    for sizes in ([2, 0, 5, 1], [4, 4]):
        x = RaggedSets(3 + torch.randn(8, 4, *shape, dtype=torch.float64), sizes)
        for found, one in zip(norm(x), x, strict=True):
            if len(one):
                torch.testing.assert_close(found, reference(norm, one), rtol=1e-10, atol=1e-10)
                torch.testing.assert_close(norm(one[None])[0], found, rtol=1e-10, atol=1e-10)


def test_it_keeps_the_symmetry():
    for x in (torch.randn(2, 5, 4, 6), RaggedSets(torch.randn(6, 4, 6), [1, 0, 5])):
        assert equivariance_error(SetNorm(4), x, symmetry=roll(2)) < 1e-9


def test_it_keeps_by_how_much_elements_differ():
    x = torch.randn(1, 3, 4) * torch.tensor([1.0, 10.0, 100.0])[:, None]
    spans = SetNorm(4)(x).std(2)[0]
    torch.testing.assert_close(spans / spans[0], x.std(2)[0] / x.std(2)[0, 0])


def test_gradients_are_those_of_the_value():
    norm = SetNorm(2).double()
    rows = torch.randn(6, 2, 3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda r: norm(RaggedSets(r, [1, 0, 3, 2])).elements, rows)
    assert gradcheck(lambda r: norm(r.unflatten(0, (2, 3))), rows)


def test_squares_need_not_fit_into_half_precision():
    x = torch.full((1, 1000, 64), 400.0)
    x[0, ::2] = -400.0
    found = SetNorm(64)(x.half()).float()
    torch.testing.assert_close(found, SetNorm(64)(x), rtol=1e-2, atol=1e-2)


def test_a_graph_passes_by():
    graph = Graph(torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    net = Sequential(SetNorm(4), DSS(GraphConv(4, 3)))
    x = torch.randn(2, 5, 4, 2)
    torch.testing.assert_close(net(x, graph), net[1](net[0](x), graph))
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        net[0](x, graph)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: SetNorm(0), ValueError, "channels must be at least 1"),
        (lambda: SetNorm(4, eps=-1), ValueError, "eps must be 0 or positive"),
        (lambda: SetNorm(4)(torch.zeros(2, 5, 3)), ValueError, "x must have 4 channels .* got 3"),
        (lambda: SetNorm(4)(torch.zeros(2, 4)), ValueError, "x must have at least 3 axes"),
    ],
)
def test_wrong_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()

"""One battery for every scheme and every map for single elements."""

import copy
import io
from itertools import product

import pytest
import torch
from elements import ELEMENTS
from torch import nn
from torch.autograd import gradcheck

from symsets import RaggedSets, Sequential, schemes, set_layer
from symsets.nn import Classify, Select
from symsets.testing import equivariance_error

SCHEMES = [*schemes(), "dss-power2"]
IN, OUT = 3, 4


def layer_of(scheme, kind, out=OUT):
    return set_layer(scheme, ELEMENTS[kind].make, IN, out, size=3)


def ragged_counts(B, N):
    return [N] if B == 1 else [N, 0, N + 2]


def ragged_input(kind, B, N):
    counts = ragged_counts(B, N)
    return RaggedSets(torch.randn(sum(counts), IN, *ELEMENTS[kind].shape), counts)


@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_commutes_with_reordering_and_with_the_element_symmetry(scheme, kind):
    element = ELEMENTS[kind]
    for B, N in product((1, 3), (1, 2, 7)):
        torch.manual_seed(0)
        layer = layer_of(scheme, kind)
        dense = torch.randn(B, N, IN, *element.shape)
        for x in (dense, ragged_input(kind, B, N)):
            error = equivariance_error(
                layer,
                x,
                *element.args,
                symmetry=element.symmetry,
                moved_args=element.moved_args,
                trials=1,
            )
            assert error <= 1e-9, f"{B} sets of {N}, {type(x).__name__}"


@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_ragged_equals_dense_set_by_set(scheme, kind):
    layer = layer_of(scheme, kind).double()
    args = tuple(
        a.to(dtype=torch.float64) if hasattr(a, "propagate") else a for a in ELEMENTS[kind].args
    )
    for counts in ([2, 0, 5, 1], [3, 3]):
        rows = torch.randn(sum(counts), IN, *ELEMENTS[kind].shape, dtype=torch.float64)
        x = RaggedSets(rows, counts)
        out = layer(x, *args)
        assert out.elements.shape[:2] == (len(rows), OUT)
        for one, expected in zip(out, x, strict=True):
            if len(one):
                alone = layer(expected[None], *args)[0]
                torch.testing.assert_close(one, alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nan_in_one_set_never_reaches_another(scheme):
    layer = layer_of(scheme, "conv1d")
    x = ragged_input("conv1d", 3, 2)
    dirty = x.elements.clone()
    dirty[0, 1, 2] = torch.nan
    clean_out, out = layer(x), layer(x.with_elements(dirty))
    assert out[0].isnan().any()
    assert torch.equal(out[2], clean_out[2])
    dense = torch.randn(2, 3, IN, 6)
    dirty = dense.clone()
    dirty[0, 0] = torch.nan
    torch.testing.assert_close(layer(dirty)[1], layer(dense)[1])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_gradients_are_those_of_the_value(scheme):
    layer = set_layer(scheme, lambda i, o: nn.Conv1d(i, o, 2), 2, 2, size=2).double()
    x = torch.randn(2, 3, 2, 3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(layer, x)
    rows = x.detach().flatten(0, 1).requires_grad_()
    assert gradcheck(lambda r: layer(RaggedSets(r, [1, 0, 3, 2])).elements, rows)
    weights = [p.detach().clone().requires_grad_() for p in layer.parameters()]
    names = [n for n, _ in layer.named_parameters()]

    def value(*values):
        return torch.func.functional_call(layer, dict(zip(names, values, strict=True)), x.detach())

    assert gradcheck(value, weights)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_saved_weights_give_the_same_layer(scheme):
    layer, other = layer_of(scheme, "conv1d"), layer_of(scheme, "conv1d")
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    x = torch.randn(2, 3, IN, 6)
    assert torch.equal(layer(x), other(x))
    assert torch.equal(copy.deepcopy(layer)(x), layer(x))


def small_network(scheme):
    return Sequential(
        layer_of(scheme, "conv1d"), nn.BatchNorm1d(OUT), nn.ReLU(), Classify(OUT, 3, hidden=(5,))
    )


def values_and_gradients(net, x):
    net.zero_grad()
    x = x.clone().requires_grad_()
    out = net(x)
    out.square().sum().backward()
    return [out, x.grad, *(p.grad for p in net.parameters())]


# The compiler of C++ takes seconds for each layer: one with a sum is in the tests of lifting.
INDUCTOR = [pytest.param(s, "inductor", marks=pytest.mark.slow) for s in ("dss-max", "attention")]


@pytest.mark.no_cover  # dear, and other tests cover the same lines
@pytest.mark.parametrize(("scheme", "backend"), [*((s, "aot_eager") for s in SCHEMES), *INDUCTOR])
def test_compiled_equals_eager_in_value_and_gradient(scheme, backend):
    layer, x = layer_of(scheme, "linear"), torch.randn(2, 3, IN)
    torch._dynamo.reset()
    compiled = torch.compile(copy.deepcopy(layer), fullgraph=True, backend=backend)
    pairs = zip(values_and_gradients(compiled, x), values_and_gradients(layer, x), strict=True)
    for a, b in pairs:
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scheme", ["siamese", "dss-sum", "attention"])
def test_compiled_networks_equal_eager_in_value_and_gradient(scheme):
    net, x = small_network(scheme), torch.randn(2, 3, IN, 6)
    torch._dynamo.reset()
    compiled = torch.compile(copy.deepcopy(net), backend="aot_eager", fullgraph=True)
    pairs = zip(values_and_gradients(compiled, x), values_and_gradients(net, x), strict=True)
    for a, b in pairs:
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["graph", "spectral1d", "adjacency"])
def test_compiled_element_maps_equal_eager_in_value_and_gradient(kind):
    element = ELEMENTS[kind]
    layer = layer_of("dss-sum", kind)
    x = torch.randn(2, 3, IN, *element.shape)
    torch._dynamo.reset()
    compiled = torch.compile(copy.deepcopy(layer), backend="aot_eager", fullgraph=True)
    results = []
    for net in (layer, compiled):
        out = net(x, *element.args)
        out.square().sum().backward()
        results.append([out, *(p.grad for p in net.parameters())])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_compiled_ragged_sets_equal_eager():
    layer = layer_of("dss-sum", "conv1d")
    x = ragged_input("conv1d", 3, 2)
    torch._dynamo.reset()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x).elements, layer(x).elements)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_autocast_gives_finite_half_precision(scheme):
    layer = layer_of(scheme, "conv1d")
    x = torch.randn(2, 3, IN, 6)
    expected = layer(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = layer(x)
        ragged = layer(RaggedSets(x.flatten(0, 1), [1, 5]))
    torch.testing.assert_close(out.float(), expected, rtol=0.1, atol=0.1)
    assert ragged.elements.isfinite().all()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_dense_model_exports(scheme):
    net, x = small_network(scheme).eval(), torch.randn(2, 3, IN, 6)
    exported = torch.export.export(net, (x,))
    torch.testing.assert_close(exported.module()(x), net(x))


def test_any_number_of_elements_exports_once():
    net = Sequential(layer_of("dss-mean", "conv1d"), nn.ReLU(), Select(OUT)).eval()
    n = torch.export.Dim("n", min=2, max=64)
    exported = torch.export.export(net, (torch.randn(2, 3, IN, 6),), dynamic_shapes=({1: n},))
    x = torch.randn(2, 9, IN, 6)
    torch.testing.assert_close(exported.module()(x), net(x))

"""NormAct: the numbers of a layer, a norm and an activation in a row."""

import copy
import io

import pytest
import torch
from torch import nn

from symsets import DSS, RaggedSets, Sequential, Siamese, Wreath, schemes, set_layer
from symsets.nn import Graph, GraphConv, NormAct
from symsets.testing import equivariance_error, roll

SCHEMES = [*schemes(), "dss-power2"]
IN, OUT = 3, 4


def conv(i, o):
    return nn.Conv1d(i, o, 3, padding=1, padding_mode="circular")


def pair(layer, norm=None, act=None):
    """Return a NormAct in float64, and the chain of copies of its modules."""
    norm = nn.BatchNorm1d(OUT) if norm is None else norm
    fused = NormAct(layer, norm, nn.ELU() if act is None else act).double()
    return fused, Sequential(*copy.deepcopy([fused.layer, fused.norm, fused.act]))


def numbers(y):
    while isinstance(y, RaggedSets):
        y = y.elements
    return y


def outcome(net, x, *args):
    x = x.map(torch.Tensor.clone) if isinstance(x, RaggedSets) else x.clone()
    rows = numbers(x).requires_grad_()
    y = numbers(net(x, *args))
    loss = (y.square() * torch.linspace(-1, 1, y.numel()).double().view(y.shape)).sum()
    grads = torch.autograd.grad(loss, [rows, *net.parameters()])
    return [y, *grads, *(b.clone() for b in net.buffers())]


def same(fused, chain, x, *args):
    torch.testing.assert_close(
        outcome(fused, x, *args), outcome(chain, x, *args), rtol=1e-9, atol=1e-9
    )


def batches():
    rows = torch.randn(6, IN, 5).double()
    return {
        "dense": rows.unflatten(0, (2, 3)),
        "one set": rows[None],
        "ragged": RaggedSets(rows, [1, 0, 5]),
        "ragged of one size": RaggedSets(rows, [3, 3]),
    }


@pytest.mark.parametrize("kind", batches())
@pytest.mark.parametrize("scheme", SCHEMES)
def test_numbers_gradients_and_statistics_are_those_of_the_chain(scheme, kind):
    fused, chain = pair(set_layer(scheme, conv, IN, OUT, size=3))
    x = batches()[kind]
    same(fused, chain, x)  # in training, which moves the statistics
    assert fused.norm.running_mean.any()
    same(fused.eval(), chain.eval(), x)


@pytest.mark.parametrize("norm", [nn.GroupNorm(2, OUT), nn.InstanceNorm1d(OUT, affine=True)])
@pytest.mark.parametrize("act", [nn.ReLU(), nn.GELU(), nn.Identity()])
def test_any_norm_and_activation(norm, act):
    fused, chain = pair(DSS(conv(IN, OUT)), norm, act)
    same(fused, chain, batches()["dense"])
    same(fused, chain, batches()["ragged"])


@pytest.mark.parametrize("layer", [Siamese, Wreath])
def test_clouds_of_different_sizes(layer):
    clouds = [[torch.randn(p, IN).double() for p in sizes] for sizes in ((4, 2), (5,))]
    x = RaggedSets.from_list(clouds)
    fused = NormAct(layer(Siamese(nn.Linear(IN, OUT))), nn.BatchNorm1d(OUT), nn.ReLU()).double()
    before = fused.layer(x)
    norm = copy.deepcopy(fused.norm)
    y = fused(x)
    assert [len(cloud) for one in y for cloud in one] == [4, 2, 5]
    torch.testing.assert_close(numbers(y), norm(numbers(before)).relu())


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_has_the_symmetry_of_the_layer(scheme, training):
    fused = NormAct(set_layer(scheme, conv, IN, OUT, size=3), nn.BatchNorm1d(OUT), nn.ELU())
    fused.train(training)
    for x in (torch.randn(2, 3, IN, 6), RaggedSets(torch.randn(5, IN, 6), [2, 3])):
        assert equivariance_error(fused, x, symmetry=roll(2), trials=1) <= 1e-9


@pytest.mark.parametrize("scheme", ["siamese", "dss-sum", "dss-max", "attention"])
def test_compiled_equals_eager_in_value_and_gradient(scheme):
    torch._dynamo.reset()
    fused, _ = pair(set_layer(scheme, conv, IN, OUT, size=3))
    compiled = torch.compile(copy.deepcopy(fused), backend="aot_eager", fullgraph=True)
    same(compiled, fused, batches()["dense"])


def test_saved_weights_give_the_same():
    fused, _ = pair(DSS(conv(IN, OUT)))
    fused(batches()["dense"])
    file = io.BytesIO()
    torch.save(fused.state_dict(), file)
    file.seek(0)
    other, _ = pair(DSS(conv(IN, OUT)))
    other.load_state_dict(torch.load(file, weights_only=True))
    assert set(fused.state_dict()) >= {"layer.element.weight", "norm.running_mean"}
    for net in (other, copy.deepcopy(fused)):
        same(net.eval(), fused.eval(), batches()["dense"])


@pytest.mark.parametrize("kind", ["forward", "forward_pre", "full_backward", "full_backward_pre"])
@pytest.mark.parametrize("part", ["layer", "layer.element", "layer.context", "norm", "act"])
def test_hooks_of_every_part_are_called(part, kind):
    fused, _ = pair(DSS(conv(IN, OUT)))
    seen = []
    module = fused.get_submodule(part)
    getattr(module, f"register_{kind}_hook")(lambda *args: seen.append(part))
    fused(batches()["dense"].requires_grad_()).sum().backward()
    assert seen == [part]


def test_graphs_reach_the_layer():
    here = torch.arange(5)
    graph = Graph(torch.stack([here, here.roll(1)]), 5).to(dtype=torch.float64)
    fused, chain = pair(DSS(GraphConv(IN, OUT)))
    same(fused, chain, batches()["dense"], graph)
    stack = Sequential(fused, NormAct(DSS(GraphConv(OUT, 2)), nn.BatchNorm1d(2))).double()
    assert stack(batches()["dense"], graph).shape == (2, 3, 2, 5)


def test_the_context_may_say_the_same_to_all_entries_but_not_to_all_channels():
    pooled = nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Conv1d(IN, OUT, 1))
    same(*pair(DSS(conv(IN, OUT), pooled)), batches()["dense"])
    message = r"element and context must give outputs of one shape, got elements \(4, 5\) and \(1,"
    for net in pair(DSS(conv(IN, OUT), conv(IN, 1))):
        with pytest.raises(ValueError, match=message):
            net(batches()["dense"])


@pytest.mark.parametrize(
    ("layer", "x", "message"),
    [
        (DSS(conv(3, 4)), torch.zeros(2, 5, 2, 6), r"\(B, N, 3, L\) for the Conv1d in DSS, got"),
        (DSS(conv(3, 4)), torch.zeros(6, 3, 6), r"\(B, N, 3, L\) for the Conv1d in DSS, got"),
        (Siamese(conv(3, 4)), torch.zeros(2, 5, 2, 6), "for the Conv1d in Siamese, got"),
    ],
)
def test_wrong_shapes_get_the_sentence_of_the_layer(layer, x, message):
    with pytest.raises(ValueError, match=message):
        NormAct(layer, nn.BatchNorm1d(4))(x)


def test_printing_shows_the_formula():
    layer = DSS(nn.Linear(3, 4), pool="max")
    assert "act(norm(element(x_i) + context(max_j x_j)))" in repr(
        NormAct(layer, nn.BatchNorm1d(4), nn.ReLU())
    )
    bare = repr(NormAct(layer, nn.BatchNorm1d(4)))
    assert "  norm(element(x_i) + context(max_j x_j))\n" in bare

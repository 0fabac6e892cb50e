"""Elements whose entries lie first in memory give the same numbers, and stay so."""

import copy

import pytest
import torch
from torch import nn

from symsets.experiments.shapes import network as shape_networks
from symsets.experiments.shapes.maps import Points
from symsets.experiments.shapes.network import ShapeNetwork
from symsets.experiments.signals import network as signal_networks
from symsets.experiments.signals.network import SignalNetwork
from symsets.nn import DSS, CircularConv1d, ConcatPool, Graph, GraphConv, NormAct, RemoveMean
from symsets.ops import norm_act, to_fast_layout
from symsets.ops.layout import entries_first
from symsets.sets import fold, pool

B, N, C, L = 2, 3, 4, 12


def first(x):
    return x.movedim(-1, 0).contiguous().movedim(0, -1)


def ring(size):
    here = torch.arange(size)
    return Graph(torch.stack([here, here.roll(1)]), size)


class OnRing(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = GraphConv(i, o)

    def forward(self, x):
        return self.conv(x, ring(x.shape[-1]))


def value_and_gradients(module, x):
    module.zero_grad()
    x = x.detach().requires_grad_()
    y = module(x)
    y.square().sum().backward()
    return [y, x.grad, *(p.grad for p in module.parameters())]


MAPS = {
    "even stride": lambda: CircularConv1d(C, 6, L, stride=2, method="spectral"),
    "stride three": lambda: CircularConv1d(C, 6, 5, stride=3, method="spectral"),
    "odd stride": lambda: CircularConv1d(C, 6, 7, stride=5, method="spectral"),
    "no bias": lambda: CircularConv1d(C, 6, 4, bias=False, method="spectral"),
    "graph, wider": lambda: OnRing(C, 6),
    "graph, narrower": lambda: OnRing(C, 3),
    "points": lambda: Points(C, 6),
    "points, no bias": lambda: Points(C, 6, bias=False),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.filterwarnings("ignore:stride")
def test_maps_give_the_same_in_either_layout(name):
    torch.manual_seed(0)
    module, x = MAPS[name]().double(), torch.randn(B * N, C, L, dtype=torch.float64)
    last, now = value_and_gradients(module, x), value_and_gradients(module, first(x))
    torch.testing.assert_close(now, last)
    assert not entries_first(last[0])
    assert entries_first(now[0])


@pytest.mark.parametrize(
    "make",
    [
        lambda: DSS(CircularConv1d(C, 6, L, stride=2)),
        lambda: DSS(OnRing(C, 6), pool="max"),
        lambda: ConcatPool(OnRing(C, 3)),
        lambda: RemoveMean(OnRing(C, 3)),
        lambda: NormAct(DSS(Points(C, 6)), nn.BatchNorm1d(6), nn.ReLU()),
        lambda: NormAct(ConcatPool(Points(C, 3)), nn.BatchNorm1d(6)),
    ],
)
def test_set_layers_give_the_same_in_either_layout(make):
    torch.manual_seed(0)
    module, x = make().double(), torch.randn(B, N, C, L, dtype=torch.float64)
    last, now = value_and_gradients(module, x), value_and_gradients(module, first(x))
    torch.testing.assert_close(now, last)
    assert not entries_first(fold(last[0])[0])
    assert entries_first(fold(now[0])[0])


@pytest.mark.parametrize("how", ["sum", "mean", "max"])
def test_pooling_keeps_the_layout(how):
    x = torch.randn(B, N, C, L)
    assert entries_first(pool(first(x), how))
    torch.testing.assert_close(pool(first(x), how), pool(x, how))


def test_batch_normalisation_has_the_same_statistics_in_either_layout():
    x, norms = torch.randn(B, N, C, L, dtype=torch.float64), []
    for sets in (x, first(x)):
        norms.append(nn.BatchNorm1d(C).double())
        norm_act(sets, None, norms[-1], nn.Identity())
    assert norms[0].running_mean.all()
    torch.testing.assert_close(norms[1].state_dict(), norms[0].state_dict())


def test_sets_are_put_into_the_fast_layout_on_a_gpu_alone():
    x = torch.randn(B, N, C, L)
    assert to_fast_layout(x) is x


@pytest.mark.no_cover  # dear, and other tests cover the same lines
@pytest.mark.parametrize("layer", [DSS(Points(C, 6)), ConcatPool(Points(C, 6))])
@pytest.mark.parametrize("layout", [first, torch.clone])
def test_one_compiled_graph_serves_all_sizes_in_either_layout(layer, layout):
    torch._dynamo.reset()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=True)
    for shape in [(B, N, C, L), (5, 4, C, 7)]:
        x = layout(torch.randn(shape))
        torch.testing.assert_close(compiled(x), layer(x))
        assert compiled(x).stride() == layer(x).stride()


@pytest.mark.parametrize("layout", [first, torch.clone])
def test_layers_of_points_are_exported_for_all_sizes(layout):
    layer, sizes = DSS(Points(C, 6)), {0: torch.export.Dim("B"), 1: torch.export.Dim("N")}
    program = torch.export.export(
        layer, (layout(torch.randn(B, N, C, L)),), dynamic_shapes=(sizes,)
    )
    x = layout(torch.randn(5, 4, C, L))
    torch.testing.assert_close(program.module()(x), layer(x))


@pytest.mark.parametrize("model", ["dss-sum", "dss-max", "siamese-ds", "aittala", "sridhar"])
@pytest.mark.parametrize("which", ["signals", "points", "graphs"])
def test_networks_give_the_same_in_either_layout(model, which, monkeypatch):
    torch.manual_seed(0)
    if which == "signals":
        net, x = SignalNetwork(model, widths=(8, 8, 4), length=16), torch.randn(2, 5, 1, 16)
    else:
        net, x = ShapeNetwork(model, kind=which, widths=(4, 8, 4)), torch.randn(2, 5, 3, 9)
        net.graph = ring(9) if which == "graphs" else None
    x, net = x.double(), net.double()
    there = copy.deepcopy(net)
    last = value_and_gradients(net, x)
    for module in (signal_networks, shape_networks):
        monkeypatch.setattr(module, "to_fast_layout", first)  # what it does on a GPU
    now = value_and_gradients(there, x)
    torch.testing.assert_close(now, last)
    torch.testing.assert_close(there.state_dict(), net.state_dict())


def test_points_of_another_device_are_refused():
    with pytest.raises(ValueError, match="x must be on the device of the weights of Points, cpu"):
        Points(3, 4)(torch.zeros(2, 3, 5, device="meta"))

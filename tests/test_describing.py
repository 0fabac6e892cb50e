"""Networks go through JSON and come back as they were; what cannot is refused by name."""

import json
import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import symsets
from symsets import DSS, ConcatPool, RaggedSets, RemoveMean, Sequential, SetAttention, Siamese
from symsets.describing import describe
from symsets.groups import Cyclic, PermutationGroup, Symmetric
from symsets.making import make
from symsets.models import SelectionNetwork
from symsets.nn import (
    AdjacencyLinear,
    CircularConv1d,
    CircularConv2d,
    Classify,
    EquivariantLinear,
    Exchangeable,
    GraphConv,
    Merge,
    NormAct,
    Select,
    Wreath,
    set_layer,
)


class Own(nn.Module):
    """A network of somebody's own, whose attributes tell its arguments."""

    def __init__(self, width, *, layers=1):
        super().__init__()
        self.width, self.layers = width, layers
        self.net = Sequential(*(DSS(nn.Linear(3, 3)) for _ in range(layers)), Classify(3, width))

    def forward(self, x):
        return self.net(x)


class Forgetful(nn.Module):
    """A network that does not keep its arguments."""

    def __init__(self, width):
        super().__init__()
        self.map = nn.Linear(width, 1)


class Remembering(Forgetful):
    """The same, with a dictionary of them."""

    def __init__(self, width):
        super().__init__(width)
        self.arguments = {"width": width}


class Unruly(nn.Module):
    """A network that cannot be made without data."""

    def __init__(self, size=3):
        super().__init__()
        self.size = size
        self.scale = float(torch.ones(1).item())


def shared():
    layer = nn.Linear(3, 3)
    return nn.Sequential(layer, nn.ReLU(), layer)


POINTS, PICTURES = (2, 5, 3), (2, 3, 3, 12, 12)
NETWORKS = {
    "dss": (lambda: DSS(nn.Linear(3, 4), pool="max"), POINTS),
    "dss of another context": (lambda: DSS(nn.Linear(3, 4, bias=False), nn.Linear(3, 4)), POINTS),
    "power sums": (lambda: DSS(nn.Linear(3, 4), pool="power3", size=5.0), POINTS),
    "pool last": (lambda: DSS(nn.Linear(3, 4), pool="mean", pool_last=True), POINTS),
    "siamese": (lambda: Siamese(nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4))), POINTS),
    "aittala": (lambda: ConcatPool(nn.Linear(3, 4), pool="mean"), POINTS),
    "sridhar": (lambda: RemoveMean(nn.Linear(3, 4)), POINTS),
    "attention": (lambda: SetAttention(nn.Linear(3, 4), heads=2), POINTS),
    "wreath": (lambda: Wreath(nn.Conv1d(3, 4, 3, padding="same"), size=2.0), (2, 5, 3, 7)),
    "norm": (
        lambda: NormAct(DSS(nn.Conv2d(3, 4, 3, stride=2)), nn.BatchNorm2d(4), nn.ELU(0.5)),
        PICTURES,
    ),
    "heads": (
        lambda: Sequential(
            DSS(nn.Conv2d(3, 4, 3)),
            nn.MaxPool2d(2),
            nn.Dropout(0.2),
            Classify(4, 3, hidden=(5,), pool="max", entries="max"),
            nn.LogSoftmax(dim=1),
        ),
        PICTURES,
    ),
    "select": (lambda: Select(3, hidden=(6, 4), pool="mean"), POINTS),
    "merge": (lambda: Merge(nn.ConvTranspose2d(3, 2, 2, stride=2), pool="median"), PICTURES),
    "circular": (lambda: Siamese(CircularConv1d(3, 2, 3, bias=False)), (2, 5, 3, 7)),
    "circular pictures": (lambda: DSS(CircularConv2d(3, 2, (3, 5))), PICTURES),
    "exchangeable": (lambda: DSS(Exchangeable(3, 2, pool="max")), (2, 5, 3, 7)),
    "adjacency": (lambda: Siamese(AdjacencyLinear(3, 2, order=1)), (2, 5, 3, 4, 4)),
    "group": (lambda: Siamese(EquivariantLinear(Cyclic(4) * Symmetric(3), 3, 2)), (2, 5, 3, 4, 3)),
    "graph": (lambda: GraphConv(3, 4), None),
    "scheme": (lambda: set_layer("dss-sum", lambda i, o: nn.Linear(i, o), 3, 8), POINTS),
    "shared": (shared, (4, 3)),
    "recurrent": (lambda: nn.LSTM(3, 4, num_layers=2, bidirectional=True), None),
    "gates": (lambda: nn.GRU(3, 4, batch_first=True), None),
    "heads of torch": (lambda: nn.MultiheadAttention(8, 2, bias=False, batch_first=True), None),
    "transformer": (
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True), 2
        ),
        (2, 5, 8),
    ),
    "embedding": (lambda: nn.Embedding(10, 3, padding_idx=0), None),
    "containers": (
        lambda: nn.ModuleDict({"a": nn.ModuleList([nn.PReLU(3), nn.GroupNorm(1, 4)])}),
        None,
    ),
    "infinite": (lambda: nn.Hardtanh(0.0, float("inf")), (2, 3)),
    "bounded size": (lambda: nn.Upsample(size=(4, 4), mode="bilinear"), (2, 3, 2, 2)),
    "registered": (
        lambda: SelectionNetwork("dss-max", widths=((2,), (2,), (2,))),
        (1, 2, 3, 64, 64),
    ),
    "registered inside": (
        lambda: nn.Sequential(SelectionNetwork("siamese", widths=((2,), (2,), (2,)))),
        None,
    ),
    "lifted": (
        lambda: symsets.lift(
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(400, 2)),
            "dss-mean",
        ),
        PICTURES,
    ),
    "lifted in part": (
        lambda: symsets.lift(nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)), "attention", ["1"]),
        POINTS,
    ),
    "lifted without messages": (lambda: symsets.lift(nn.Linear(3, 4), "siamese"), POINTS),
    "own": (lambda: Own(2, layers=2), POINTS),
    "own with arguments": (lambda: Remembering(4), None),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_comes_back_from_its_description(name):
    build, shape = NETWORKS[name]
    net = build().eval()
    text = json.dumps(describe(net), allow_nan=False)
    made = make(json.loads(text), allow=[Own, Remembering]).eval()
    assert repr(made) == repr(net)
    made.load_state_dict(net.state_dict())
    assert len(list(made.parameters())) == len(list(net.parameters()))
    if shape:
        x = torch.randn(shape)
        assert torch.equal(made(x), net(x))


def test_ragged_sets_get_the_same_from_a_network_that_was_made_again():
    net = Sequential(DSS(nn.Linear(3, 4), pool="median"), nn.ReLU(), Select(4))
    made = make(describe(net))
    made.load_state_dict(net.state_dict())
    x = RaggedSets(torch.randn(7, 3), [2, 5])
    assert torch.equal(made(x).elements, net(x).elements)


def test_maps_of_pyg_are_described():
    conv = pytest.importorskip("torch_geometric.nn").GCNConv(3, 4, normalize=False)
    net = DSS(conv)
    made = make(json.loads(json.dumps(describe(net))))
    made.load_state_dict(net.state_dict())
    assert repr(made) == repr(net)


def changed():
    net = Classify(3, 2)
    net.mlp = nn.Linear(3, 4)
    return net


def tied():
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    net[1].weight = net[0].weight
    return net


class Switched(nn.Module):
    """A network with a switch that no argument sets."""

    def __init__(self):
        super().__init__()
        self.on = False


def switched():
    net = Switched()
    net.on = True
    return nn.Sequential(net)


def parametrised():
    return nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(3, 3)))


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (lambda: Forgetful(3), r"net \(Forgetful\) cannot be described, as its argument 'width'"),
        (
            lambda: nn.Sequential(nn.ReLU(), Forgetful(3)),
            r"the part '1' \(Forgetful\) .* give it an attribute of that name",
        ),
        (changed, r"the part 'mlp' \(Linear\) would become another: was it changed after"),
        (tied, "some of its weights are shared between parts"),
        (switched, r"the part '0' \(Switched\) has on = True, and would get False"),
        (parametrised, "made again it has other parts"),
        (Unruly, r"cannot be described, as making it again failed: .*meta"),
        (lambda: nn.Sequential(nn.Softmax(dim=torch.zeros(2))), r"'0\.dim' is torch\.float32"),
    ],
)
def test_what_cannot_be_described_is_refused_by_name(build, problem):
    with pytest.raises(ValueError, match=problem):
        describe(build())


def test_only_networks_are_described():
    with pytest.raises(TypeError, match="net must be a network, got dict"):
        describe({})


class Small(nn.Module):
    """A network as timm makes them."""

    def __init__(self, num_classes, in_chans):
        super().__init__()
        self.num_classes = num_classes
        self.pretrained_cfg = {"architecture": "small"}
        self.stem = nn.Conv2d(in_chans, 4, 3)
        self.head = nn.Linear(4, num_classes)

    def forward(self, x):
        return self.head(self.stem(x).mean((2, 3)))


@pytest.mark.parametrize("lifted", [False, True])
def test_networks_of_timm_are_described_by_name(lifted, monkeypatch):
    def create_model(name, *, pretrained, num_classes=10, in_chans=3):
        assert (name, pretrained) == ("small", False)
        return Small(num_classes, in_chans)

    library = SimpleNamespace(list_models=lambda: ["small"], create_model=create_model)
    monkeypatch.setitem(sys.modules, "timm", library)
    monkeypatch.setattr(Small, "__module__", "timm.models.small")
    net = Small(5, 1)
    net = symsets.lift(net, "dss-mean") if lifted else net
    described = json.loads(json.dumps(describe(net)))
    made = make(described)
    made.load_state_dict(net.state_dict())
    x = torch.randn(2, 3, 1, 8, 8) if lifted else torch.randn(2, 1, 8, 8)
    assert torch.equal(made(x), net(x))
    named = described["lift"]["model"] if lifted else described
    for name, arguments in (("hf_hub:somebody/else", {}), ("small", {"pretrained": True})):
        named.update(timm=name, arguments=arguments)
        with pytest.raises(ValueError, match=r"timm must have a network|must be some of"):
            make(described)


def test_hooks_are_not_lost_in_silence():
    net = nn.Sequential(nn.Linear(2, 2))
    net[0].register_forward_hook(lambda module, args, output: 2 * output)
    with pytest.raises(ValueError, match=r"'0' \(Linear\) has hooks or a forward that no file"):
        describe(net)


def test_a_group_without_a_name_is_described_by_its_generators():
    layer = EquivariantLinear(PermutationGroup([[1, 2, 3, 0]]), 1, 1)
    made = make(json.loads(json.dumps(describe(layer))))
    assert made.extra_repr() == layer.extra_repr()
    with pytest.raises(ValueError, match="generators must be permutations"):
        make(
            {
                "class": "symsets.nn.EquivariantLinear",
                "arguments": {"group": {"permutations": {"generators": [[0, 0]], "shape": [2]}}},
            }
        )

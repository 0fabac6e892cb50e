import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from symsets import RaggedSets, collate, schemes
from symsets.models import Card, SetNetwork, build, network_for
from symsets.nn import Classify
from symsets.sets import GraphSets
from symsets.testing import equivariance_error

ELEMENTS = {
    "pictures": {"size": [12, 9], "channels": 3},
    "signals": {"length": 20, "channels": 2},
    "vectors": {"channels": 5},
    "clouds": {"channels": 3},
    "graphs": {"channels": 4},
}
SHAPES = {"pictures": (3, 12, 9), "signals": (2, 20), "vectors": (5,)}
TASKS = ("classify", "labels", "regress", "select", "score")


def graph(nodes, seed=0):
    from torch_geometric.data import Data

    generator = torch.Generator().manual_seed(100 * seed + nodes)
    edges = torch.randint(nodes, (2, 2 * nodes), generator=generator)
    return Data(x=torch.randn(nodes, 4, generator=generator), edge_index=edges)


def sets_of(kind, sizes=(2, 4, 1)):
    torch.manual_seed(0)
    if kind == "graphs":
        return collate([[graph(3 + i, k) for i in range(n)] for k, n in enumerate(sizes)])
    if kind == "clouds":
        return RaggedSets.from_list([[torch.randn(4 + i, 3) for i in range(n)] for n in sizes])
    return RaggedSets(torch.randn(sum(sizes), *SHAPES[kind]), sizes)


def network(task, kind, **options):
    torch.manual_seed(0)
    return network_for(Card(task, kind, ("a", "b", "c"), ELEMENTS[kind]), width=8, **options)


@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_a_network_for_every_kind(task, kind):
    net, x = network(task, kind), sets_of(kind)
    out = net(x)
    if task in ("select", "score"):
        assert out.elements.shape == (7,)
        out = out.elements
    else:
        assert out.shape == (3, 3)
    out.square().sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    again = build("network", net.arguments)
    again.load_state_dict(net.state_dict())
    found, expected = again.eval()(x), net.eval()(x)
    rows = [y.elements if isinstance(y, RaggedSets) else y for y in (found, expected)]
    assert torch.equal(*rows)


@pytest.mark.parametrize("kind", ["pictures", "vectors"])
def test_sets_merge_into_one_element(kind):
    net, x = network("merge", kind), sets_of(kind)
    assert net(x).shape == (3, *SHAPES[kind])


@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("task", ["classify", "score"])
def test_answers_do_not_depend_on_the_order_of_a_set(task, kind):
    net, x = network(task, kind).double().eval(), sets_of(kind)
    order = [1, 0, 3, 5, 2, 4, 6]  # inside the sets of 2, 4 and 1
    if isinstance(x, GraphSets):
        alone = GraphSets(x.elements, [1] * 7, x.edges)[order]
        moved = GraphSets(alone.elements, [2, 4, 1], alone.edges).to(torch.float64)
    else:
        moved = x.with_elements(x.elements[order]).to(torch.float64)
    before, after = net(x.to(torch.float64)), net(moved)
    if task == "score":
        before, after = before.elements[order], after.elements
    torch.testing.assert_close(after, before, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scheme", schemes())
def test_every_scheme_is_one_of_the_network(scheme):
    net = network("select", "pictures", scheme=scheme)
    for part in net.modules():
        if isinstance(part, _BatchNorm):
            part.momentum = None
    net(sets_of("pictures"))  # statistics of one batch
    assert equivariance_error(net, torch.randn(2, 3, *SHAPES["pictures"]), task="select") < 1e-9


@pytest.mark.parametrize(("side", "halved"), [(3, 1), (8, 1), (28, 3), (64, 4), (256, 6)])
def test_pictures_of_any_size_end_on_a_small_grid(side, halved):
    element = {"size": [side, side], "channels": 1}
    net = network_for(Card("classify", "pictures", ("a", "b"), element), width=2)
    convs = [p for p in net.modules() if isinstance(p, nn.Conv2d) and p.stride == (2, 2)]
    assert len(convs) == halved
    assert net(torch.randn(2, 2, 1, side, side)).shape == (2, 2)


def test_what_lies_where_is_seen():
    net = network("classify", "pictures").eval()
    x = torch.zeros(1, 2, 3, 12, 9)
    x[..., :4, :3] = 1
    assert not torch.allclose(net(x), net(x.flip(-1)), atol=1e-4)


def test_elements_meet_early_where_one_of_them_is_chosen():
    def meets(net):
        return not torch.allclose(net.trunk(x)[:, :1], net.trunk(x[:, :1]), atol=1e-6)

    x = torch.randn(1, 3, *SHAPES["pictures"])
    assert meets(network("select", "pictures").eval())
    assert not meets(network("classify", "pictures").eval())
    assert meets(network("classify", "pictures", early=True).eval())


def test_signals_are_moved_in_training_only():
    net, x = network("classify", "signals", shift=3), torch.zeros(1, 1, 2, 32)
    x[0, 0, :, 9] = 1
    shift = net.trunk[0]
    torch.manual_seed(1)
    moved = {int(shift(x[0])[0, 0].nonzero()) for _ in range(200)}
    assert moved == set(range(6, 13))
    assert torch.equal(shift.eval()(x[0]), x[0])


def test_pictures_are_shifted_turned_and_stretched_in_training_only():
    jitter = network("classify", "pictures", shift=3).trunk[0]
    rows, columns = torch.meshgrid(torch.arange(48.0), torch.arange(60.0), indexing="ij")
    places = [(24.0, 20.0), (24.0, 40.0)]  # left and right of the middle, (23.5, 29.5)
    blobs = [torch.exp(-((rows - i) ** 2 + (columns - j) ** 2) / 8) for i, j in places]
    torch.manual_seed(0)
    y = jitter(torch.stack(blobs).expand(1000, -1, -1, -1))
    mass = y.sum((2, 3))
    centres = torch.stack([(y * axis).sum((2, 3)) / mass for axis in (rows, columns)], -1)
    middle = centres.mean(1) - torch.tensor([24.0, 30.0])  # (1000, 2)
    assert 2.5 < middle.abs().amax(0).min() <= middle.abs().max() < 4.4  # stretched, too
    apart = centres[:, 1] - centres[:, 0]  # was (0, 20): channels move alike
    assert -0.25 < (apart[:, 0] / 20).min() < -0.1 < 0.1 < (apart[:, 0] / 20).max() < 0.25
    assert 0.8 < (apart[:, 1] / 20).min() < 0.9 < 1.1 < (apart[:, 1] / 20).max() < 1.25
    assert torch.equal(jitter.eval()(y), y)


def test_nodes_that_are_alike_are_told_apart_by_their_neighbours():
    from torch_geometric.data import Data

    x, ring = torch.ones(3, 4), torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]])
    triangle, chain = (
        Data(x=x, edge_index=ring[:, which]) for which in ([*range(6)], [0, 1, 3, 4])
    )
    vectors = network("classify", "graphs").trunk[0](collate([[triangle, chain]])).elements
    assert (vectors[0] - vectors[1]).abs().max() > 1e-2


def test_weights_tell_which_elements_counted():
    net, x = network("classify", "vectors", pool="attention"), sets_of("vectors")
    weights = net.weights(x)
    assert [w.shape for w in weights] == [(1, 1, 2), (1, 1, 4), (1, 1, 1)]
    with pytest.raises(ValueError, match="pool must be 'attention' for weights of elements"):
        network("classify", "vectors").weights(x)


class FakeNet(nn.Module):
    """As a network of timm without its classifier."""

    num_features = 6

    def __init__(self, channels):
        super().__init__()
        self.pretrained_cfg = {"mean": (0.1, 0.2, 0.3), "std": (0.5, 0.5, 0.5)}
        self.conv = nn.Conv2d(channels, 6, 3)

    def forward(self, x):
        return self.conv(x).mean((2, 3))


def fake_timm(monkeypatch, fails=False):
    def create_model(name, *, pretrained, num_classes, in_chans):
        assert (name, num_classes) == ("tiny", 0)
        model = FakeNet(in_chans)
        if pretrained and fails:
            raise OSError("no connection")
        if pretrained:
            nn.init.constant_(model.conv.weight, 0.25)
        return model

    timm = ModuleType("timm")
    timm.create_model = create_model
    monkeypatch.setitem(sys.modules, "timm", timm)


def test_networks_of_timm_are_lifted_with_their_weights(monkeypatch):
    fake_timm(monkeypatch)
    net = network("classify", "pictures", backbone="timm:tiny")
    _, lifted = net.trunk
    assert lifted.scheme == "dss-mean"
    assert bool((lifted.model.conv.weight == 0.25).all())
    assert net.trunk[0].mean.flatten().tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert net(sets_of("pictures")).shape == (3, 3)
    again = build("network", net.arguments)
    again.load_state_dict(net.state_dict())
    torch.testing.assert_close(again(sets_of("pictures")), net(sets_of("pictures")))


def test_without_trained_weights_there_is_a_warning(monkeypatch):
    fake_timm(monkeypatch, fails=True)
    with pytest.warns(
        UserWarning, match=r"no trained weights of tiny could be had \(no connection"
    ):
        network("classify", "pictures", backbone="timm:tiny")


def test_a_dataset_with_a_card_will_do():
    card = Card("regress", "vectors", (), {"channels": 5})
    net = network_for(SimpleNamespace(card=card), width=8)
    assert isinstance(net, SetNetwork)
    assert isinstance(net.head, Classify)
    assert net(sets_of("vectors")).shape == (3, 1)


def test_a_network_knows_what_it_was_made_for_but_not_what_another_one_reached():
    card = Card("regress", "vectors", ("age",), {"channels": 5})
    fitted = replace(card, metrics={"mae": 1.0}, target={"mean": [40.0], "std": [9.0]})
    assert network_for(card).card == card
    assert network_for(fitted).card == card


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: network_for(3), TypeError, "about must be a Card, or have one, that says task"),
        (lambda: network_for(Card("classify", "vectors")), TypeError, "channels of an element"),
        (
            lambda: network_for(Card("labels", "vectors", element={"channels": 5})),
            ValueError,
            r"about must name classes for 'labels', got none: Card\('labels', 'vectors', classes=",
        ),
        (
            lambda: network("classify", "vectors", backbone="resnet"),
            ValueError,
            "backbone must be 'small', or 'timm:NAME' for pictures, got 'resnet' for vectors",
        ),
        (
            lambda: network("merge", "clouds"),
            ValueError,
            "kind must be 'pictures' or 'vectors' for merging, got 'clouds'",
        ),
        (
            lambda: SetNetwork("classify", "pictures", channels=1),
            ValueError,
            "size must be 2 numbers for pictures, got None",
        ),
        (
            lambda: SetNetwork("classify", "vectors", channels=3, size=(8, 8)),
            ValueError,
            r"size must be left out for vectors, got \[8, 8\]",
        ),
        (
            lambda: network("select", "vectors", pool="avg"),
            ValueError,
            "pool must be one of .* got 'avg'",
        ),
        (
            lambda: network("classify", "vectors", shift=1),
            ValueError,
            "shift must be 0 for vectors, got 1",
        ),
        (
            lambda: network("classify", "graphs")(torch.zeros(1, 2, 4)),
            AttributeError,
            "'Tensor' object has no attribute 'edge_index'",
        ),
    ],
)
def test_wrong_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_answers_for_sets_may_go_on_in_a_plain_chain():
    chain = nn.Sequential(network("classify", "vectors"), nn.BatchNorm1d(3))
    assert chain(torch.randn(4, 2, 5)).shape == (4, 3)


@pytest.mark.parametrize("kind", ["clouds", "graphs"])
def test_sets_of_clouds_and_graphs_train(kind):
    from symsets.data import LabelledSets
    from symsets.train import ACCURACY, Plan, Task, fit_together

    x = sets_of(kind, sizes=(2, 3, 1, 4) * 4)
    train = LabelledSets(x, torch.arange(16) % 2)
    task = Task(nn.functional.cross_entropy, (ACCURACY,))
    plan = Plan(epochs=2, batch_size=8, learning_rate=1e-2)
    (fitted,) = fit_together([network("classify", kind)], [0], plan, train, train, task)
    losses = [row["train_loss"] for row in fitted.curves]
    assert losses[1] < losses[0]


def test_vectors_are_standardised_by_those_that_were_shown():
    torch.manual_seed(0)
    net = network_for(Card("classify", "vectors", ("a", "b"), {"channels": 3})).double().eval()
    x = torch.randn(4, 6, 3, dtype=torch.float64)
    net.learn_scale(x)
    expected = net(x)
    net.learn_scale(1e-3 * x + 300)
    torch.testing.assert_close(net(1e-3 * x + 300), expected)


def test_what_never_changes_is_not_blown_up():
    net = network_for(Card("classify", "vectors", ("a", "b"), {"channels": 2})).eval()
    x = torch.stack([torch.randn(2, 5), torch.full((2, 5), 1e6)], dim=-1)
    net.learn_scale(x)
    assert (net.scale(x.flatten(0, 1)).abs() < 10).all()


def test_only_vectors_are_standardised():
    with pytest.raises(ValueError, match="standardise must be left out for pictures"):
        SetNetwork("classify", "pictures", channels=3, size=(16, 16), standardise=True)


CLOUDS = RaggedSets(RaggedSets(torch.randn(6, 3), [1, 2, 3]), [1, 2])


@pytest.mark.parametrize("x", [torch.randn(2, 5, 1), torch.randn(2, 5, 3, 3), CLOUDS])
def test_vectors_of_another_length_are_not_stretched_to_it(x):
    net = network_for(Card("classify", "vectors", ("a", "b"), {"channels": 3}))
    for call in (net, net.learn_scale):
        with pytest.raises(ValueError, match=r"x must have 3 channels .* for SetNetwork"):
            call(x)


def test_a_scale_is_not_learnt_from_nothing():
    net = network_for(Card("classify", "vectors", ("a", "b"), {"channels": 3}))
    with pytest.raises(ValueError, match="x must have at least one vector"):
        net.learn_scale(torch.zeros(2, 0, 3))

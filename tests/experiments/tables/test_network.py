"""Table networks keep the symmetries of rows, columns and classes, at any size."""

import pytest
import torch

from symsets.experiments.tables.metrics import query_loss
from symsets.experiments.tables.network import MOST_SEQUENCES, Attention, TableNetwork, standardise
from symsets.experiments.tables.numbered import NumberedNetwork
from symsets.experiments.tables.prior import Shape, random_tables
from symsets.experiments.tables.tables import Tables
from symsets.models.registry import build
from symsets.nn.registry import schemes
from symsets.testing import assert_equivariant, equivariance_error

SHAPES = [Shape(9, 5, 4, 3), Shape(2, 1, 1, 2), Shape(30, 2, 7, 12)]


def by_rows(x, net, queries):
    """Take labelled rows as a set; their labels are the last channels."""
    columns = queries.shape[2]
    return net(Tables(x[..., :columns], x[..., columns:], queries)).flatten(1)


def by_queries(x, net, rows, labels):
    return net(Tables(rows, labels, x))


def by_columns(x, net, labels):
    x, num = x.transpose(1, 2), labels.shape[1]
    return net(Tables(x[:, :num], labels, x[:, num:])).flatten(1)


def by_classes(x, net, rows, queries):
    return net(Tables(rows, x.transpose(1, 2), queries)).transpose(1, 2)


def checks(net, tables):
    """Return arguments of the checks of all four symmetries."""
    rows, labels, queries = tables.rows, tables.labels, tables.queries
    labelled = torch.cat([rows, labels], dim=2)
    return {
        "rows": (by_rows, labelled, net, queries, "classify"),
        "queries": (by_queries, queries, net, rows, labels, "transform"),
        "columns": (by_columns, tables.both.transpose(1, 2), net, labels, "classify"),
        "classes": (by_classes, labels.transpose(1, 2), net, rows, queries, "transform"),
    }


# One table or several at each of two shapes; the largest, which is slow, alone.
@pytest.mark.parametrize(
    ("num", "shape"),
    [*((num, shape) for num in (1, 3) for shape in SHAPES[:2]), (1, SHAPES[2])],
    ids=str,
)
@pytest.mark.parametrize("model", [*schemes(), "dss-power2"])
@pytest.mark.parametrize("ridge", [True, False])
def test_no_order_of_rows_columns_or_classes_means_anything(num, shape, model, ridge):
    torch.manual_seed(0)
    tables, _ = random_tables(num, shape, torch.device("cpu"))
    net = TableNetwork(model, width=8, depth=2, heads=2, ridge=ridge)
    for *arguments, task in checks(net, tables).values():
        assert_equivariant(*arguments, task=task, tolerance=1e-9)


def test_classes_are_not_alike_to_a_network_that_takes_them_for_numbers():
    torch.manual_seed(0)
    tables, _ = random_tables(2, SHAPES[0], torch.device("cpu"))
    found = {}
    for name, (*arguments, task) in checks(NumberedNetwork(width=8, depth=2), tables).items():
        found[name] = equivariance_error(*arguments, task=task)
    assert found.pop("classes") > 1e-2
    assert max(found.values()) < 1e-9


@pytest.mark.parametrize("broken", ["rows", "columns", "classes"])
def test_a_weight_that_depends_on_the_place_is_found(broken, monkeypatch):
    torch.manual_seed(0)
    tables, _ = random_tables(2, SHAPES[0], torch.device("cpu"))
    net = TableNetwork("dss-mean", width=8, depth=1, heads=2)
    axis = {"classes": 1, "rows": 2, "columns": 3}[broken]
    first = net.blocks[0]
    plain = type(first).forward

    def placed(self, x, num_rows):
        places = torch.arange(x.shape[axis], dtype=x.dtype).reshape(-1, *(1,) * (4 - axis))
        one = torch.eye(x.shape[4], dtype=x.dtype)[0]  # all channels alike would be normalised away
        return plain(self, x + places * one, num_rows)

    monkeypatch.setattr(type(first), "forward", placed)
    *arguments, task = checks(net, tables)[broken]
    assert equivariance_error(*arguments, task=task) > 1e-6


def test_queries_do_not_see_each_other():
    torch.manual_seed(0)
    tables, _ = random_tables(2, SHAPES[0], torch.device("cpu"))
    net = TableNetwork("dss-mean", width=8, depth=2, heads=2)
    one = Tables(tables.rows, tables.labels, tables.queries[:, :1])
    torch.testing.assert_close(net(tables)[:, :1], net(one))


def test_classes_see_each_other_unless_siamese():
    torch.manual_seed(0)
    tables, _ = random_tables(1, SHAPES[0], torch.device("cpu"))
    labels = tables.labels.clone()
    labels[..., 1:] = labels[..., 1:].flip(1)  # another question about classes 1 and 2
    other = Tables(tables.rows, labels, tables.queries)
    for model, alike in (("siamese", True), ("dss-mean", False)):
        net = TableNetwork(model, width=8, depth=1, heads=2)
        first, second = net(tables)[..., 0], net(other)[..., 0]
        assert torch.allclose(first, second, atol=1e-6) == alike


def test_an_untrained_network_does_better_than_chance():
    torch.manual_seed(0)
    labels = torch.eye(2).repeat(1, 20, 1)
    centres = 3 * labels.argmax(2, keepdim=True) + torch.randn(1, 40, 4)
    net = TableNetwork("dss-mean", width=16, depth=1)
    found = net(Tables(centres[:, :30], labels[:, :30], centres[:, 30:])).argmax(2)
    assert (found == labels[:, 30:].argmax(2)).float().mean() > 0.9


def test_constant_columns_become_zero():
    x = torch.full((1, 6, 2), 1e6)
    x[0, :, 1] = torch.arange(6.0)
    z = standardise(x, 4)
    assert not z[..., 0].any()
    torch.testing.assert_close(z[0, :4, 1].mean(), torch.tensor(0.0))


def test_attention_in_pieces_is_attention(monkeypatch):
    torch.manual_seed(0)
    attention, x = Attention(8, 2), torch.randn(5, 3, 4, 8)
    whole = attention(x, x[:, :, :2])
    monkeypatch.setattr("symsets.experiments.tables.network.MOST_SEQUENCES", 4)
    torch.testing.assert_close(attention(x, x[:, :, :2]), whole)
    assert MOST_SEQUENCES < 2**16


def test_a_network_is_made_again_by_its_name():
    net = TableNetwork("dss-mean", width=8, depth=1, heads=2)
    other = build("tables", net.arguments)
    other.load_state_dict(net.state_dict())


def test_classes_beyond_those_of_training_are_never_the_best_of_numbered_ones():
    tables, _ = random_tables(1, SHAPES[2], torch.device("cpu"))
    scores = NumberedNetwork(width=8, depth=1)(tables)
    assert scores.shape == (1, 2, 12)
    assert scores.argmax(2).max() < 10


def test_gradients_reach_every_weight():
    torch.manual_seed(0)
    tables, _ = random_tables(2, SHAPES[0], torch.device("cpu"))
    for net in (TableNetwork("dss-mean", width=8, depth=2), NumberedNetwork(width=8, depth=2)):
        net(tables).square().sum().backward()
        assert [name for name, p in net.named_parameters() if not p.grad.any()] == []


@pytest.mark.parametrize(
    ("net", "share"),
    [
        (lambda: TableNetwork("dss-mean", width=16, depth=2, ridge=False), 0.5),
        (lambda: NumberedNetwork(width=16, depth=2), 0.9),
    ],
    ids=["classes", "numbers"],
)
def test_networks_learn_to_read_labels_without_regressions(net, share):
    torch.manual_seed(0)
    model = net()
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(80):
        classes = torch.randint(2, (8, 30))
        sides = torch.randn(8, 1, 2).sign() * (2.0 * classes - 1).unsqueeze(2)
        x, labels = 2 * sides + torch.randn(8, 30, 2), torch.eye(2)[classes]
        output = model(Tables(x[:, :20], labels[:, :20], x[:, 20:]))
        optimiser.zero_grad()
        losses.append(query_loss(output, classes[:, 20:]))
        losses[-1].backward()
        optimiser.step()
    assert sum(losses[-5:]) < share * sum(losses[:5])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("net", [TableNetwork("dss-mean", width=16, depth=2), NumberedNetwork()])
def test_half_precision_gives_nearly_the_same_scores(net):
    torch.manual_seed(0)
    net = net.cuda()
    tables, classes = random_tables(2, SHAPES[0], torch.device("cuda"))
    whole = net(tables)
    with torch.autocast("cuda", torch.bfloat16):
        half = net(tables)
        query_loss(half, classes).backward()
    assert (half - whole).abs().max() < 0.1 * whole.abs().max()  # bfloat16 has eight bits
    assert all(p.grad.isfinite().all() for p in net.parameters())

"""Training on sets of different sizes; on sets of one size it is what test_fitting.py tests."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss

from symsets import DSS, RaggedSets, Sequential, Siamese, pool, select_loss
from symsets.data import LabelledSets
from symsets.nn import Classify, Select
from symsets.train import ACCURACY, Ensemble, Metric, Plan, Task, evaluate, fit_together

CLASSIFY = Task(cross_entropy, (ACCURACY,))
SELECT = Task(select_loss, (ACCURACY,))
TASKS = {"classify": CLASSIFY, "select": SELECT}
EXACT = {"epochs": 3, "batch_size": 8, "precision": "float64", "learning_rate": 1e-2}


def network(seed, task, width=8):
    torch.manual_seed(seed)
    head = Select(width) if task == "select" else Classify(width, 2, pool="mean")
    return Sequential(
        DSS(nn.Linear(3, width), pool="mean"), nn.BatchNorm1d(width), nn.ReLU(), head
    ).double()


def make_sets(num, task, *, one_size=False):
    """Which point is farthest from the mean of its set; or is the mean positive?"""
    sizes = [4] * num if one_size else torch.randint(2, 7, (num,)).tolist()
    x = RaggedSets(torch.randn(sum(sizes), 3, dtype=torch.float64), sizes)
    if task == "select":
        y = torch.tensor([(s - s.mean(0)).norm(dim=1).argmax() for s in x])
    else:
        y = torch.tensor([int(s.mean() > 0) for s in x])
    return LabelledSets(x, y)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(7)


@pytest.mark.parametrize("average", [0.0, 0.5])
@pytest.mark.parametrize("task", TASKS)
def test_ragged_sets_of_one_size_train_as_a_tensor_does(task, average):
    ragged = [make_sets(40, task, one_size=True) for _ in range(2)]
    dense = [LabelledSets(s.x.elements.unflatten(0, (-1, 4)), s.y) for s in ragged]
    plan = Plan(**EXACT, average=average)
    one, other = (
        fit_together([network(s, task) for s in (0, 1)], (0, 1), plan, *sets, TASKS[task])
        for sets in (ragged, dense)
    )
    for a, b in zip(one, other, strict=True):
        assert [row["val_loss"] for row in a.curves] == pytest.approx(
            [row["val_loss"] for row in b.curves], rel=1e-9
        )
        for name, value in a.best.items():
            torch.testing.assert_close(value, b.best[name], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("task", TASKS)
def test_training_is_a_plain_loop_over_the_sets(task):
    train, val = make_sets(24, task), make_sets(10, task)
    plan = Plan(**{**EXACT, "epochs": 1, "weight_decay": 0.1})
    (fitted,) = fit_together([network(0, task)], [3], plan, train, val, TASKS[task])
    net = network(0, task)
    optimiser = torch.optim.AdamW(net.parameters(), weight_decay=0.1)
    order = plan.order(24, 0, 3)
    for which, rate in zip(order, plan.rates(0, len(order)), strict=True):
        optimiser.param_groups[0]["lr"] = rate.item()
        batch = RaggedSets.from_list([train.x[i] for i in which.tolist()])
        optimiser.zero_grad()
        TASKS[task].loss(net(batch), train.y[which]).backward()
        optimiser.step()
    for name, value in net.state_dict().items():
        torch.testing.assert_close(fitted.best[name], value, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("batch_size", [1, 7, 100])
@pytest.mark.parametrize("task", TASKS)
def test_evaluation_is_that_of_each_set_alone(task, batch_size):
    sets, net = make_sets(20, task), network(0, task).eval()
    members = [net, network(1, task).eval()]
    found = evaluate(Ensemble(members), sets, TASKS[task], batch_size=batch_size)
    for member, one in zip(members, found, strict=True):
        alone = [member(RaggedSets(s, [len(s)])) for s in sets.x]
        right = [TASKS[task].metric(out, y[None]) for out, y in zip(alone, sets.y, strict=True)]
        assert one.values["accuracy"].tolist() == pytest.approx(right)
        losses = [TASKS[task].loss(out, y[None]) for out, y in zip(alone, sets.y, strict=True)]
        assert one.loss == pytest.approx(torch.stack(losses).mean().item())
        outputs = one.outputs.elements if task == "select" else one.outputs
        expected = [out.elements if task == "select" else out for out in alone]
        torch.testing.assert_close(outputs, torch.cat(expected))


def test_it_learns():
    torch.manual_seed(0)
    train, val = make_sets(1500, "select"), make_sets(300, "select")
    plan = Plan(20, batch_size=32, learning_rate=1e-2, precision="float64")
    (fitted,) = fit_together([network(0, "select", width=32)], [0], plan, train, val, SELECT)
    assert fitted.best_metric > 0.75


@pytest.mark.parametrize("batch_size", [2, 100])
def test_outputs_may_be_sets_of_sets(batch_size):
    clouds = RaggedSets(torch.randn(12, 3), [2, 3, 1, 0, 4, 2])
    sets = LabelledSets(RaggedSets(clouds, [1, 2, 0, 3]), torch.zeros(4))
    net = Siamese(DSS(nn.Linear(3, 3), pool="mean"))
    task = Task(lambda out, y: y.sum(), (Metric("size", lambda out, y: out.sizes),))
    (found,) = evaluate(Ensemble([net]), sets, task, batch_size=batch_size)
    assert found.outputs.partition.counts == (1, 2, 0, 3)
    assert found.outputs.elements.partition == clouds.partition
    torch.testing.assert_close(found.outputs.elements.elements, net(sets.x).elements.elements)


def _typicality(num):
    """How far is each point from the mean of its set? Nobody can tell who sees one at a time."""
    sets = make_sets(num, "classify")
    distances = [(points - points.mean(0)).square().sum(1) for points in sets.x]
    return LabelledSets(sets.x, RaggedSets.from_list(distances))


def _element_error(out, y):
    return pool(out.with_elements((out.elements - y.elements).abs()), "mean")


@pytest.mark.parametrize("average", [0.0, 0.5])
def test_each_element_may_have_a_target(average):
    train, val = _typicality(64), _typicality(30)
    task = Task(
        lambda out, y: mse_loss(out.elements, y.elements), (Metric("mae", _element_error, False),)
    )
    plan = Plan(30, batch_size=8, precision="float64", learning_rate=1e-2, average=average)
    networks = [network(s, "select", width=16) for s in (0, 1)]
    for net, fitted in zip(
        networks, fit_together(networks, (0, 1), plan, train, val, task), strict=True
    ):
        assert fitted.best_metric < 0.8 * fitted.curves[0]["val_mae"]
        net.load_state_dict(fitted.best)
        for batch_size in (7, 100):
            (found,) = evaluate(net, val, task, precision="float64", batch_size=batch_size)
            assert found.targets.partition == val.y.partition
            assert torch.equal(found.targets.elements, val.y.elements)
            assert found.mean("mae") == pytest.approx(fitted.best_metric, rel=1e-9)


def test_one_ragged_batch_is_not_taken_for_several():
    ensemble = Ensemble([network(s, "classify") for s in (0, 1)])
    with pytest.raises(ValueError, match="inputs must have 2 batches, got RaggedSets"):
        ensemble(make_sets(2, "classify").x)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("task", TASKS)
def test_training_on_a_gpu_is_that_on_a_cpu(task):
    train, val = make_sets(24, task), make_sets(10, task)
    fitted = [
        fit_together(
            [network(s, task) for s in (0, 1)],
            (0, 1),
            Plan(**EXACT),
            train,
            val,
            TASKS[task],
            device=device,
        )
        for device in ("cpu", "cuda")
    ]
    for a, b in zip(*fitted, strict=True):
        for name, value in a.best.items():
            torch.testing.assert_close(value, b.best[name].cpu(), rtol=1e-6, atol=1e-6)

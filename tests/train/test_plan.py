import math

import numpy as np
import pytest
import torch

from symsets.experiments.bursts import experiment as bursts
from symsets.experiments.colors import experiment as colors
from symsets.train.plan import Plan


def table(plan, steps=3):
    return torch.stack([plan.rates(epoch, steps) for epoch in range(plan.epochs)])


def test_the_published_colours_schedule_is_a_staircase():
    plan = colors.EXPERIMENT.make_plan("published", 50, "")
    rates = table(plan)
    expected = [[1e-3 * 0.4 ** (epoch // 10)] * 3 for epoch in range(50)]
    torch.testing.assert_close(rates, torch.tensor(expected))
    assert (plan.batch_size, plan.weight_decay) == (32, 0.0)


def test_stairs_shrink_with_the_epochs():
    rates = table(colors.EXPERIMENT.make_plan("published", 10, ""))[:, 0]
    torch.testing.assert_close(rates, torch.tensor([1e-3 * 0.4 ** (e // 2) for e in range(10)]))
    short = table(colors.EXPERIMENT.make_plan("published", 2, ""))[:, 0]
    torch.testing.assert_close(short, torch.tensor([1e-3, 4e-4]))


def test_the_published_bursts_schedule_decays_every_epoch():
    rates = table(bursts.EXPERIMENT.make_plan("published", 6, ""))[:, 0]
    torch.testing.assert_close(rates, torch.tensor([1e-3 * 0.95**e for e in range(6)]))


def test_constant_is_constant():
    rates = table(Plan(4, schedule="constant", learning_rate=0.3))
    assert torch.equal(rates, torch.full((4, 3), 0.3))


def test_cosine_rises_for_a_tenth_and_falls_to_zero():
    rates = table(Plan(20, learning_rate=2.0), steps=50).flatten()
    done = (torch.arange(1000) + 0.5) / 1000
    expected = 2.0 * (done / 0.1).clamp(max=1) * 0.5 * (1 + (math.pi * done).cos())
    torch.testing.assert_close(rates, expected)
    assert rates.argmax() in range(95, 105)
    assert rates[-1] < 1e-4


def test_every_epoch_sees_every_set_once_in_an_order_of_its_own():
    plan = Plan(5, batch_size=4)
    order = plan.order(22, epoch=1, seed=3)
    assert order.shape == (5, 4)  # the incomplete batch is left out
    assert order.flatten().unique().numel() == 20
    assert torch.equal(order, plan.order(22, epoch=1, seed=3))
    assert not torch.equal(order, plan.order(22, epoch=2, seed=3))
    assert not torch.equal(order, plan.order(22, epoch=1, seed=4))


def test_fewer_sets_than_a_batch_are_one_step():
    plan = Plan(2, batch_size=64)
    assert plan.steps_per_epoch(10) == 1
    assert plan.order(10, 0, 0).sort(1).values.tolist() == [list(range(10))]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schedule": "stairs"}, r"schedule must be one of \['constant', 'cosine', 'staircase'\]"),
        ({"precision": "half"}, r"precision must be one of \['float32', .*\], got 'half'"),
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"patience": 0}, "patience must be at least 1, got 0"),
        ({"decay_every": 0}, "decay_every must be at least 1, got 0"),
        ({"validate_every": 0}, "validate_every must be at least 1, got 0"),
        ({"evaluation_batch": 0}, "evaluation_batch must be at least 1, got 0"),
        ({"validate_every": 3}, "validate_every must divide epochs, got 3"),
        ({"average": 1.0}, r"average must be at least 0 and below 1, got 1\.0"),
        ({"average": -0.1}, r"average must be at least 0 and below 1, got -0\.1"),
        ({"decay": -2.0}, r"decay must be positive, got -2\.0"),
        ({"learning_rate": 0.0}, r"learning_rate must be positive, got 0\.0"),
        ({"learning_rate": math.nan}, "learning_rate must be positive, got nan"),
    ],
)
def test_wrong_values_get_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        Plan(**{"epochs": 10, **options})


def test_counts_must_be_integers():
    assert Plan(np.int64(4)).epochs == 4
    with pytest.raises(TypeError, match=r"epochs must be an integer, got 4\.0"):
        Plan(4.0)
    with pytest.raises(TypeError, match="batch_size must be an integer, got '64'"):
        Plan(4, batch_size="64")


@pytest.mark.parametrize("name", ["learning_rate", "weight_decay", "average", "clip", "decay"])
def test_sizes_must_be_numbers(name):
    assert getattr(Plan(4, **{name: np.float32(0.5)}), name) == 0.5
    with pytest.raises(TypeError, match=f"{name} must be a number, got '1e-3'"):
        Plan(4, **{name: "1e-3"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"epochs": 1, "schedule": "step"}, "schedule must be one of"),
        ({"epochs": 1, "precision": "half"}, "precision must be one of"),
        ({"epochs": 1, "learning_rate": 0}, "learning_rate must be positive, got 0"),
        ({"epochs": 1, "average": 1.0}, "average must be at least 0 and below 1"),
    ],
)
def test_impossible_plans_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Plan(**options)


def test_orders_are_fixed_by_seed_and_epoch_and_visit_each_set_once():
    plan = Plan(epochs=3, batch_size=8)
    assert torch.equal(plan.order(70, 1, 5), plan.order(70, 1, 5))
    assert not torch.equal(plan.order(70, 1, 5), plan.order(70, 2, 5))
    assert plan.order(70, 0, 0).shape == (8, 8)
    assert len(plan.order(64, 0, 0).unique()) == 64
    assert plan.order(5, 0, 0).shape == (1, 5)


def test_the_cosine_rises_and_falls_to_nothing():
    plan = Plan(epochs=10, learning_rate=1.0)
    rates = torch.cat([plan.rates(epoch, 10) for epoch in range(10)])
    assert rates[0] < 0.1
    assert 0.9 < rates.max() <= 1
    assert rates[-1] < 1e-3

"""Which network is kept, and what the trivial answer is."""

import pytest
import torch

from symsets import RaggedSets
from symsets.models import Card
from symsets.tools.comparing import (
    Outcome,
    Score,
    best_of,
    headline,
    measure,
    trivial_answer,
)
from symsets.train.evaluation import Evaluation


def made(accuracy, loss):
    values = {"accuracy": torch.tensor(accuracy).double()}
    found = Evaluation(loss, values)
    score = Score.of(found, "accuracy")
    return Outcome("dss-mean", score, loss, score, found)


@pytest.mark.parametrize(
    ("losses", "accuracies", "best"),
    [
        ((0.1, 0.2), ((1, 0, 0), (1, 1, 0)), 1),
        ((0.2, 0.1), ((1, 1, 0), (1, 0, 0)), 0),
        ((0.2, 0.1), ((1, 1, 0), (0, 1, 1)), 1),
        ((0.1, 0.2), ((1, 1, 0), (0, 1, 1)), 0),
    ],
)
def test_the_metric_decides_and_between_equal_ones_the_loss(losses, accuracies, best):
    card = Card("classify", "vectors", classes=("a", "b"))
    outcomes = [made(a, loss) for a, loss in zip(accuracies, losses, strict=True)]
    assert best_of(outcomes, card) == best


@pytest.mark.parametrize(("task", "rare"), [("classify", True), ("labels", False)])
def test_a_network_that_is_no_better_than_the_trivial_answer_is_not_praised(task, rare):
    card = Card(task, "vectors", classes=("a", "b"))
    good, bad = made((1, 1, 0), 0.1), made((1, 0, 0), 0.1)
    assert "no better" not in headline([good, bad], card, 0)
    for network in (good, bad):
        said = headline([network, good], card, 0)
        assert "That is no better: train for longer, on more sets" in said
        assert ("--balanced" in said) == rare


def accuracy(card, targets, x, y):
    _, answer = trivial_answer(card, targets)
    found = measure(answer, card, (x, y), device="cpu")
    return Score.of(found, "accuracy").mean


def test_the_most_frequent_class_is_as_often_right_as_it_is_there():
    y = torch.tensor([2, 2, 0, 1, 2])
    card = Card("classify", "vectors", classes=("a", "b", "c"))
    assert accuracy(card, y, torch.zeros(5, 2, 3), y) == pytest.approx(0.6)


def test_the_more_frequent_value_of_each_label():
    y = torch.tensor([[0.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    card = Card("labels", "vectors", classes=("a", "b"))
    assert accuracy(card, y, torch.zeros(3, 2, 3), y) == pytest.approx(5 / 6)


def test_a_random_choice_is_right_in_one_of_n():
    x = RaggedSets(torch.zeros(7, 3), [2, 5])
    card = Card("select", "vectors")
    y = torch.tensor([1, 4])
    assert accuracy(card, y, x, y) == pytest.approx((1 / 2 + 1 / 5) / 2)


def test_the_mean_of_a_regression_is_zero_in_its_own_units():
    y = torch.tensor([[1.0], [3.0]])
    card = Card("regress", "vectors", target={"mean": [2.0], "std": [1.0]})
    _, answer = trivial_answer(card, y)
    found = measure(answer, card, (torch.zeros(2, 4, 3), y), device="cpu")
    assert Score.of(found, "mae").mean == pytest.approx(1.0)


def test_shots_are_merged_by_their_mean():
    x = torch.rand(2, 3, 1, 4, 4)
    _, answer = trivial_answer(Card("merge", "pictures"), None)
    assert torch.allclose(answer(x), x.mean(1))

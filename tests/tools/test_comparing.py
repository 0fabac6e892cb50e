"""Which network is kept."""

import pytest
import torch

from symsets.models.card import Card
from symsets.tools.comparing import Outcome, Score, best_of
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

import pytest

from symsets.experiments.study.validations import validate_after
from symsets.train import Plan


@pytest.mark.parametrize(
    ("epochs", "train_size", "every"),
    [
        (14, 30_000, 1),  # 468 steps in an epoch
        (200, 300, 10),  # 4 steps: every tenth epoch
        (200, 640, 4),
        (200, 700, 4),
        (7, 64, 1),  # a prime number: at the end only would leave nothing to choose from
        (199, 300, 1),
        (1, 64, 1),
        (2, 64, 1),
        (12, 6 * 64, 4),  # 7 epochs are wanted; 6 or 12 would leave two validations, or one
    ],
)
def test_validations_are_some_steps_apart_and_divide_the_epochs(epochs, train_size, every):
    plan = validate_after(Plan(epochs), 40, train_size)
    assert plan.validate_every == every
    assert epochs % every == 0

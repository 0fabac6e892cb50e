import numpy as np
import pytest
import torch

from symsets.data.digits import TASKS, digit_bags
from symsets.data.splits import SPLITS


def pictures(split):
    sets = digit_bags(num=2000, split=split)
    return {row.numpy().tobytes() for row in sets.x.elements}


def test_no_picture_is_in_two_splits():
    found = {split: pictures(split) for split in SPLITS}
    assert sum(map(len, found.values())) == len(set.union(*found.values()))
    assert [len(found[split]) > 200 for split in SPLITS] == [True] * 3


def digits_of(sets):
    """Look the pictures up again."""
    from sklearn.datasets import load_digits

    known = load_digits()
    names = {
        (image / 16).astype(np.float32).tobytes(): digit
        for image, digit in zip(known.images, known.target, strict=True)
    }
    return [[names[row[0].numpy().tobytes()] for row in bag] for bag in sets.x]


@pytest.mark.parametrize("task", TASKS)
def test_answers_are_right(task):
    sets = digit_bags(task, num=300, sizes=(1, 5), split="test", seed=3)
    for bag, answer in zip(digits_of(sets), sets.y.tolist(), strict=True):
        counts = np.bincount(bag)
        expected = {
            "largest": max(bag),
            "contains": int(7 in bag),
            "majority": counts.argmax(),
            "count": len(set(bag)),
        }
        assert answer == expected[task]
        if task == "majority":
            assert sorted(counts)[-1] > ([0, *sorted(counts)])[-2]


def test_a_seed_draws_the_bags():
    first, same, other = (digit_bags(num=20, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.x.elements, same.x.elements)
    assert first.x.partition != other.x.partition
    assert 2 <= min(first.x.partition.counts) <= max(first.x.partition.counts) <= 12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "smallest"}, "task must be one of"),
        ({"split": "dev"}, "split must be one of"),
        ({"num": 0}, "num must be at least 1"),
    ],
)
def test_wrong_input_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        digit_bags(**options)

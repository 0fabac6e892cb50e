"""Bags of handwritten digits, made from the pictures that come with scikit-learn."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from symsets._checks import check_choice, positive
from symsets._extras import require
from symsets.data.labelled import LabelledSets
from symsets.data.splits import SPLITS
from symsets.sets import RaggedSets

SHARES = {"train": 0.7, "val": 0.15, "test": 0.15}  # of the 1,797 pictures
WANTED = 7  # the digit that task "contains" asks for
Digits = NDArray[np.int64]


def _mode(digits: Digits) -> int | None:
    """Return the digit that occurs most often, or None if there are several."""
    counts = np.bincount(digits)
    return int(counts.argmax()) if (counts == counts.max()).sum() == 1 else None


TASKS: dict[str, Callable[[Digits], int | None]] = {  # None: the bag is drawn again
    "largest": lambda digits: int(digits.max()),
    "contains": lambda digits: int(WANTED in digits),
    "majority": _mode,
    "count": lambda digits: len(np.unique(digits)),
}


def digit_bags(
    task: str = "largest",
    *,
    num: int = 4000,
    sizes: tuple[int, int] = (2, 12),
    split: str = "train",
    seed: int = 0,
) -> LabelledSets:
    """Make bags of 8×8 pictures of digits, and the answer to a question about each.

    The pictures are divided into splits before bags are made of them, so no picture of a test bag
    was ever in a training bag. They are the same in every call; ``seed`` draws the bags.

    Args:
        task: ``"largest"``: the largest digit; ``"contains"``: whether there is a 7;
            ``"majority"``: the digit that occurs most often; ``"count"``: how many different
            digits there are.
        num: How many bags to make.
        sizes: The smallest and the largest number of pictures in a bag, all equally likely.
        split: ``"train"``, ``"val"`` or ``"test"``.
        seed: Draws the bags.

    Shape:
        - x: ragged of pictures ``(1, 8, 8)``, with values from 0 to 1.
        - y: ``(num,)``, integers.

    Example:
        >>> digit_bags(num=100)
        LabelledSets(x: RaggedSets(100 sets of 2–12 elements (1, 8, 8)), y: (100,))
    """
    check_choice("task", task, list(TASKS))
    check_choice("split", split, SPLITS)
    low, high = (positive("sizes", size) for size in sizes)
    pictures, digits = _pictures(split)
    random = np.random.default_rng([seed, SPLITS.index(split)])
    bags: list[Digits] = []
    answers: list[int] = []
    while len(bags) < positive("num", num):
        bag = random.integers(len(digits), size=random.integers(low, high + 1))
        answer = TASKS[task](digits[bag])
        if answer is not None:
            bags.append(bag)
            answers.append(answer)
    x = RaggedSets(pictures[np.concatenate(bags)], [len(bag) for bag in bags])
    return LabelledSets(x, torch.tensor(answers))


def _pictures(split: str) -> tuple[Tensor, Digits]:
    """Return the pictures of a split, ``(T, 1, 8, 8)``, and their digits."""
    loaded = require("sklearn.datasets", "images").load_digits()
    order = np.random.default_rng(0).permutation(len(loaded.target))
    ends = (np.cumsum([0.0, *SHARES.values()]) * len(order)).round().astype(int)
    k = SPLITS.index(split)
    own = order[ends[k] : ends[k + 1]]
    pictures = torch.tensor(loaded.images[own], dtype=torch.float32).unsqueeze(1) / 16
    return pictures, loaded.target[own].astype(np.int64)

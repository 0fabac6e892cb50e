"""Divide sets for training, validation and the test."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from symsets._checks import check_number, shown
from symsets.data.splits import SPLITS, split_stratified


def divide(
    names: Sequence[str],
    strata: Sequence[object],
    splits: Sequence[str | None],
    fractions: Sequence[float],
    seed: int,
) -> list[list[int]]:
    """Return which sets are for training, for validation and for the test.

    Args:
        names: Of the sets.
        strata: What is to be spread evenly, such as their classes.
        splits: What a folder or a column says; all None if nothing does.
        fractions: The shares of a random division.
        seed: Chooses another one.
    """
    shares = list(fractions)
    for share in shares:
        check_number("fractions", share)
    if (
        len(shares) != len(SPLITS)
        or not math.isclose(sum(shares), 1, abs_tol=1e-6)
        or not shares[0]
    ):
        raise ValueError(
            f"fractions must be the shares of {', '.join(SPLITS)} and sum to 1, got {shown(shares)}"
        )
    given = {split: [k for k, own in enumerate(splits) if own == split] for split in SPLITS}
    if not any(given.values()) or len(given["train"]) == len(names):
        wanted = sum(share > 0 for share in shares)
        if len(names) < wanted:
            raise ValueError(f"sets must be at least {wanted} to be split, got {len(names)}")
        return split_stratified(names, strata, shares, seed)
    if not given["train"]:
        raise ValueError("sets must be there for split 'train', found only those of others")
    if not (given["val"] and given["test"]):
        train = given["train"]
        if len(train) < 2:
            raise ValueError(
                f"sets must be at least 2 for split 'train', as validation takes some of them, got "
                f"only {names[train[0]]!r}"
            )
        share = shares[1] / (shares[0] + shares[1])
        parts = split_stratified(
            [names[k] for k in train], [strata[k] for k in train], (1 - share, share), seed
        )
        test = given["test"] or given["val"]
        return [[train[k] for k in part] for part in parts] + [test]
    return [given[split] for split in SPLITS]


def strata_of(task: str | None, targets: Tensor | None, num: int) -> list[object]:
    """Return what is to be spread evenly: classes, combinations of labels, fifths of a number."""
    if targets is None or task not in ("classify", "labels", "regress"):
        return [None] * num
    if task == "regress":
        rank = targets[:, 0].argsort(stable=True).argsort()
        return (rank * 5 // max(1, num)).tolist()
    return [tuple(own) for own in targets.reshape(num, -1).tolist()]

"""Which files are for training, for validation and for the test."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TypeVar

from symsets._checks import check_choice, check_number, shown

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

SPLITS = ("train", "val", "test")
VAL = 0.1  # the share of the validation split


def checked_split(split: str) -> str:
    """Return ``split``, or raise ValueError naming the splits."""
    check_choice("split", split, SPLITS)
    return split


def members(splits: Mapping[str, Sequence[T]], split: str, complaint: str) -> Sequence[T]:
    """Return what a split has; if it is empty, raise ValueError with the size of every split.

    Example:
        >>> members({"train": ["a.ply"], "val": [], "test": []}, "val", "meshes/ has no meshes")
        Traceback (most recent call last):
        ValueError: meshes/ has no meshes for split 'val'; files per split: {'train': 1, ...}
    """
    found = splits[checked_split(split)]
    if not found:
        counts = {name: len(splits[name]) for name in SPLITS}
        raise ValueError(f"{complaint} for split {split!r}; files per split: {counts}")
    return found


def fraction(key: str) -> float:
    """Return a number in [0, 1) that depends on nothing but ``key``, on any machine.

    Example:
        >>> fraction("beach/1.jpg") == fraction("beach/1.jpg") != fraction("beach/2.jpg")
        True
    """
    digest = blake2b(key.encode("utf-8", "surrogateescape"), digest_size=7).digest()
    return int.from_bytes(digest, "big") / 2**56


def shuffled(names: Iterable[str]) -> list[str]:
    """Return names in an order that looks random but depends on nothing but the names."""
    return sorted(names, key=lambda name: (fraction(name), name))


def group_by(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return the items of each key, all in the order in which they come.

    Example:
        >>> group_by([3, 1, 4, 1, 5], lambda n: n % 2)
        {1: [3, 1, 1, 5], 0: [4]}
    """
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def split_by_hash(
    names: Iterable[str], *, test: float = 0.1, group: Callable[[str], str] = lambda name: name
) -> dict[str, list[str]]:
    """Divide names into splits, each in the random but fixed order of their hashes.

    A name keeps its split when others come or go. Only where that would leave a split with fewer
    than two names, or with none where there are too few for two each, the names are cut at their
    ranks instead.

    Args:
        names: What to divide, such as paths below a folder.
        test: Share of the test split, 0 if it comes from elsewhere; validation has a tenth.
        group: Names with the same group stay together.

    Example:
        >>> parts = split_by_hash([f"{i}.jpg" for i in range(1000)])
        >>> [len(part) // 10 for part in parts.values()]
        [80, 9, 9]
    """
    members = group_by(names, group)
    groups = shuffled(members)
    place = [fraction(key) for key in groups]
    splits = _cut(groups, place, VAL, test)
    wanted = SPLITS if test else SPLITS[:2]
    least = min(2, len(groups) // len(wanted))
    if any(sum(len(members[key]) for key in splits[split]) < least for split in wanted):
        share = least / len(groups)
        ranks = [(i + 0.5) / len(groups) for i in range(len(groups))]
        splits = _cut(groups, ranks, max(VAL, share), max(test, share) if test else 0)
    return {
        split: shuffled(name for key in keys for name in members[key])
        for split, keys in splits.items()
    }


def _cut(groups: list[str], place: list[float], val: float, test: float) -> dict[str, list[str]]:
    """Give the end of [0, 1) to the test, what comes before it to validation."""
    splits: dict[str, list[str]] = {split: [] for split in SPLITS}
    for key, where in zip(groups, place, strict=True):
        split = "test" if where >= 1 - test else "val" if where >= 1 - test - val else "train"
        splits[split].append(key)
    return splits


def split_stratified(
    names: Sequence[str], strata: Sequence[object], fractions: Sequence[float], seed: int
) -> list[list[int]]:
    """Divide what has names into parts, each with about its share of every stratum.

    Each stratum of two or more is in the first part. No part with a share stays empty if there are
    enough names. The result depends on nothing but the arguments.

    Args:
        names: What to divide.
        strata: The stratum of each name, such as its class.
        fractions: The share of each part; they sum to 1.
        seed: Chooses another division.

    Returns:
        The places in ``names`` of what each part has.

    Example:
        >>> names = [f"{k}" for k in range(100)]
        >>> parts = split_stratified(names, [k % 10 == 0 for k in range(100)], (0.8, 0.1, 0.1), 0)
        >>> [len(part) for part in parts], [sum(k % 10 == 0 for k in part) for part in parts]
        ([80, 10, 10], [8, 1, 1])
    """
    order = sorted(range(len(names)), key=lambda k: (fraction(f"{seed}/{names[k]}"), names[k]))
    parts: list[list[int]] = [[] for _ in fractions]
    for group in group_by(order, strata.__getitem__).values():
        for rank, k in enumerate(group):
            done = sum(map(len, parts))
            lack = [share * (done + 1) - len(p) for share, p in zip(fractions, parts, strict=True)]
            first = rank == 0 and len(group) > 1
            parts[0 if first else max(range(len(lack)), key=lack.__getitem__)].append(k)
    for part, share in zip(parts, fractions, strict=True):
        largest = max(parts, key=len)
        if share and not part and len(largest) > 1:
            part.append(largest.pop())
    return [sorted(part) for part in parts]


def divide(
    names: Sequence[str],
    strata: Sequence[object],
    splits: Sequence[str | None],
    fractions: Sequence[float],
    seed: int,
) -> list[list[int]]:
    """Return which sets are for training, for validation and for the test.

    Where ``splits``, which a folder or a column says, are all None, :func:`split_stratified`
    divides the sets.
    """
    shares = list(fractions)
    for share in shares:
        check_number("fractions", share)
    whole = len(shares) == len(SPLITS) and math.isclose(sum(shares), 1, abs_tol=1e-6)
    if not whole or not shares[0]:
        raise ValueError(f"fractions must be three shares that sum to 1, got {shown(shares)}")
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
            raise ValueError(f"split 'train' must have two sets or more, got {names[train[0]]!r}")
        share = shares[1] / (shares[0] + shares[1])
        parts = split_stratified(
            [names[k] for k in train], [strata[k] for k in train], (1 - share, share), seed
        )
        test = given["test"] or given["val"]
        return [[train[k] for k in part] for part in parts] + [test]
    return [given[split] for split in SPLITS]

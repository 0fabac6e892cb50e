import random

import pytest

from symsets.data.splits import fraction, split_by_hash, split_stratified


@pytest.mark.parametrize("num", [3, 4, 5, 6, 7, 11, 20, 25, 40])
@pytest.mark.parametrize("prefix", ["", "a", "b", "c", "d"])
def test_a_handful_of_names_leaves_no_split_empty_and_two_in_each_where_there_are_six(num, prefix):
    names = [f"{prefix}{i}.jpg" for i in range(num)]
    parts = split_by_hash(names)
    assert min(map(len, parts.values())) >= (2 if num >= 6 else 1)
    assert sorted(name for part in parts.values() for name in part) == sorted(names)
    two = split_by_hash(names, test=0)
    assert min(len(two["train"]), len(two["val"])) >= (2 if num >= 4 else 1)
    assert not two["test"]


def test_names_that_give_two_to_every_split_keep_their_places():
    names = [f"{i}.jpg" for i in range(60)]
    ends = {name for name in names if fraction(name) >= 0.9}
    middle = {name for name in names if 0.8 <= fraction(name) < 0.9}
    assert min(len(ends), len(middle)) >= 2
    parts = split_by_hash(names)
    assert set(parts["test"]) == ends
    assert set(parts["val"]) == middle


def test_groups_stay_together():
    parts = split_by_hash(
        [f"g{i}_{j}" for i in range(40) for j in range(5)], group=lambda name: name.split("_")[0]
    )
    groups = [{name.split("_")[0] for name in part} for part in parts.values()]
    assert sum(map(len, groups)) == 40
    assert all(len(part) % 5 == 0 for part in parts.values())


@pytest.mark.parametrize("seed", range(5))
def test_every_part_has_its_share_of_every_stratum(seed):
    draw = random.Random(seed)
    strata = [c for c in range(draw.randint(2, 12)) for _ in range(draw.randint(2, 30))]
    names = [f"s{k}" for k in range(len(strata))]
    fractions = (0.7, 0.15, 0.15)
    parts = split_stratified(names, strata, fractions, seed)
    assert sorted(k for part in parts for k in part) == list(range(len(names)))
    for part, share in zip(parts, fractions, strict=True):
        assert abs(len(part) - share * len(names)) < 2
        for c in set(strata):
            assert abs(sum(strata[k] == c for k in part) - share * strata.count(c)) < 1.5
    assert {strata[k] for k in parts[0]} == set(strata)
    assert parts != split_stratified(names, strata, fractions, seed + 1)


def test_small_strata_leave_no_part_empty():
    names, shares = [str(k) for k in range(60)], (0.7, 0.15, 0.15)
    alone = split_stratified(names, range(60), shares, 0)
    assert list(map(len, alone)) == [42, 9, 9]
    parts = split_stratified(names, [k // 2 for k in range(60)], (0.4, 0.3, 0.3), 0)
    assert {k // 2 for k in parts[0]} == set(range(30))  # each is there to be learnt
    assert min(map(len, parts)) >= 2
    assert list(map(len, split_stratified(["a", "b", "c"], [0] * 3, (0.8, 0.1, 0.1), 0))) == [
        1,
        1,
        1,
    ]
    assert list(map(len, split_stratified(["a", "b"], [0] * 2, (1.0, 0.0, 0.0), 0))) == [2, 0, 0]

"""Datasets of tables."""

import pytest
import torch

from symsets.experiments.tables.prior import ShapeRange
from symsets.experiments.tables.sets import RandomTables, fixed_tables

SHAPES = ShapeRange(rows=(10, 30), columns=(2, 6), queries=5, cells=3000)


def test_given_tables_come_in_parts_of_one_shape_and_in_order():
    sets = fixed_tables(10, SHAPES, seed=0)
    parts = [*sets.parts(3)]
    assert [len(x) for x, _ in parts] == [3, 1, 3, 1, 2]
    assert sum(len(y) for _, y in parts) == sets.num_sets == 10
    x, y = sets.part(5, 7)
    assert torch.equal(x.both, parts[2][0].both[1:])
    assert torch.equal(y, parts[2][1][1:])
    assert sets.first(5).num_sets == 5
    with pytest.raises(IndexError, match="start must be below 10, got 10"):
        sets.part(10, 11)


def test_a_seed_fixes_tables_for_validation():
    first, again, other = (fixed_tables(2, SHAPES, seed=seed).part(0, 2)[0] for seed in (0, 0, 1))
    assert torch.equal(first.both, again.both)
    assert first.both.shape != other.both.shape or not torch.equal(first.both, other.both)


def test_names_say_which_tables_are_whose():
    sets = fixed_tables(6, SHAPES, seed=0)
    sets.names = ("a", "b")
    places = sets.to("cpu", torch.float64).places()
    assert {name: mask.sum().item() for name, mask in places.items()} == {"a": 4, "b": 2}


def test_tables_of_training_are_new_in_every_step_and_decided_by_the_seed():
    sets = RandomTables(8, SHAPES, "cpu").to("cpu", torch.float64).first(6)
    assert sets.num_sets == 6
    torch.manual_seed(0)
    [first], [classes] = sets.batch(torch.zeros(1, 4))
    [second], _ = sets.batch(torch.zeros(1, 4))
    torch.manual_seed(0)
    [again], _ = sets.batch(torch.zeros(1, 4))
    assert len(first) == len(classes) == 4
    assert first.dtype == torch.float64
    assert torch.equal(first.both, again.both)
    assert first.both.shape != second.both.shape or not torch.equal(first.both, second.both)
    with pytest.raises(NotImplementedError, match="for training"):
        sets.part(0, 1)


def test_large_tables_come_in_smaller_batches():
    large = ShapeRange(rows=(100, 100), columns=(40, 40), classes=(5, 5), queries=28)
    [tables], _ = RandomTables(8, large, "cpu").batch(torch.zeros(1, 8))
    assert len(tables) == 4  # of 26,240 cells each

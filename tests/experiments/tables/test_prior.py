"""Random tables."""

import pytest
import torch

from symsets.experiments.tables.baselines import logistic
from symsets.experiments.tables.metrics import area_under_curve
from symsets.experiments.tables.prior import Shape, ShapeRange, random_tables

CPU = torch.device("cpu")


@pytest.mark.parametrize("shape", [Shape(40, 8, 2, 2), Shape(60, 5, 30, 10)], ids=str)
def test_tables_are_finite_and_have_the_shape_asked_for(shape):
    torch.manual_seed(0)
    tables, classes = random_tables(5, shape, CPU)
    assert tables.both.isfinite().all()
    assert tables.both.shape == (5, shape.rows + shape.queries, shape.columns)
    assert tables.labels.shape == (5, shape.rows, shape.classes)
    assert classes.shape == (5, shape.queries)
    assert (tables.labels.sum(2) == 1).all()


def test_classes_of_queries_are_among_those_of_labelled_rows():
    torch.manual_seed(0)
    tables, classes = random_tables(50, Shape(40, 40, 4, 8), CPU)
    labelled = tables.labels.any(1)  # (B, K)
    assert labelled.gather(1, classes).all()
    assert (labelled.sum(1) >= 2).all()


def test_a_seed_fixes_tables_and_another_one_changes_them():
    shape = Shape(20, 5, 3, 2)
    first, again, other = (
        random_tables(2, shape, CPU, torch.Generator().manual_seed(seed))[0].both
        for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_shapes_stay_in_their_range():
    shapes = ShapeRange(rows=(20, 90), columns=(2, 30), classes=(2, 10), queries=10, cells=6000)
    torch.manual_seed(0)
    drawn = [shapes.draw() for _ in range(500)]
    assert all(20 <= s.rows <= 90 and 2 <= s.columns <= 30 and s.cells <= 6000 for s in drawn)
    assert {s.classes for s in drawn} == set(range(2, 11))
    assert {s.columns for s in drawn} > {2, 3, 10, 20, 30}


def test_tables_can_be_learnt_from_but_are_not_trivial():
    torch.manual_seed(0)
    tables, classes = random_tables(40, Shape(100, 40, 8, 2), CPU)
    areas = area_under_curve(logistic(tables), classes)
    assert 0.7 < areas.mean() < 0.95
    assert areas.std() > 0.05

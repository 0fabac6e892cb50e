"""Batches of tables."""

import pickle

import pytest
import torch

from symsets.experiments.tables.tables import Tables


def tables(num=2, rows=6, queries=3, columns=4, classes=2):
    labels = torch.eye(classes)[torch.arange(rows) % classes].expand(num, -1, -1)
    return Tables(torch.randn(num, rows, columns), labels, torch.randn(num, queries, columns))


def test_rows_come_before_queries():
    x = tables()
    assert torch.equal(torch.cat([x.rows, x.queries], dim=1), x.both)
    assert (len(x), x.num_classes, x.rows.shape, x.queries.shape) == (2, 2, (2, 6, 4), (2, 3, 4))


def test_tables_are_cut_moved_and_copied_whole():
    x = tables()
    for other in (x[:1], x.to(torch.float64), pickle.loads(pickle.dumps(x))):
        assert torch.equal(other.both, x.both[: len(other)].to(other.dtype))
        assert torch.equal(other.labels, x.labels[: len(other)].to(other.dtype))


def test_one_of_several_tables_is_asked_for_by_a_slice():
    with pytest.raises(TypeError, match="must be a slice, got 1"):
        tables()[1]


@pytest.mark.parametrize(
    ("rows", "labels", "queries", "wrong"),
    [
        ((2, 6, 4), (1, 6, 2), (2, 3, 4), "labels must be one per row"),
        ((2, 6, 4), (2, 5, 2), (2, 3, 4), "labels must be one per row"),
    ],
)
def test_parts_that_do_not_fit_are_named(rows, labels, queries, wrong):
    with pytest.raises(ValueError, match=wrong):
        Tables(torch.zeros(rows), torch.zeros(labels), torch.zeros(queries))

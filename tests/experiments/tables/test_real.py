"""Real tables, divided into rows with labels and queries."""

import pytest
import torch

from symsets.experiments.tables.real import table_source, turned_digits


def test_half_of_each_class_has_labels():
    sets = table_source("embedded").divided(2, seed=0)
    assert sets.names == ("iris", "wine", "breast-cancer", "digits")
    tables, classes = sets.given[0]
    assert tables.labels.sum(1).tolist() == [[25, 25, 25]] * 2
    assert classes.shape == (2, 75)
    digits, asked = sets.given[3]
    assert abs(digits.rows.shape[1] - 300) <= 5
    assert asked.shape == (2, 150)


def test_no_row_is_a_query_of_its_own_table():
    tables, _ = table_source("embedded").tables["wine"].divided(3, seed=1)
    assert not (torch.cdist(tables.rows, tables.queries) == 0).any()
    assert not torch.equal(tables.rows[0], tables.rows[1])


def test_digits_on_their_side_are_other_classes():
    table = turned_digits()
    assert table.num_classes == 20
    assert torch.bincount(table.y).min() > 75
    upright = table_source("embedded").tables["digits"]
    assert torch.equal(table.x[0], upright.x[0])
    assert torch.equal(table.x[1].reshape(8, 8).rot90(-1), upright.x[1].reshape(8, 8))


def test_a_file_is_a_table(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("a,b,kind\n1,2,cat\n3,4,dog\n\n5,6,cat\n7,8e1,dog\n")
    source = table_source(str(path))
    assert source.name == "own"
    assert source.tables["own"].y.tolist() == [0, 1, 0, 1]
    assert source.divided(1, seed=0).num_sets == 1


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a,kind\nx,cat\n", "own.csv cannot be read: could not convert"),
        ("a,kind\n1,cat\n2,cat\n3,dog\n", "must have two classes or more, and two rows of each"),
        ("", "own.csv cannot be read"),
    ],
)
def test_a_file_that_is_no_table_is_named(tmp_path, text, wrong):
    (tmp_path / "own.csv").write_text(text)
    with pytest.raises(ValueError, match=wrong):
        table_source(str(tmp_path / "own.csv"))


def test_data_that_are_not_there_are_named():
    with pytest.raises(ValueError, match=r"data must be 'embedded' or a file \*.csv that exists"):
        table_source("missing.csv")

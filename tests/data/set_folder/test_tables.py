from dataclasses import replace

import numpy as np
import pytest

from symsets.data import SetFolder


def table(path, text):
    path.write_text(text.replace(" ", "\n"))
    return path


def test_one_table_holds_all_sets(tmp_path):
    path = table(tmp_path / "bags.csv", "set,u,label,v b,1,x,2 a,3,y,4 b,5,x,6 c,0,x,0 d,0,y,0")
    for root in (path, tmp_path):
        sets = SetFolder(root)
        assert (sets.task, sets.kind, sets.classes) == ("classify", "vectors", ("x", "y"))
        assert (sets.names, sets.sizes) == (["b", "a", "c", "d"], [2, 1, 1, 1])
        assert np.array_equal(sets[0][0], [[1, 2], [5, 6]])
        assert sets.elements(0) == ["0", "1"]
        assert sets.targets.tolist() == [0, 1, 0, 1]
        sets[0][0].zero_()  # what a user does to a set stays with the user
        assert np.array_equal(sets[0][0], [[1, 2], [5, 6]])


def test_a_table_may_say_splits_best_elements_scores_and_several_labels(tmp_path):
    text = "set,element,u,best,split a,p,1,0,train a,q,2,1,train b,r,3,1,test b,s,4,0,test"
    sets = SetFolder(table(tmp_path / "t.csv", text))
    assert (sets.task, sets.targets.tolist()) == ("select", [1, 0])
    assert (sets.splits, sets.elements(1)) == (["train", "test"], ["r", "s"])
    sets = SetFolder(table(tmp_path / "t.csv", "set,u,score a,1,0.5 a,2,1 b,3,2"))
    assert (sets.task, sets.targets.tolist()) == ("score", [0.5, 1, 2])
    sets = SetFolder(table(tmp_path / "t.csv", "set,u,label_p,label_q a,1,0,1 a,2,0,1 b,3,1,1"))
    assert (sets.task, sets.classes) == ("labels", ("label_p", "label_q"))
    assert sets.targets.tolist() == [[0, 1], [1, 1]]


def test_sets_and_elements_of_a_table_may_be_called_like_paths(tmp_path):
    text = "set,element,u,best /x/a,p/1.png,1,0 /x/a,p/2.png,2,1 /x/b,1.png,3,1 /x/b,2.png,4,0"
    sets = SetFolder(table(tmp_path / "t.csv", text))
    assert (sets.names, sets.targets.tolist()) == (["/x/a", "/x/b"], [1, 0])
    assert sets.elements(0) == ["p/1.png", "p/2.png"]


def test_labels_may_lie_beside_the_table(tmp_path):
    table(tmp_path / "t.csv", "set,u a,1 a,2 b,3")
    table(tmp_path / "labels.csv", "set,age a,1.5 b,2")
    assert SetFolder(tmp_path).targets.tolist() == [[1.5], [2]]
    table(tmp_path / "t.csv", "set,u,label a,1,x a,2,x b,3,y")
    with pytest.raises(
        ValueError, match=r"must say its labels once, found .*t.csv and .*labels.csv"
    ):
        SetFolder(tmp_path)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("bag,u a,1", "t.csv must have a column 'set' for each row, got"),
        ("set,u", "t.csv must have rows below its header, found none"),
        ("set,label a,x", "t.csv must have columns of numbers, got only"),
        ("set,u,u a,1,2", "columns must have different names, got 'u' twice"),
        ("set,u a,1 b,x", "column 'u' of .*t.csv must hold numbers: .*'x'"),
        ("set,u a,1 b,nan", "column 'u' of .*t.csv must hold finite numbers, .* in row 1"),
        ("set,u a,1,2", "t.csv, line 2: must have 2 values, as in 'set,u', got 'a,1,2'"),
        (
            "set,u,label a,1,x a,2,y",
            "line 3: set 'a' must have one label, found another in .*t.csv, line 2",
        ),
        ("set,u,label,score a,1,x,1", r"columns for one kind of target, got \['label', 'score'\]"),
        ("set,u,label,split a,1,x,now b,1,x,now", "line 2: split must be one of .*, got 'now'"),
        (
            "set,u,best a,1,0 a,2,0 b,1,1 b,2,0",
            "t.csv must have a line for set 'a', found none",
        ),
    ],
)
def test_tables_that_are_wrong_are_refused(tmp_path, text, match):
    with pytest.raises(ValueError, match=match):
        SetFolder(table(tmp_path / "t.csv", text))


def test_a_table_in_columns_is_read_as_well(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")
    content = {
        "set": ["a", "a", "b", "c", "c"],
        "u": [1.0, 2, 3, 4, 5],
        "label": [1.5, 1.5, 2, 3, 3],
    }
    parquet.write_table(arrow.table(content), tmp_path / "t.parquet")
    for root in (tmp_path, tmp_path / "t.parquet"):
        sets = SetFolder(root)
        assert (sets.task, sets.sizes) == ("regress", [2, 1, 2])
        assert sets.targets.tolist() == [[1.5], [2], [3]]


def test_a_file_that_is_no_table_is_refused(tmp_path):
    path = tmp_path / "set.txt"
    path.write_text("?")
    with pytest.raises(ValueError, match=r"it must be a folder, or a table in .csv or .parquet"):
        SetFolder(path)
    sets = table(tmp_path / "t.csv", "set,u a,1 b,2")
    with pytest.raises(ValueError, match=r"kind must be 'vectors' for the table .*t.csv, got 'sig"):
        SetFolder(sets, kind="signals")


def test_columns_of_a_table_are_found_by_their_names(tmp_path):
    path = table(tmp_path / "t.csv", "set,a,b,label p,1,2,x p,3,4,x q,5,6,y r,0,0,x s,0,0,y")
    sets = SetFolder(path)
    assert sets.card.element == {"channels": 2, "columns": ["a", "b"]}
    table(path, "set,b,label,a p,2,x,1 p,4,x,3 q,6,y,5")
    again = SetFolder(path, like=sets.card)
    assert np.array_equal(again[0][0], [[1, 2], [3, 4]])
    assert again.elements(0) == ["0", "1"]
    old = replace(sets.card, element={"channels": 2})  # of a version that kept no names
    assert np.array_equal(SetFolder(path, like=old)[0][0], [[2, 1], [4, 3]])
    table(path, "set,b,c p,2,1")
    with pytest.raises(ValueError, match=r"t.csv must have a column 'a', as the .*, found none"):
        SetFolder(path, like=sets.card)
    table(path, "set,a,c,b p,2,1,0")
    with pytest.raises(ValueError, match=r"no column 'c' beside the others, as the"):
        SetFolder(path, like=sets.card)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_of_one_file_per_set_are_found_by_their_names(tmp_path, suffix):
    def write(name, text):
        if suffix == ".csv":
            return table(tmp_path / f"{name}.csv", text)
        arrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
        header, *rows = [line.split(",") for line in text.split()]
        columns = zip(*[[float(cell) for cell in row] for row in rows], strict=True)
        content = arrow.table(dict(zip(header, columns, strict=True)))
        return arrow.parquet.write_table(content, tmp_path / f"{name}.parquet")

    pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")
    write("p", "a,b 1,2 3,4")
    write("q", "b,a 6,5")
    table(tmp_path / "labels.csv", "set,age p,1.5 q,2.5")
    sets = SetFolder(tmp_path, cache=True)
    assert sets.card.element == {"channels": 2, "columns": ["a", "b"]}
    assert np.array_equal(sets[1][0], [[5, 6]])
    write("p", "b,a 2,1 4,3")
    assert np.array_equal(SetFolder(tmp_path, like=sets.card)[0][0], [[1, 2], [3, 4]])
    write("p", "a,c 1,2")
    with pytest.raises(ValueError, match=rf"q\{suffix} must have a column 'c', like .*p\{suffix}"):
        SetFolder(tmp_path)
    with pytest.raises(ValueError, match=rf"p\{suffix} must have a column 'b', as the network"):
        SetFolder(tmp_path, like=sets.card)
    old = replace(sets.card, element={"channels": 2})  # of a version that kept no names
    assert [x.tolist() for x, _ in SetFolder(tmp_path, like=old)] == [[[1, 2]], [[6, 5]]]


def test_columns_without_clear_names_are_taken_in_their_order(tmp_path):
    table(tmp_path / "p.csv", "a,b 1,2")
    table(tmp_path / "q.csv", "3,4")
    table(tmp_path / "r.csv", "x,x 5,6")
    table(tmp_path / "labels.csv", "set,age p,1.5 q,2.5 r,3.5")
    sets = SetFolder(tmp_path)
    assert [x.tolist() for x, _ in sets] == [[[1, 2]], [[3, 4]], [[5, 6]]]

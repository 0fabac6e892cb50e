"""Every folder that cannot be learnt from is refused in one line that names the file."""

import os
import sys

import numpy as np
import pytest

from symsets.data import SetFolder

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")


THREE = "must have at least three sets of each class, or folders train, val and test, found only"


def refused(folder, match, **options):
    with pytest.raises(ValueError, match=match) as caught:
        SetFolder(folder.root, **options)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_missing_or_empty(folder):
    refused(folder, "photos must be a folder, but it does not exist")
    folder.root.mkdir()
    refused(folder, "photos must hold a folder or a file for each set, found none: expected set/")
    (folder.root / "a").mkdir()
    (folder.root / "b").mkdir()
    refused(folder, "set 'a' must hold pictures or clouds, found none")


def test_one_set_is_not_enough_to_learn_from(folder):
    folder.sets("a")
    refused(folder, "photos must hold at least two sets to learn from, found 'a'")


def test_a_class_with_one_set_and_a_single_class(folder):
    folder.sets("cat/a", "cat/b")
    refused(folder, "photos must have sets of at least two classes, found only 'cat'")
    folder.sets("dog/c")
    refused(folder, f"photos {THREE} 'dog/c' of class 'dog'")


def test_a_class_may_have_one_set_where_folders_divide_them(folder):
    folder.sets("train/cat/a", "train/dog/b", "test/cat/c")
    assert SetFolder(folder.root).targets.tolist() == [0, 1, 0]


def test_labels_without_a_set_and_sets_without_a_label(folder):
    folder.sets("a", "b", "c")
    folder.labels("set,label a,x b,y lost,x")
    refused(folder, "labels.csv, line 4: set must be one of 'a', 'b', 'c', got 'lost'")
    folder.labels("set,label a,x")
    refused(folder, "labels.csv must have a line for set 'b', found none")
    folder.labels("set,label a,x b,y c,x a,y")
    refused(folder, r"line 5: set 'a' must have one label, found another in .*labels.csv, line 2")


def test_sets_of_one_element_have_no_best(folder):
    folder.sets("a", "b", sizes=(1, 3))
    folder.labels("set,file a,0.png b,0.png")
    refused(folder, r"set 'a' must have at least two elements .*a.0.png")


@pytest.mark.parametrize(
    ("table", "match"),
    [
        ("set,file a,0.png b,9.png", "line 3: file must be in the set, got '9.png'"),
        ("set,file a,0.png b,0.png a,1.png", "line 4: set 'a' must have one best file, .* line 2"),
        (
            "set,file,score a,0.png,1 b,0.png,2 b,1.png,3",
            "must have a score for .*a.1.png, found n",
        ),
        (
            "set,file,score a,0.png,1 a,0.png,2 b,0.png,3",
            "line 3: file '0.png' of set 'a' must hav",
        ),
        ("set,file,score a,0.png,high b,1.png,2", "line 2: score must be a finite number, got 'hi"),
    ],
)
def test_best_files_and_scores_must_be_of_elements(folder, table, match):
    folder.sets("a", "b", sizes=(2,))
    folder.labels(table)
    refused(folder, match)


@pytest.mark.parametrize(
    ("table", "match"),
    [
        (
            "name,label a,x",
            "labels.csv must have the header 'set,label', 'set,file' or .*got 'name",
        ),
        ("set a b", "labels.csv must have the header"),
        ("set,file,label a,0.png,x", "labels.csv must have the header"),
        ("set,label,label a,x,y", "labels.csv must have the header"),
        ("", "labels.csv must have the header 'set,label'.*got ''"),
        ("set,label", "labels.csv must have a line for each set below its header, found none"),
        ("set,label a b,x", r"line 2: must have 2 values, as in 'set,label', got 'a'"),
        ("set,label a, b,x", r"line 2: must have 2 values, as in 'set,label', got 'a,'"),
        ('set,label "a,x', "labels.csv, line 2: must be CSV"),
        ("set,label,split a,x,later b,y,train", "line 2: split must be one of .*, got 'later'"),
        (
            "set,u,v a,1,x b,2,3",
            "line 2: v must be a number, beside other columns, got 'x'",
        ),
    ],
)
def test_a_table_of_labels_with_a_wrong_header_or_line(folder, table, match):
    folder.sets("a", "b")
    folder.labels(table)
    refused(folder, match)


@pytest.mark.parametrize(
    ("table", "task", "match"),
    [
        ("set,label a,x b,y", "regress", "line 2: label must be a finite number, got 'x'"),
        ("set,label a,1 b,nan", "regress", "line 3: label must be a finite number, got 'nan'"),
        ("set,label a,1 b,2", "labels", "line 3: label must be 0 or 1, got 2"),
        ("set,u,v a,1,1 b,2,2", "classify", r"must have one column to classify, got .*'u', 'v'"),
        (
            "set,label a,1 b,2",
            "select",
            "labels.csv must have labels for task 'select': .*set,file",
        ),
        (
            "set,file a,0.png b,0.png",
            "score",
            "must have labels for task 'score': .*set,file,score",
        ),
        ("set,file a,0.png b,0.png", "classify", "task 'classify': labels.csv with set,label"),
    ],
)
def test_labels_that_do_not_fit_the_task(folder, table, task, match):
    folder.sets("a", "b")
    folder.labels(table)
    refused(folder, match, task=task)


def test_tables_in_another_encoding(folder):
    folder.sets("a", "b")
    folder.labels("set,label a,café b,thé", encoding="latin-1")
    refused(
        folder,
        "labels.csv must be text in UTF-8 .*'CSV UTF-8'.*: .* byte 0xe9",
    )
    folder.labels("set,label a,café b,thé a2,x", encoding="utf-16")
    refused(folder, "labels.csv must be text in UTF-8 .* byte 0xff")


def test_tasks_without_labels(folder):
    folder.sets("a", "b")
    refused(
        folder,
        "photos must have labels for task 'regress': labels.csv with set,label",
        task="regress",
    )
    refused(folder, "set 'a' must hold a picture called target, found none", task="merge")


def test_merging_asks_for_one_target_of_the_size_of_the_shots(folder):
    folder.sets("a", "b")
    folder.paint("a/target.png")
    refused(folder, "set 'b' must hold a picture called target, like .*a.target.png, found none")
    target = folder.paint("b/target.jpg", size=(80, 64))
    refused(folder, "b.target.jpg must have 40×32 pixels, got 80×64")
    folder.paint("b/target.png")
    refused(folder, "b must hold one target, found target.jpg and target.png")
    target.unlink()
    folder.labels("set,label a,x b,y")
    refused(folder, "photos must pose one task, found .*labels.csv and .*target.png")


def test_mixed_layouts(folder):
    folder.sets("a", "b")
    loose = folder.paint("0.jpg")
    refused(folder, "photos must have one layout, found several: 0.jpg and a.0.png")
    loose.unlink()
    folder.sets("cat/x")
    refused(folder, "photos must have one layout, found several: a.0.png and cat.x.0.png")


def test_layouts_that_are_mixed_in_other_ways(folder, tmp_path):
    folder.paint("1.jpg")
    refused(folder, "1.jpg must lie in a folder that is a set, as in set/1.jpg")
    folder.root = tmp_path / "deep"
    folder.sets("a/b/c/d")
    refused(folder, "b must be a set and hold files only, found the folder c/ in it")
    folder.root = tmp_path / "kinds"
    folder.sets("a", "b")
    folder.array("b/0.npy", np.zeros((3, 3)))
    refused(folder, "b must have one layout, found several: 0.png and 0.npy")
    folder.root = tmp_path / "sets"
    folder.sets("a")
    folder.array("b/0.npy", np.zeros((3, 3)))
    refused(folder, "sets must all be of one kind, found .*0.png and .*0.npy")
    folder.root = tmp_path / "splits"
    folder.sets("train/a", "test/b", "other/c")
    refused(folder, "other must lie in train, val or test")
    folder.root = tmp_path / "levels"
    folder.sets("train/x/a", "test/b")
    refused(folder, "levels must have one layout, found several: train/x/a/ and test/b/")
    folder.root = tmp_path / "tables"
    folder.sets("train/a", "test/b")
    folder.labels("set,label a,x b,y")
    folder.labels("set,label a,x", "train/labels.csv")
    refused(folder, "tables must have one labels.csv, found another: .*train")


def test_corrupt_and_huge_pictures_are_left_out_and_listed(folder):
    folder.sets("a", "b", sizes=(3,), suffix="jpg")
    broken = folder.root / "a" / "0.jpg"
    broken.write_bytes(b"no picture")
    cut = folder.root / "b" / "0.jpg"
    Image.effect_noise((40, 32), 90).save(cut)
    cut.write_bytes(cut.read_bytes()[:-60])  # its header is fine
    huge = folder.root / "b" / "huge.png"
    Image.new("1", (2**14, 2**13)).save(huge)
    note = folder.root / "b" / "note.heic"
    note.write_bytes(b"?")
    sets = SetFolder(folder.root)
    assert sorted(sets.skipped) == sorted(
        [
            (str(broken), "not readable"),
            (str(cut), "not readable"),
            (str(huge), "larger than 67,108,864 pixels"),
            (str(note), "of an unknown kind"),
        ]
    )
    assert sets.sizes == [2, 2]
    assert "4 skipped (2 not readable, 1 larger than 67,108,864 pixels, 1 of an un" in repr(sets)


def test_sets_without_a_usable_element_are_left_out_and_folders_without_any_refused(folder):
    folder.sets("a", "b", "c", sizes=(1,))
    (folder.root / "a" / "0.png").write_bytes(b"")
    sets = SetFolder(folder.root)
    assert sets.names == ["b", "c"]
    assert ("a", "no usable element") in sets.skipped
    for name in "bc":
        (folder.root / name / "0.png").write_bytes(b"")
    refused(folder, "a.0.png must be a usable element, but it is not readable; so are all others")


def test_a_set_whose_best_element_is_corrupt_is_left_out(folder):
    folder.sets("a", "b", "c", sizes=(2,))
    folder.labels("set,file a,0.png b,0.png c,1.png")
    (folder.root / "a" / "0.png").write_bytes(b"")
    sets = SetFolder(folder.root)
    assert (sets.names, sets.targets.tolist(), len(sets)) == (["b", "c"], [0, 1], 2)
    assert ("a", "without its best element, or with nothing else") in sets.skipped
    (folder.root / "b" / "0.png").write_bytes(b"")
    refused(folder, "photos must hold at least two usable sets, found 1; .*a.0.png is not readable")


def test_numbers_that_are_missing_or_do_not_fit(folder):
    folder.array("a.npy", np.zeros((3, 4)))
    folder.array("b.npy", [[0, 1, 2, 3], [0, 1, np.nan, 3]])
    refused(folder, r"b.npy must hold finite numbers, found NaN or infinity in row 1 \(from 0\)")
    folder.array("b.npy", np.zeros((3, 5)))
    refused(folder, r"b.npy must hold vectors of shape \(4,\), like .*a.npy, got \(5,\)")
    folder.array("b.npy", np.zeros(4))
    refused(folder, r"b.npy must hold a set \(N, C\) or \(N, C, L\), got shape \(4,\)")
    refused(folder, r"kind must be one of \['vectors', 'signals'\] for .*a.npy", kind="pictures")


def test_arrays_that_cannot_be_read_are_left_out(folder):
    for name in "abc":
        path = folder.array(f"{name}.npy", np.zeros((3, 4)))
    cut = path.read_bytes()[:-4]
    np.save(path, np.array(["x"]))
    text = path.read_bytes()
    np.save(path, np.array([{}]), allow_pickle=True)  # nothing is executed
    for content in (cut, text, path.read_bytes(), b""):
        path.write_bytes(content)
        sets = SetFolder(folder.root)
        assert (sets.names, sets.skipped) == (["a", "b"], [(str(path), "not readable")])
    (folder.root / "b.npy").write_bytes(b"")
    refused(folder, "photos must hold at least two usable sets, found 1; .*b.npy is not readable")
    (folder.root / "a.npy").write_bytes(text)
    refused(folder, "a.npy cannot be read: it must hold numbers, got <U1")


def test_empty_bags_are_left_out(folder):
    folder.array("a.npy", np.zeros((0, 4)))
    folder.array("b.npy", np.zeros((2, 4)))
    folder.array("c.npy", np.zeros((2, 4)))
    sets = SetFolder(folder.root)
    assert (sets.names, sets.skipped) == (["b", "c"], [("a", "no elements")])
    for name in "bc":
        folder.array(f"{name}.npy", np.zeros((0, 4)))
    refused(folder, "a.npy must hold elements, found none")


def test_clouds_must_agree_in_their_channels_and_be_finite(folder):
    folder.array("a/0.npy", np.zeros((3, 3)))
    folder.array("b/0.npy", np.zeros((3, 2)))
    options = {"kind": "clouds"}
    refused(folder, "b.0.npy must hold points of 3 numbers, like .*a.0.npy or .*, got 2", **options)
    folder.array("b/0.npy", np.full((3, 3), np.inf))
    refused(folder, "b.0.npy must hold finite numbers", **options)
    folder.array("b/0.npy", np.zeros(3))
    refused(folder, r"b.0.npy must be a cloud \(P, C\), got shape \(3,\)", **options)
    folder.array("b/0.npy", np.zeros((3, 3)))
    folder.array("b/1.npy", np.zeros((0, 3)))
    (folder.root / "b" / "2.npy").write_bytes(b"")
    assert [why for _, why in SetFolder(folder.root, **options).skipped] == [
        "without points",
        "not readable",
    ]


def test_two_files_of_one_name(folder):
    folder.array("a.npy", np.zeros((3, 4)))
    np.savez(folder.root / "a.npz", np.zeros((3, 4)))
    refused(folder, "a.npz must not be called like .*a.npy")


def test_a_table_that_is_too_large(folder, monkeypatch):
    folder.sets("a", "b")
    folder.labels("set,label a,x b,y")
    monkeypatch.setattr("symsets.data.set_folder.labels.MOST_BYTES", 10)
    refused(folder, "labels.csv cannot be read: it has 17 bytes, more than 10")


def test_files_of_channels_that_a_user_did_not_ask_for(folder):
    for name in "ab":
        folder.array(f"{name}.npy", np.zeros((2, 3, 5)))
    refused(
        folder,
        r"a.npy must hold signals of shape \(4, 5\).*, got \(3, 5\)",
        kind="signals",
        channels=4,
    )
    assert SetFolder(folder.root, channels=3).card is None


def test_folders_that_say_a_split_in_two_ways(folder):
    folder.sets("train/a", "test/b")
    folder.labels("set,age,split a,1.5,test b,2.5,test")
    refused(folder, r"line 2: set must have one split, got \['test', 'train'\]")


def test_a_word_among_numbers_is_no_class(folder):
    folder.sets("a", "b", "c", "d", "e")
    folder.labels("set,age a,1.5 b,nan c,3.5 d,4.5 e,1.5")
    refused(folder, "line 3: age must be a finite number, as most of the column are, got 'nan'")
    folder.labels("set,age a,1.5 b,n/a c,3.5 d,3.5 e,1.5")
    refused(folder, "line 3: age must be a finite number.*got 'n/a'; task=\"classify\"")
    folder.labels("set,label a,0 b,other c,0 d,1 e,1")  # numbers that are classes
    refused(folder, f"{THREE} 'b' of class 'other'")


def test_numbers_that_float32_cannot_hold(folder):
    folder.array("a.npy", np.ones((2, 3)))
    np.save(folder.root / "b.npy", np.full((2, 3), 1e300))
    folder.labels("set,label a,1.5 b,2.5")
    match = r"must hold finite numbers, found 1e\+300, too large for float32, in row 0 \(from 0\)"
    refused(folder, f"b.npy {match}")
    (table := folder.root / "t.csv").write_text("set,u,label\na,1,1.5\nb,1e300,2.5\n")
    with pytest.raises(ValueError, match=f"column 'u' of .*t.csv {match.replace('0 ', '1 ')}"):
        SetFolder(table)


def test_a_table_that_does_not_name_its_sets(folder):
    folder.labels("bag,x,label a,1,p b,2,q", place="table.csv")
    refused(folder, "at least two sets to learn from, found 'table'; one table .* column 'set'")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all names are text")
@pytest.mark.parametrize("name", [b"red/\xfc", b"blue/\xfc"])
def test_names_may_be_any_bytes(folder, name):
    folder.sets("red/a", "red/b", "blue/b", "blue/c", os.fsdecode(name), sizes=(2,))
    assert os.fsdecode(name) in SetFolder(folder.root).names


def test_what_systems_add_to_folders_is_no_class(folder):
    folder.sets("cat/a", "cat/b", "dog/c", "dog/d", "__MACOSX/dog/e", "@eaDir/f")
    assert SetFolder(folder.root).names == ["cat/a", "cat/b", "dog/c", "dog/d"]


def test_splits_that_leave_nothing_to_validate_or_to_test(folder):
    folder.sets(*"abcdef")
    folder.labels("set,age,split a,1.5,train b,2.5,train c,3,train d,4,train e,5,train f,6,train")
    parts = SetFolder(folder.root).split()  # as if the column were not there
    assert all(len(part) for part in parts)
    assert sorted(name for part in parts for name in part.names) == list("abcdef")
    folder.labels("set,age,split a,1.5,train b,2.5,test c,3,test d,4,test e,5,test f,6,test")
    with pytest.raises(ValueError, match="split 'train' must have two sets or more, got 'a'"):
        SetFolder(folder.root).split()


def test_a_slip_among_labels_of_0_and_1_makes_no_regression(folder):
    names = [f"s{k:02d}" for k in range(12)]
    folder.sets(*names)
    rows = [f"{name},{k % 2},{k % 3 // 2}" for k, name in enumerate(names)]
    rows[4] = "s04,0,2"
    folder.labels(" ".join(["set,u,v", *rows]))
    refused(folder, "line 6: v must be 0 or 1, as nearly all labels are, got 2; task=.regress.")
    assert SetFolder(folder.root, task="regress").task == "regress"


def test_numbers_with_a_comma_are_no_classes(folder):
    folder.sets("a", "b", "c", "d", "e")
    folder.labels("set;age a;1,5 b;2,5 c;3,5 d;4,5 e;1,5".replace(" ", "\n"))
    refused(folder, "age must have a point, not a comma, in numbers, got '1,5'; task=\"classify\"")

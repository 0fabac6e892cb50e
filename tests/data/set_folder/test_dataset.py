import pickle

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from symsets import RaggedSets, collate
from symsets.data import SetFolder
from symsets.models import Card

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")


def test_folders_of_classes_are_classified(folder):
    folder.sets("cat/a", "cat/b", "dog/a", "dog/b")
    sets = SetFolder(folder.root)
    assert (sets.task, sets.kind, sets.classes) == ("classify", "pictures", ("cat", "dog"))
    assert sets.names == ["cat/a", "cat/b", "dog/a", "dog/b"]
    assert sets.sizes == [2, 3, 4, 2]
    assert sets.elements(1) == ["0.png", "1.png", "2.png"]
    assert sets.targets.tolist() == [0, 0, 1, 1]
    x, y = sets[2]
    assert (x.shape, x.dtype, y.dtype, y.item()) == ((4, 3, 32, 40), torch.float32, torch.int64, 1)
    assert torch.equal(x[:, 0, 5, 5], torch.tensor([20, 21, 22, 23]) / 255)
    assert sets.card == Card(
        "classify",
        "pictures",
        ("cat", "dog"),
        {"size": [32, 40], "channels": 3, "resize": "crop"},
    )
    assert repr(sets).splitlines()[1:] == [
        "  4 sets of 2–4 pictures (3, 32, 40)",
        "  classify: 2 classes: cat 2, dog 2)",
    ]


@pytest.mark.parametrize(
    ("table", "task", "classes", "targets"),
    [
        ("set,label a,up b,down c,up d,down", "classify", ("down", "up"), [1, 0, 1, 0]),
        ("set,age a,10 b,20.5 c,3e1 d,-1", "regress", ("age",), [[10], [20.5], [30], [-1]]),
        ("set,wet,hot a,1,0 b,0,0 c,1,1 d,0,1", "labels", ("wet", "hot"), None),
        (
            "set,x,y a,1,0 b,0,5 c,1,1 d,0,1",
            "regress",
            ("x", "y"),
            [[1, 0], [0, 5], [1, 1], [0, 1]],
        ),
        ("set;label a;0 b;1 c;1 d;0", "classify", ("0", "1"), [0, 1, 1, 0]),
        ("set,count a,0 b,1 c,1 d,0", "regress", ("count",), [[0], [1], [1], [0]]),
        ("set,label a,0 b,1 c,1 d,2", "regress", ("label",), [[0], [1], [1], [2]]),
        ("set,label a,10 b,9 c,10 d,9", "regress", ("label",), [[10], [9], [10], [9]]),
        ("set,file a,1.png b,0.png c,3.png d,0.png", "select", (), [1, 0, 3, 0]),
    ],
)
def test_a_table_of_labels_says_the_task(folder, table, task, classes, targets):
    folder.sets("a", "b", "c", "d")
    folder.labels(table)
    sets = SetFolder(folder.root)
    assert (sets.task, sets.classes) == (task, classes)
    if targets is not None:
        assert sets.targets.tolist() == targets
        assert [target.tolist() for _, target in sets] == targets
    assert sets.targets.is_floating_point() == (task in ("labels", "regress"))


def test_whole_numbers_that_look_like_classes_are_said_to_be_taken_for_them(folder):
    folder.sets("a", "b", "c", "d")
    folder.labels("set,label a,1 b,2 c,1 d,2")
    sets = SetFolder(folder.root)
    assert (sets.task, sets.classes) == ("classify", ("1", "2"))
    assert 'whole numbers taken for classes; task="regress"' in repr(sets)
    sets = SetFolder(folder.root, task="regress")
    assert sets.targets.tolist() == [[1], [2], [1], [2]]
    assert "taken" not in repr(sets)


def test_each_element_has_a_score_and_the_highest_can_be_selected(folder):
    folder.sets("a", "b", sizes=(2, 3))
    folder.labels("set,file,score a,0.png,1 b,2.png,5 a,1.png,-2.5 b,0.png,7 b,1.png,0")
    sets = SetFolder(folder.root)
    assert sets.task == "score"
    assert [target.tolist() for _, target in sets] == [[1, -2.5], [7, 0, 5]]
    assert sets.targets.tolist() == [1, -2.5, 7, 0, 5]
    assert SetFolder(folder.root, task="select").targets.tolist() == [0, 0]


def test_a_target_in_each_set_is_what_it_is_merged_into(folder):
    folder.sets("a", "b")
    folder.paint("a/target.png", grey=200)
    folder.paint("b/Target.PNG", grey=220)
    sets = SetFolder(folder.root)
    assert (sets.task, sets.targets, sets.sizes) == ("merge", None, [2, 3])
    x, y = sets[1]
    assert x.shape == (3, 3, 32, 40)
    assert torch.equal(y[0], torch.full((32, 40), 220 / 255))
    assert SetFolder(folder.root, task="merge").sizes == [2, 3]
    folder.labels("set,label a,1.5 b,2.5")
    assert SetFolder(folder.root, task="regress").sizes == [3, 4]


def test_a_folder_without_labels_has_sets_but_no_task(folder):
    folder.sets("a", "b")
    sets = SetFolder(folder.root)
    assert (sets.task, sets.targets, sets.card, sets[0][1]) == (None, None, None, None)
    x, y = next(iter(DataLoader(sets, batch_size=2, collate_fn=collate)))
    assert isinstance(x, RaggedSets)
    assert y is None
    assert "no labels, so no task" in repr(sets)


def test_new_sets_are_prepared_like_those_of_a_network(folder, tmp_path):
    folder.sets("cat/a", "cat/b", "dog/a", "dog/b")
    card = SetFolder(folder.root, size=(16, 24), resize="scale", channels=1).card
    folder.root = tmp_path / "new"
    folder.paint("one/1.png", size=(90, 80))
    sets = SetFolder(folder.root, like=card)
    assert (sets.task, sets.classes, sets.card, sets.targets) == (
        "classify",
        card.classes,
        card,
        None,
    )
    x, y = sets[0]
    assert (x.shape, y) == ((1, 1, 16, 24), None)
    folder.root = tmp_path / "labelled"
    folder.sets("dog/a")
    assert SetFolder(folder.root, like=card).targets.tolist() == [1]
    folder.sets("cow/a")
    with pytest.raises(
        ValueError, match=r"cow.a: label must be one of \('cat', 'dog'\), got 'cow'"
    ):
        SetFolder(folder.root, like=card)
    with pytest.raises(ValueError, match="like must be alone"):
        SetFolder(folder.root, like=card, size=8)
    bare = Card("classify", "pictures", ("cat", "dog"))
    with pytest.raises(ValueError, match="like must say 'channels' in element"):
        SetFolder(folder.root, like=bare)


@pytest.mark.parametrize("cache", [False, True])
def test_workers_read_what_one_process_reads(folder, cache):
    folder.sets(*(f"{name}/{k}" for name in "ab" for k in range(5)), suffix="jpg")
    sets = SetFolder(folder.root, cache=cache)
    plain = [x for x, _ in SetFolder(folder.root)]
    loader = DataLoader(sets, batch_size=3, num_workers=2, collate_fn=collate)
    for _ in range(2):  # the second time from the cache
        read = [x for batch, _ in loader for x in batch]
        assert len(read) == 10
        assert all(torch.equal(x, y) for x, y in zip(read, plain, strict=True))
    again = pickle.loads(pickle.dumps(sets))
    assert torch.equal(again[7][0], plain[7])


def test_the_cache_is_read_in_place_of_the_files_and_leaves_nothing_behind(
    folder, monkeypatch, tmp_path
):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    folder.sets("a", "b")
    sets = SetFolder(folder.root, cache=True)
    first = sets[0][0]
    (folder.root / "a" / "0.png").unlink()
    assert torch.equal(sets.subset([0])[0][0], first)
    assert sets.skipped == []
    assert not list(temporary.iterdir())  # also after a kill


def test_workers_fill_the_cache_for_each_other(folder):
    folder.sets("a", "b", sizes=(2,))
    sets = SetFolder(folder.root, cache=True)
    read = [x for x, _ in DataLoader(sets, num_workers=1, collate_fn=collate)]
    for name in "ab":
        (folder.root / name / "0.png").unlink()
    assert torch.equal(sets[1][0], read[1][0])
    assert sets.skipped == []


def test_a_cache_larger_than_the_disk_is_refused(folder, monkeypatch):
    folder.sets("a", "b")
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000})())
    with pytest.raises(ValueError, match=r"cache must be False, as 19,\d{3} bytes are needed"):
        SetFolder(folder.root, cache=True)


def test_what_becomes_unreadable_is_left_out_and_listed_and_stops_no_epoch(folder):
    folder.sets("a", "b", "c", sizes=(3,))
    folder.labels("set,file a,1.png b,1.png c,1.png")
    sets = SetFolder(folder.root)
    for name in ("a/0.png", "b/1.png", "c/0.png", "c/1.png", "c/2.png"):
        (folder.root / name).write_bytes(b"spoilt")
    loader = DataLoader(sets, num_workers=2, collate_fn=collate)  # workers tell the others
    (a, best_a), (b, best_b), (c, best_c) = list(loader)
    assert (a.shape[1], best_a.item()) == (2, 0)
    assert (b.shape[1], best_b.item()) == (3, 1)  # the best keeps its place
    assert not b[0, 1].any()
    assert (c.shape[1], best_c.item()) == (1, 0)
    assert sets.sizes == [2, 3, 1]
    assert sets.elements(0) == ["1.png", "2.png"]
    assert len(sets.skipped) == 5
    assert sets.skipped[0] == (str(folder.root / "a/0.png"), "not readable when it was needed")
    assert "5 skipped" in repr(sets)


def test_scores_follow_the_elements_that_are_left(folder):
    folder.sets("a", "b", sizes=(2,))
    folder.labels("set,file,score a,0.png,1 a,1.png,2 b,0.png,3 b,1.png,4")
    sets = SetFolder(folder.root)
    (folder.root / "b" / "0.png").unlink()
    x, y = sets[1]
    assert (len(x), y.tolist()) == (1, [4])
    assert sets.targets.tolist() == [1, 2, 4]


def test_a_target_that_becomes_unreadable_is_replaced_by_the_mean(folder):
    folder.sets("a", "b")
    for name in ("a", "b"):
        folder.paint(f"{name}/target.png")
    sets = SetFolder(folder.root)
    (folder.root / "b" / "target.png").unlink()
    x, y = sets[1]
    assert torch.equal(y, x.mean(0))


def test_bags_of_vectors_and_of_signals_are_read_from_files(folder):
    values = np.random.default_rng(0).normal(size=(5, 4, 3)).astype(np.float32)
    for k in range(4):
        folder.array(f"{k}.npy", values[: k + 1])
    folder.labels("set,label 0,x 1.npy,y 2,x 3,y")  # with and without suffix
    sets = SetFolder(folder.root)
    assert (sets.kind, sets.sizes, sets.targets.tolist()) == ("signals", [1, 2, 3, 4], [0, 1, 0, 1])
    assert sets.card.element == {"channels": 4, "length": 3}
    assert np.array_equal(sets[2][0].numpy(), values[:3])
    card = sets.card
    for k in range(4):
        folder.array(f"{k}.npy", values[: k + 1, :, 0])
    assert SetFolder(folder.root).kind == "vectors"
    with pytest.raises(ValueError, match=r"0.npy must hold a set \(N, C, L\), got shape \(1, 4\)"):
        SetFolder(folder.root, like=card)


def test_sets_of_clouds_differ_in_points(folder):
    for k, name in enumerate("ab"):
        for j in range(2):
            folder.array(f"{name}/{j}.npy", np.full((k + j + 1, 3), k))
    folder.labels("set,weight a,1.5 b,2.5")
    sets = SetFolder(folder.root)
    assert (sets.kind, sets.sizes, sets.card.element) == ("clouds", [2, 2], {"channels": 3})
    x, _ = sets[1]
    assert isinstance(x, RaggedSets)
    assert x.sizes.tolist() == [2, 3]
    x, y = collate([sets[0], sets[1]])
    assert x.sizes.tolist() == [2, 2]
    assert x.elements.sizes.tolist() == [1, 2, 2, 3]
    assert y.shape == (2, 1)
    (folder.root / "labels.csv").unlink()
    assert SetFolder(folder.root, kind="clouds").names == ["a", "b"]
    assert SetFolder(folder.root, kind="vectors").names == ["a/0", "a/1", "b/0", "b/1"]


def test_splits_share_no_set_and_keep_the_classes(folder):
    folder.sets(*(f"{name}/{k}" for name in "abc" for k in range(20)), sizes=(1,))
    sets = SetFolder(folder.root, size=8)
    train, val, test = sets.split()
    assert sorted([*train.names, *val.names, *test.names]) == sets.names
    assert [len(part) for part in (train, val, test)] == [42, 9, 9]
    for part, num in ((train, 14), (val, 3), (test, 3)):
        assert part.targets.bincount().tolist() == [num] * 3
    assert val.card == sets.card
    again, other = sets.split()[1], sets.split(seed=1)[1]
    assert again.names == val.names != other.names
    assert [len(part) for part in sets.split((0.5, 0.5, 0))] == [30, 30, 0]
    assert torch.equal(val[0][0], sets[sets.names.index(val.names[0])][0])


def test_numbers_are_spread_evenly_over_the_splits(folder):
    names = [f"s{k:02}" for k in range(60)]
    folder.sets(*names, sizes=(1,))
    folder.labels("set,age " + " ".join(f"{name},{k}.5" for k, name in enumerate(names)))
    for part in SetFolder(folder.root, size=8).split():
        fifths = torch.bucketize(
            part.targets.flatten(), torch.tensor([12.0, 24, 36, 48])
        ).bincount()
        assert fifths.max() - fifths.min() <= 1


def test_folders_or_a_column_choose_the_splits(folder, tmp_path):
    folder.sets(*(f"{split}/{name}/s" for split in ("train", "val", "test") for name in "ab"))
    sets = SetFolder(folder.root)
    assert "splits: 2 train, 2 val, 2 test" in repr(sets)
    assert [part.names for part in sets.split(seed=3)] == [
        ["train/a/s", "train/b/s"],
        ["val/a/s", "val/b/s"],
        ["test/a/s", "test/b/s"],
    ]
    folder.root = tmp_path / "column"
    folder.sets("a", "b", "c", "d")
    folder.labels("set,label,split a,x,test b,y,train c,x,validation d,y,train")
    parts = SetFolder(folder.root).split()
    assert [part.names for part in parts] == [["b", "d"], ["c"], ["a"]]
    folder.labels("set,label,split a,x,val b,y,train c,x,train d,y,train")
    train, val, test = SetFolder(folder.root).split()  # what is not for training is the test
    assert test.names == ["a"]
    assert (len(train), len(val)) == (2, 1)


def test_folders_of_splits_have_their_tables_or_one_above_them(folder):
    folder.sets("train/a", "train/b", "test/a", "test/c")
    folder.labels("set,label a,x b,y", "train/labels.csv")
    folder.labels("set,label a,y c,x", "test/labels.csv")
    sets = SetFolder(folder.root)
    assert dict(zip(sets.names, sets.targets.tolist(), strict=True)) == {
        "train/a": 0, "train/b": 1, "test/a": 1, "test/c": 0,
    }  # fmt: skip
    for split in ("train", "test"):
        (folder.root / split / "labels.csv").unlink()
    folder.labels("set,label train/a,x b,y test/a,y c,x")
    assert SetFolder(folder.root).targets.tolist() == sets.targets.tolist()


def test_arguments_that_are_none_of_the_choices_are_named(folder):
    folder.sets("a", "b")
    with pytest.raises(ValueError, match=r"task must be one of \['classify'"):
        SetFolder(folder.root, task="guess")
    with pytest.raises(ValueError, match=r"kind must be one of \['pictures'"):
        SetFolder(folder.root, kind="graphs")
    with pytest.raises(ValueError, match="resize must be one of"):
        SetFolder(folder.root, resize="fit")
    with pytest.raises(ValueError, match=r"channels must be one of \[1, 3\], got 4"):
        SetFolder(folder.root, channels=4)
    with pytest.raises(ValueError, match="size must be at least 1, got 0"):
        SetFolder(folder.root, size=0)
    with pytest.raises(ValueError, match="size must be one number or two, got '64'"):
        SetFolder(folder.root, size="64")
    with pytest.raises(ValueError, match="size must be one number or two"):
        SetFolder(folder.root, size=(1, 2, 3))
    with pytest.raises(TypeError, match="like must be a Card, got dict"):
        SetFolder(folder.root, like={})
    sets = SetFolder(folder.root)
    with pytest.raises(IndexError):
        sets.subset([2])
    with pytest.raises(ValueError, match="fractions must be three shares that sum to 1"):
        sets.split((0.5, 0.1, 0.1))
    with pytest.raises(ValueError, match="sets must be at least 3 to be split, got 2"):
        sets.split()


def test_new_sets_to_be_merged_need_no_target(folder, tmp_path):
    folder.sets("a", "b")
    for name in "ab":
        folder.paint(f"{name}/target.png")
    card = SetFolder(folder.root).card
    folder.root = tmp_path / "new"
    folder.sets("a")
    sets = SetFolder(folder.root, like=card)
    assert (sets.task, sets[0][1]) == ("merge", None)
    assert "merge; no labels" in repr(sets)


def test_a_cache_that_is_gone_is_made_again(folder):
    folder.sets("a", "b")
    sets = SetFolder(folder.root, cache=True)
    x, stored = sets[1][0], pickle.dumps(sets)
    del sets
    assert torch.equal(pickle.loads(stored)[1][0], x)


def test_a_failure_is_not_kept_in_the_cache(folder):
    folder.sets("a", "b", sizes=(2,))
    sets = SetFolder(folder.root, cache=True)
    path = folder.root / "a" / "0.png"
    content = path.read_bytes()
    path.unlink()
    stored = pickle.dumps(sets)
    assert len(sets[0][0]) == 1
    path.write_bytes(content)
    assert pickle.loads(stored)[0][0][0].any()  # a process that has not seen the failure


@pytest.mark.slow
def test_workers_that_are_started_anew_share_what_they_find(folder):
    folder.sets("a", "b", sizes=(2,))
    sets = SetFolder(folder.root, cache=True)
    (folder.root / "b" / "1.png").unlink()
    loader = DataLoader(sets, num_workers=1, multiprocessing_context="spawn", collate_fn=collate)
    assert [x.shape[1] for x, _ in loader] == [2, 1]
    assert sets.sizes == [2, 1]

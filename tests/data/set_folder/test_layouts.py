from symsets.data import looks_like_sets


def test_folders_look_like_sets_if_labels_classes_or_targets_say_so(folder, tmp_path):
    assert not looks_like_sets(folder.root)  # it is not there
    folder.sets("a", "b")
    assert not looks_like_sets(folder.root)  # albums, or classes of single pictures
    folder.labels("set,label a,x b,y")
    assert looks_like_sets(folder.root)
    folder.root = tmp_path / "classes"
    folder.sets("train/cat/a", "train/cat/b", "test/dog/a")
    assert looks_like_sets(folder.root)
    assert looks_like_sets(folder.root / "train")
    assert not looks_like_sets(folder.root / "train" / "cat")
    folder.root = tmp_path / "merge"
    folder.sets("a", "b")
    folder.paint("a/target.png")
    assert not looks_like_sets(folder.root)
    folder.paint("b/target.png")
    assert looks_like_sets(folder.root)


def test_single_pictures_and_labels_of_these_are_no_sets(folder):
    for k in range(3):
        folder.paint(f"{k}.png")
    folder.labels("file,label 0.png,x")
    assert not looks_like_sets(folder.root)


def test_pictures_in_folders_of_splits_are_no_sets(folder):
    folder.sets("train/cat", "test/cat", "train/dog")
    assert not looks_like_sets(folder.root)

import pytest
from video_files import write_video

from symsets.data import MissingDataError
from symsets.data.published import celeba, imagenet, places365, ucf101
from symsets.data.splits import SPLITS
from symsets.experiments.frames.sets import FrameSets

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")


def jpeg(path, grey=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (48, 40), (grey, grey, grey)).save(path)


def names(source):
    return {split: {path.name for path in source.files[split]} for split in SPLITS}


def places_tree(root, train="data_256", val="val_256"):
    """Thirty classes with 10 pictures each, but 12 in the last five, and 3 for validation."""
    train_lines, val_lines = [], []
    for label in range(30):
        letter = "abc"[label // 10]
        for i in range(1, (12 if label >= 25 else 10) + 1):
            name = f"/{letter}/class{label:02}/{i:08}.jpg"
            train_lines.append(f"{name} {label}")
            jpeg(root / f"{train}{name}")
        for i in range(3):
            name = f"Places365_val_{3 * label + i:08}.jpg"
            val_lines.append(f"{name} {label}")
            jpeg(root / val / name)
    (root / "places365_train_standard.txt").write_text("\n".join(train_lines) + "\n")
    (root / "places365_val.txt").write_text("\n".join(val_lines) + "\n")


@pytest.mark.parametrize("folders", [("data_256", "val_256"), ("data_large", "val_large")])
def test_places365_takes_the_largest_classes(tmp_path, folders):
    places_tree(tmp_path, *folders)
    source = places365(tmp_path, size=32)
    assert source.name == "Places365 (25 classes)"
    kept = {path.parent.name for split in ("train", "val") for path in source.files[split]}
    # the five large ones, and by the alphabet the first twenty of the others
    assert kept == {f"class{i:02}" for i in [*range(20), *range(25, 30)]}
    assert len(source.files["train"]) + len(source.files["val"]) == 20 * 10 + 5 * 12
    assert not set(source.files["train"]) & set(source.files["val"])
    labels = {int(path.stem.rpartition("_")[2]) // 3 for path in source.files["test"]}
    assert labels == {*range(20), *range(25, 30)}
    assert len(source.files["test"]) == 75
    assert source.images("test", 5).shape == (5, 3, 32, 32)
    assert source.images("train", 5).shape == (5, 3, 32, 32)


def test_places365_with_a_folder_per_class(tmp_path):
    for part in ("train", "val"):
        for name in ("airfield", "beach"):
            for i in range(6):
                jpeg(tmp_path / part / name / f"{part}{i}.jpg")
    source = places365(tmp_path, size=32, num_classes=None)
    assert {len(source.images(split)) for split in ("train", "val")} <= set(range(1, 12))
    assert all(path.parts[-3] == "val" for path in source.files["test"])
    assert len(source.files["test"]) == 12


def test_a_listed_file_that_is_not_there_is_counted(tmp_path):
    places_tree(tmp_path)
    source = places365(tmp_path, size=32)
    source.files["val"][0].unlink()
    source.images("val")
    assert source.skipped == {"missing": 1}


@pytest.mark.parametrize("below", ["", "ILSVRC/Data/CLS-LOC"])
@pytest.mark.parametrize("sorted_val", [True, False])
def test_imagenet(tmp_path, below, sorted_val):
    root = tmp_path / below
    for synset in ("n01440764", "n01443537"):
        for i in range(10):
            jpeg(root / "train" / synset / f"{synset}_{i}.JPEG")
        for i in range(3):
            name = f"ILSVRC2012_val_{i:08}_{synset}.JPEG"
            jpeg(root / "val" / (f"{synset}/{name}" if sorted_val else name))
    source = imagenet(tmp_path, size=32)
    assert source.name == "ImageNet"
    assert len(source.files["train"]) + len(source.files["val"]) == 20
    assert all("_val_" in name for name in names(source)["test"])
    assert source.images("test").shape == (6, 3, 32, 32)
    assert source.skipped.total() == 0


@pytest.mark.parametrize(("img", "lists"), [("", ""), ("Img/", "Eval/")])
def test_celeba_has_the_official_split(tmp_path, img, lists):
    lines = []
    for i in range(1, 13):
        jpeg(tmp_path / f"{img}img_align_celeba" / f"{i:06}.jpg", 10 * i)
        lines.append(f"{i:06}.jpg {0 if i < 7 else 1 if i < 10 else 2}")
    (tmp_path / lists).mkdir(exist_ok=True)
    (tmp_path / lists / "list_eval_partition.txt").write_text("\n".join(lines) + "\n")
    source = celeba(tmp_path, size=32)
    shades = {s: sorted(source.images(s)[:, 0, 9, 9].tolist()) for s in SPLITS}
    assert shades == {
        "train": [10, 20, 30, 40, 50, 60],
        "val": [70, 80, 90],
        "test": [100, 110, 120],
    }


def ucf_tree(root, groups=12, frames=20):
    train, test = [], []
    for label, name in enumerate(["ApplyEyeMakeup", "Archery"], start=1):
        for g in range(1, groups + 1):
            for c in (1, 2):
                file = f"{name}/v_{name}_g{g:02}_c{c:02}.avi"
                write_video(root / "UCF-101" / file, [100] * frames)
                (test.append(file) if g <= 3 else train.append(f"{file} {label}"))
    lists = root / "ucfTrainTestlist"
    lists.mkdir()
    (lists / "classInd.txt").write_text("1 ApplyEyeMakeup\n2 Archery\n")
    (lists / "trainlist01.txt").write_text("\r\n".join(train) + "\r\n")
    (lists / "testlist01.txt").write_text("\r\n".join(test) + "\r\n")


def test_ucf101_has_its_official_split_and_keeps_groups_together(tmp_path):
    ucf_tree(tmp_path)
    source = ucf101(tmp_path, size=16)
    groups = {
        split: {name.rpartition("_")[0] for name, _ in source.files[split]} for split in SPLITS
    }
    assert groups["test"] == {
        f"{name}/v_{name}_g0{g}" for name in ("ApplyEyeMakeup", "Archery") for g in (1, 2, 3)
    }
    assert groups["val"]
    assert not groups["val"] & groups["train"]
    assert len(groups["val"] | groups["train"]) == 18
    clips = source.clips("test")
    assert sorted(set(clips.sources)) == ["ApplyEyeMakeup", "Archery"]
    assert len(clips.names) == 12
    assert set(clips.lengths.tolist()) == {10}  # every second of 20 frames
    assert source.name == "UCF101"


def test_a_listed_video_that_is_not_there_is_counted(tmp_path):
    ucf_tree(tmp_path, groups=5)
    source = ucf101(tmp_path, size=16)
    source.files["test"][0][1].unlink()
    assert len(source.clips("test").names) == 11
    assert source.skipped == {"missing": 1}


def test_a_broken_list_names_its_line(tmp_path):
    (tmp_path / "img_align_celeba").mkdir()
    (tmp_path / "list_eval_partition.txt").write_text("000001.jpg 0\n\n000002.jpg\n")
    with pytest.raises(ValueError, match=r"line 3: must have 2 words, got '000002.jpg'"):
        celeba(tmp_path)


def test_a_list_that_is_no_text_is_named(tmp_path):
    (tmp_path / "img_align_celeba").mkdir()
    (tmp_path / "list_eval_partition.txt").write_bytes(b"\xff\xfe0\x001\x00")
    with pytest.raises(ValueError, match=r"list_eval_partition\.txt must be a text file: .*utf-8"):
        celeba(tmp_path)


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        (places365, r"places365_train_standard\.txt.*data_256/.*val_256/.*places2\.csail\.mit"),
        (imagenet, r"train/ with a folder nXXXXXXXX.*ILSVRC2012_img_train\.tar.*image-net\.org"),
        (celeba, r"img_align_celeba/ and list_eval_partition\.txt.*mmlab\.ie\.cuhk"),
        (ucf101, r"UCF-101/ with a folder.*trainlist01\.txt and testlist01\.txt.*crcv\.ucf\.edu"),
    ],
)
def test_a_missing_dataset_says_what_was_expected(tmp_path, dataset, expected):
    with pytest.raises(MissingDataError, match=expected):
        dataset(tmp_path)


def test_one_dataset_is_not_taken_for_another(tmp_path):
    jpeg(tmp_path / "train" / "n01440764" / "a.JPEG")
    jpeg(tmp_path / "val" / "b.JPEG")
    with pytest.raises(MissingDataError, match="Places365"):
        places365(tmp_path)


def test_sets_of_ucf101_start_anywhere_in_a_video(tmp_path):
    ucf_tree(tmp_path, groups=4, frames=120)
    clips = ucf101(tmp_path, size=16).clips("test")
    assert set(clips.lengths.tolist()) == {60}  # every second frame of the whole video
    assert set(FrameSets(clips, 8, size=16).room.tolist()) == {53}  # frames to start with

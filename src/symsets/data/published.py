"""The paper's datasets of pictures and videos, in the layouts in which they are published.

Each is opened from the folder with the files that ``…_NEEDS`` names; ``size`` is the height and
width of its pictures or frames.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from symsets._checks import as_path
from symsets.data.folders import (
    MissingDataError,
    all_existing,
    files_below,
    first_existing,
    read_list,
)
from symsets.data.images import ImageFiles
from symsets.data.splits import SPLITS, shuffled, split_by_hash
from symsets.data.videos import VideoFiles

PLACES365_NEEDS = (
    "Places365-Standard needs places365_train_standard.txt, places365_val.txt, data_256/ (or "
    "data_large/) and val_256/ (or val_large/), or train/ and val/ with a folder per class; "
    "get train_256_places365standard.tar, val_256.tar and filelist_places365-standard.tar from "
    "places2.csail.mit.edu/download.html and unpack them there"
)
IMAGENET_NEEDS = (
    "ImageNet needs train/ with a folder nXXXXXXXX of .JPEG files per class, and val/; get "
    "ILSVRC2012_img_train.tar and ILSVRC2012_img_val.tar from image-net.org (after registration) "
    "and unpack them there, and each class archive of train into a folder of its own"
)
CELEBA_NEEDS = (
    "CelebA needs img_align_celeba/ and list_eval_partition.txt; get img_align_celeba.zip and "
    "list_eval_partition.txt from mmlab.ie.cuhk.edu.hk/projects/CelebA.html and unpack them there"
)
UCF101_NEEDS = (
    "UCF101 needs UCF-101/ with a folder of .avi files per class, and ucfTrainTestlist/ with "
    "trainlist01.txt and testlist01.txt; get UCF101.rar and "
    "UCF101TrainTestSplits-RecognitionTask.zip from crcv.ucf.edu/data/UCF101.php and unpack them "
    "there"
)
PLACES_LISTS = ("places365_train_standard.txt", "places365_val.txt")
JPEG = (".jpg", ".jpeg")
FPS = 12.5  # frames of UCF101 to take in a second: every other one


def find_places365(root: Path) -> list[Path]:
    """Return two lists and the folders of their files, or two folders by class; else nothing."""
    listed = all_existing(
        root,
        *([name, f"filelist_places365-standard/{name}"] for name in PLACES_LISTS),
        ["data_256", "data_256_standard", "data_large", "data_large_standard"],
        ["val_256", "val_large"],
    )
    return listed or all_existing(root, ["train/airfield"], ["val/airfield"])


def find_imagenet(root: Path) -> list[Path]:
    """Return the folders for training and validation, or nothing."""
    inner = first_existing(root, "ILSVRC/Data/CLS-LOC", "Data/CLS-LOC") or root
    both = all_existing(inner, ["train"], ["val"])
    return both if both and any(_is_synset(path.name) for path in both[0].iterdir()) else []


def find_celeba(root: Path) -> list[Path]:
    """Return the folder of faces and the list of splits, or nothing."""
    faces, partition = "img_align_celeba", "list_eval_partition.txt"
    return all_existing(root, [faces, f"Img/{faces}"], [partition, f"Eval/{partition}"])


def find_ucf101(root: Path) -> list[Path]:
    """Return the folder of videos and the two lists of the first split, or nothing."""
    lists = ("trainlist01.txt", "testlist01.txt")
    return all_existing(root, ["UCF-101"], *([f"ucfTrainTestlist/{x}", x] for x in lists))


def places365(
    root: str | os.PathLike[str], *, size: int = 80, num_classes: int | None = 25
) -> ImageFiles:
    """Open Places365-Standard: training and validation from its train split, test from its val.

    The paper takes the 25 classes with the most training pictures. Many classes have 5,000, the
    most there are, so ties are broken by the alphabet. If ``num_classes`` is None, all are used.
    """
    root = as_path("root", root)
    if not (paths := find_places365(root)):
        raise MissingDataError(f"{root}: {PLACES365_NEEDS}")
    train, test = _listed_classes(*paths) if len(paths) == 4 else _class_folders(root)
    largest = sorted(Counter(train.values()).items(), key=lambda item: (-item[1], item[0]))
    kept = {label for label, _ in largest[:num_classes]}
    splits = split_by_hash((name for name, c in train.items() if c in kept), test=0)
    splits["test"] = shuffled(name for name, c in test.items() if c in kept)
    name = "Places365" if num_classes is None else f"Places365 ({len(kept)} classes)"
    return _image_files(name, root, splits, size)


def imagenet(root: str | os.PathLike[str], *, size: int = 160) -> ImageFiles:
    """Open ILSVRC2012: training and validation from its train split, test from its val split.

    The folder has ``train/`` and ``val/``, or ``ILSVRC/Data/CLS-LOC/`` with both.
    """
    root = as_path("root", root)
    if not (paths := find_imagenet(root)):
        raise MissingDataError(f"{root}: {IMAGENET_NEEDS}")
    inner = paths[0].parent
    train, val = _class_folders(inner)
    splits = split_by_hash((name for name, c in train.items() if _is_synset(c)), test=0)
    splits["test"] = shuffled(val)
    return _image_files("ImageNet", inner, splits, size)


def celeba(root: str | os.PathLike[str], *, size: int = 80) -> ImageFiles:
    """Open CelebA's aligned faces with the official split.

    The folder has ``img_align_celeba/`` and ``list_eval_partition.txt``, perhaps in the subfolders
    ``Img/`` and ``Eval/`` as on the project's drive.
    """
    root = as_path("root", root)
    if not (paths := find_celeba(root)):
        raise MissingDataError(f"{root}: {CELEBA_NEEDS}")
    faces, partition = paths
    lines = read_list(partition, 2)  # lines: "000001.jpg 0"
    splits = {
        split: shuffled(words[0] for words in lines if words[1] == str(i))
        for i, split in enumerate(SPLITS)
    }
    return _image_files("CelebA", faces, splits, size)


def ucf101(root: str | os.PathLike[str], *, size: int = 80) -> VideoFiles:
    """Open UCF101 with the first of its official splits; the source of a clip is its class.

    Validation takes a tenth of the groups of the training list: the clips of a group show the
    same people in the same place, so they stay together. Clips are whole videos, so that sets
    start anywhere in them (about 1.7 MB a video at 80 px).
    """
    root = as_path("root", root)
    if not (paths := find_ucf101(root)):
        raise MissingDataError(f"{root}: {UCF101_NEEDS}")
    videos, train, test = paths
    # lines: "ApplyEyeMakeup/v_ApplyEyeMakeup_g08_c01.avi 1", in the test list without the number
    splits = split_by_hash(
        (words[0] for words in read_list(train, 1)),
        test=0,
        group=lambda name: name.rsplit("_", 1)[0],
    )
    splits["test"] = shuffled(words[0] for words in read_list(test, 1))
    files = {split: [(name, videos / name) for name in splits[split]] for split in SPLITS}
    return VideoFiles("UCF101", files, root=root, size=size, fps=FPS, max_frames=None)


def _listed_classes(
    train_list: Path, val_list: Path, train: Path, val: Path
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the class of every training and validation file, from the published lists."""
    # lines: "/a/airfield/00000001.jpg 0" and "Places365_val_00000001.jpg 165"
    lines = read_list(train_list, 2)
    labels = {label: name.rpartition("/")[0] for name, label in lines}
    return (
        {f"{train.name}/{name.lstrip('/')}": labels[label] for name, label in lines},
        {f"{val.name}/{name}": labels.get(label, "") for name, label in read_list(val_list, 2)},
    )


def _class_folders(root: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the class of every file in ``train/<class>/`` and ``val/<class>/``."""
    train, val = (
        {f"{part}/{name}": name.rpartition("/")[0] for name in files_below(root / part, JPEG)}
        for part in ("train", "val")
    )
    return train, val


def _is_synset(name: str) -> bool:
    return len(name) == 9 and name[0] == "n" and name[1:].isdigit()


def _image_files(name: str, root: Path, splits: dict[str, list[str]], size: int) -> ImageFiles:
    files = {split: [root / below for below in splits[split]] for split in SPLITS}
    return ImageFiles(name, files, size=size, root=root)

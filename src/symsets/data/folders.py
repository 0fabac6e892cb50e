"""Folders of files: what lies below them, and where a dataset may be."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NoReturn

from symsets._files import read_bytes
from symsets.data.splits import SPLITS, shuffled, split_by_hash

STUDY = "study.json"  # a folder that holds it is a study: its pictures are figures, not data


class MissingDataError(FileNotFoundError):
    """A dataset is not where it was looked for; the message says what was expected."""


def checked_folder(root: Path) -> Path:
    """Return ``root``, or raise ValueError if it is no folder."""
    if not root.is_dir():
        found = "is a file" if root.exists() else "does not exist"
        raise ValueError(f"{root} must be a folder, but it {found}")
    return root


def files_below(root: Path, suffixes: Iterable[str]) -> Iterator[str]:
    """Give the paths below ``root`` of all visible files with one of the suffixes.

    Links to folders are followed at the end, and no folder is entered twice. Studies below
    ``root`` are left out. A folder that may not be read is an error.
    """
    wanted, entered = tuple(suffixes), set()
    starts = [checked_folder(root)]  # and links that are found on the way
    walks = (os.walk(start, onerror=_unreadable) for start in starts)
    for folder, below, names in chain.from_iterable(walks):
        place = os.path.realpath(folder)
        if place in entered or (STUDY in names and Path(folder) != root):
            below.clear()
            continue
        entered.add(place)
        below[:] = sorted(name for name in below if not name.startswith("."))
        starts += [path for name in below if (path := Path(folder, name)).is_symlink()]
        above = Path(folder).relative_to(root).as_posix()
        prefix = "" if above == "." else f"{above}/"
        for name in sorted(names):
            if not name.startswith(".") and name.lower().endswith(wanted):
                yield prefix + name


def _unreadable(error: OSError) -> NoReturn:
    raise ValueError(f"{error.filename} must be a folder that can be read: {error.strerror}")


def has_split_folders(root: Path) -> bool:
    """Tell whether a folder has subfolders for training and for the test, or for validation."""
    return (root / "train").is_dir() and any((root / split).is_dir() for split in SPLITS[1:])


def split_folder(root: Path, suffixes: Iterable[str]) -> dict[str, list[str]]:
    """Divide the files below a folder as :class:`~symsets.data.ImageFolder` says."""
    names = list(files_below(root, suffixes))
    if not names:
        kinds = " ".join(sorted(suffixes))
        raise ValueError(f"{root} must hold files that end in one of {kinds}, found none")
    if not has_split_folders(root):
        return split_by_hash(names)
    found = {
        split: shuffled(name for name in names if name.startswith(f"{split}/"))
        for split in SPLITS
        if (root / split).is_dir()
    }
    if len(found) < len(SPLITS):
        test = found.get("test", found.get("val", []))
        found = {**split_by_hash(found["train"], test=0), "test": test}
    return found


def first_existing(root: Path, *names: str) -> Path | None:
    """Return the first of the paths below ``root`` that exists."""
    return next((root / name for name in names if (root / name).exists()), None)


def all_existing(root: Path, *choices: Sequence[str]) -> list[Path]:
    """Return the first path that exists of each list of names; nothing if one has none."""
    found = [first_existing(root, *names) for names in choices]
    return [path for path in found if path] if all(found) else []


def read_list(path: Path, num_words: int) -> list[list[str]]:
    """Return the first words of every line of a list file that is not empty."""
    lines = []
    try:
        text = read_bytes(path).decode()
    except ValueError as error:
        raise ValueError(f"{path} must be a text file: {error}") from error
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.split()[:num_words]
        if words and len(words) < num_words:
            raise ValueError(f"{path}, line {number}: must have {num_words} words, got {line!r}")
        if words:
            lines.append(words)
    return lines

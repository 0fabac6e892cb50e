"""Which sets a folder holds, and in which layout; nothing is decoded here."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from symsets.data.folders import STUDY, checked_folder, has_split_folders
from symsets.data.images import IMAGE_SUFFIXES
from symsets.data.splits import SPLITS

LABELS = "labels.csv"
TARGET = "target"  # the name, without suffix, of the picture that a set is to be merged into
ARRAYS = (".npy", ".npz", ".csv", ".parquet", ".h5", ".hdf5")  # one file for a set
CLOUDS = (".npy", ".xyz", ".ply", ".off")  # one file for an element
SYSTEM = ("__MACOSX", "@eaDir", "$RECYCLE.BIN")  # folders that archives and servers add
MEDIA = frozenset({*IMAGE_SUFFIXES, *ARRAYS, *CLOUDS})


@dataclass(frozen=True)
class FoundSet:
    """One set on disk."""

    name: str  # its path below the root, without the suffix if it is a file
    files: tuple[str, ...]  # one for each element, or the one that holds the set
    whole: bool = False  # one file holds the set
    target: str | None = None  # the picture that the elements are to be merged into
    label: str | None = None  # the name of the folder of its class
    split: str | None = None  # the name of the folder of its split
    ignored: tuple[str, ...] = ()  # files beside the elements that are of an unknown kind


@dataclass(frozen=True)
class Listing:
    """What lies directly in a folder, without hidden entries and folders of the system."""

    path: Path
    folders: list[str]
    files: list[str]  # with a suffix that is known
    others: list[str]


def suffix_of(name: str) -> str:
    """Return the suffix of a path in small letters."""
    return os.path.splitext(name)[1].lower()


def list_folder(path: Path) -> Listing:
    """List a folder; raise ValueError if it cannot be read."""
    try:
        with os.scandir(path) as entries:
            found = sorted(
                (entry.name, entry.is_dir())
                for entry in entries
                if not entry.name.startswith(".") and entry.name not in SYSTEM
            )
    except OSError as error:
        raise ValueError(f"{path} must be a folder that can be read: {error.strerror}") from error
    files = [name for name, is_folder in found if not is_folder and name != LABELS]
    known = [name for name in files if suffix_of(name) in MEDIA]
    folders = [name for name, is_folder in found if is_folder]
    return Listing(path, folders, known, [name for name in files if name not in set(known)])


def find_sets(
    root: Path, *, kind: str | None = None, merge: bool = True, named: Collection[str] = ()
) -> list[FoundSet]:
    """Return the sets below a folder, sorted by name; raise ValueError unless it has one layout.

    ``kind`` is what elements are, if that was said; ``merge``, whether a picture called ``target``
    may be what a set is merged into. ``named``, sets that a table of labels names, tells a set of
    clouds, ``set/1.npy``, from a class of sets that are one file each, ``class/1.npy``.
    """
    if not has_split_folders(checked_folder(root)):
        sets = _sets_of(root, "", kind, merge, named)
    else:
        others = [name for name in list_folder(root).folders if name not in SPLITS]
        if extra := [
            n for n in others for *_, names in os.walk(root / n) if MEDIA & {*map(suffix_of, names)}
        ]:
            raise ValueError(f"{root / extra[0]} must lie in train, val or test, as others do")
        parts = [split for split in SPLITS if (root / split).is_dir()]
        sets = [
            replace(one, split=split)
            for split in parts
            for one in _sets_of(root / split, f"{split}/", kind, merge, named)
        ]
    if not sets:
        raise ValueError(
            f"{root} must hold a folder or a file for each set, found none: expected "
            "set/*.jpg, class/set/*.jpg, or set.npy (.npz .csv .parquet .h5)"
        )
    seen: dict[str, FoundSet] = {}
    for one in sets:
        if (other := seen.setdefault(one.name, one)) is not one:
            raise ValueError(f"{one.files[0]} must not be called like {other.files[0]}")
    levels = {(one.whole, one.label is not None): one for one in sets}
    if len(levels) > 1:
        wrong = [one.files[0] if one.whole else f"{one.name}/" for one in levels.values()]
        raise _mixed(root, *wrong[:2])
    return sets


def _mixed(folder: Path, one: str, other: str) -> ValueError:
    return ValueError(f"{folder} must have one layout, found several: {one} and {other}")


def _sets_of(
    root: Path, prefix: str, kind: str | None, merge: bool, named: Collection[str]
) -> list[FoundSet]:
    """Return the sets of a folder without folders for splits."""
    levels = _levels(root)
    full = [k for k, level in enumerate(levels) if any(listing.files for listing in level)]
    if len(full) > 1:
        one, other = (next(li for li in levels[k] if li.files) for k in full[:2])
        raise _mixed(root, *(str((li.path / li.files[0]).relative_to(root)) for li in (one, other)))
    if full == [0]:
        return _whole(levels[0][0], prefix)
    if full == [2]:
        return [
            _one(listing, f"{prefix}{label}/{listing.path.name}", merge, label)
            for listing in levels[2]
            if (label := listing.path.parent.name)
        ]
    leaves = levels[1]
    if _are_classes(leaves, prefix, kind, named):
        return [
            one
            for listing in leaves
            for one in _whole(listing, f"{prefix}{listing.path.name}/", listing.path.name)
        ]
    return [_one(listing, f"{prefix}{listing.path.name}", merge) for listing in leaves]


def _levels(root: Path) -> list[list[Listing]]:
    """List a folder, the folders in it, and those in them; folders of studies are left out."""
    levels = [[list_folder(root)]]
    for _ in range(2):
        below = [list_folder(above.path / n) for above in levels[-1] for n in above.folders]
        levels.append([listing for listing in below if STUDY not in listing.others])
    if deeper := next((listing for listing in levels[2] if listing.folders), None):
        raise ValueError(
            f"{deeper.path} must be a set and hold files only, found the folder "
            f"{deeper.folders[0]}/ in it: layouts are set/*.jpg and class/set/*.jpg"
        )
    return levels


def _are_classes(
    leaves: Iterable[Listing], prefix: str, kind: str | None, named: Collection[str]
) -> bool:
    """Whether folders are classes of sets that are one file each, and not sets of clouds."""
    suffixes = {suffix_of(name) for listing in leaves for name in listing.files}
    if not suffixes & set(ARRAYS) or suffixes & IMAGE_SUFFIXES or kind == "clouds":
        return False
    names = {start + listing.path.name for listing in leaves for start in (prefix, "")}
    return suffixes - set(CLOUDS) != set() or not (suffixes - {".npy"} or names & set(named))


def _whole(listing: Listing, prefix: str, label: str | None = None) -> list[FoundSet]:
    """Return sets that are one file each."""
    for name in listing.files:
        if suffix_of(name) not in ARRAYS:
            raise ValueError(
                f"{listing.path / name} must lie in a folder that is a set, as in "
                f"set/{name}: one file for each set may be {' '.join(ARRAYS)}"
            )
    return [
        FoundSet(prefix + Path(name).stem, (str(listing.path / name),), whole=True, label=label)
        for name in listing.files
    ]


def _one(listing: Listing, name: str, merge: bool, label: str | None = None) -> FoundSet:
    """Return a set that is a folder."""
    path, files = listing.path, listing.files
    pictures = [file for file in files if suffix_of(file) in IMAGE_SUFFIXES]
    others = [file for file in files if suffix_of(file) not in IMAGE_SUFFIXES]
    if pictures and others:
        raise _mixed(path, pictures[0], others[0])
    if wrong := [file for file in others if suffix_of(file) not in CLOUDS]:
        raise ValueError(f"{path / wrong[0]} must be a picture, or a cloud in {CLOUDS}")
    targets = [file for file in pictures if merge and Path(file).stem.lower() == TARGET]
    if len(targets) > 1:
        raise ValueError(f"{path} must hold one target, found {targets[0]} and {targets[1]}")
    return FoundSet(
        name,
        tuple(str(path / file) for file in files if file not in targets),
        target=str(path / targets[0]) if targets else None,
        label=label,
        ignored=tuple(str(path / file) for file in listing.others),
    )


def looks_like_sets(root: str | os.PathLike[str]) -> bool:
    """Tell whether the subfolders of a folder look like sets of pictures.

    They do if a table ``labels.csv`` lies beside them, if they lie in folders of their own
    (``class/set/*.jpg``), or if each holds a ``target`` beside its pictures. Folders of single
    pictures by class or by album do not. No file is opened.

    Example:
        >>> import tempfile
        >>> root = Path(tempfile.mkdtemp())
        >>> for name in ("a", "b"):
        ...     (root / "cats" / name).mkdir(parents=True)
        ...     _ = (root / "cats" / name / "1.jpg").write_bytes(b"")
        >>> looks_like_sets(root), looks_like_sets(root / "cats")
        (True, False)
    """
    places = [Path(root, *below, LABELS) for below in ((), SPLITS[:1])]
    try:
        sets = find_sets(Path(root))
    except ValueError:
        return False
    pictures = any(suffix_of(file) in IMAGE_SUFFIXES for one in sets for file in one.files)
    said = any(path.is_file() for path in places) or all(one.label or one.target for one in sets)
    return len(sets) > 1 and pictures and said

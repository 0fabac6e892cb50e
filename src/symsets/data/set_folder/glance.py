"""Whether a folder looks like one of sets, at a glance."""

from __future__ import annotations

import os
from pathlib import Path

from symsets.data.folders import has_split_folders
from symsets.data.images import IMAGE_SUFFIXES
from symsets.data.set_folder.layouts import LABELS, TARGET, Listing, list_folder
from symsets.data.splits import SPLITS


def looks_like_sets(root: str | os.PathLike[str]) -> bool:
    """Tell whether the subfolders of a folder look like sets of pictures.

    They do if a table ``labels.csv`` lies beside them, if they lie in folders of their own
    (``class/set/*.jpg``), or if each holds a ``target`` beside its pictures. Folders of single
    pictures by class or by album do not. A few folders are looked at, and no file is opened.

    Example:
        >>> import tempfile
        >>> root = Path(tempfile.mkdtemp())
        >>> for name in ("a", "b"):
        ...     (root / "cats" / name).mkdir(parents=True)
        ...     _ = (root / "cats" / name / "1.jpg").write_bytes(b"")
        >>> looks_like_sets(root), looks_like_sets(root / "cats")
        (True, False)
    """
    root = Path(root)
    try:
        starts = [root / split for split in SPLITS[:1]] if has_split_folders(root) else [root]
        return any(_like_sets(start, root) for start in starts)
    except (OSError, ValueError):
        return False


def _like_sets(start: Path, root: Path) -> bool:
    top = list_folder(start)
    below = [list_folder(start / name) for name in top.folders[:8]]
    filled = [listing for listing in below if _pictures(listing)]
    if (start / LABELS).is_file() or (root / LABELS).is_file():
        return bool(filled)
    if filled:
        stems = [{os.path.splitext(n)[0].lower() for n in listing.files} for listing in filled]
        return all(TARGET in names for names in stems)
    leaves = [list_folder(listing.path / name) for listing in below for name in listing.folders[:8]]
    return len([leaf for leaf in leaves if _pictures(leaf) and not leaf.folders]) > 1


def _pictures(listing: Listing) -> bool:
    return bool(listing.suffixes & IMAGE_SUFFIXES)

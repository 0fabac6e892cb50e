"""Read arrays of an ``.npz`` file without trusting it."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from symsets._files import check_claim, check_regular, named_errors

Content = dict[str, np.ndarray[Any, np.dtype[Any]]]
Kinds = Mapping[str, tuple[str, int, str]]
"""For names of arrays: allowed ``dtype.kind``, number of axes, and both in words for messages."""


def array_names(path: Path) -> set[str]:
    """Return the names of the arrays in a file, none if it is no ``.npz``; reads no content."""
    if not path.is_file():  # a pipe would block
        return set()
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist()}
    except Exception:  # malformed files make it raise nearly anything
        return set()


def read_arrays(path: Path, kinds: Kinds, names: Collection[str]) -> Content:
    """Return those arrays of some names that a file has; nothing is executed from it.

    Raise ValueError if the file cannot be read, or one of its arrays is not of its kind.
    """
    with named_errors(path), warnings.catch_warnings():
        check_regular(path)
        warnings.simplefilter("ignore")  # numpy guesses what a damaged header may mean
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            check_claim(path, sum(member.file_size for member in archive.zip.infolist()))
            content = {key: archive[key] for key in archive.files if key in names}
    for key, (letters, ndim, what) in kinds.items():
        found = content.get(key)
        if found is not None and (found.dtype.kind not in letters or found.ndim != ndim):
            raise ValueError(f"{key} of {path} must be {what}, got {found.dtype} {found.shape}")
    return content

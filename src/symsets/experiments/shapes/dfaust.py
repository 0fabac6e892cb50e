"""Dynamic FAUST as it is published: registered scans of ten people in motion."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from symsets._extras import require
from symsets._files import check_claim, named_errors
from symsets.data.folders import MissingDataError
from symsets.data.splits import SPLITS, members, shuffled
from symsets.experiments.shapes.motions import Motions
from symsets.experiments.synthetic.generated import Device

FILES = ("registrations_m.hdf5", "registrations_f.hdf5")
DFAUST_NEEDS = (
    "Dynamic FAUST needs registrations_m.hdf5 and registrations_f.hdf5; get them from "
    "dfaust.is.tue.mpg.de (free for research, after registration)"
)
# The paper names no subjects and no activities. A man and a woman each for validation and test.
VAL_SUBJECTS, TEST_SUBJECTS = ("50009", "50022"), ("50026", "50025")
TEST_ACTIVITIES = ("jumping_jacks", "punching", "shake_hips", "one_leg_jump")


class DynamicFaust:
    """The sequences of Dynamic FAUST, 6,890 vertices at 60 frames in a second.

    Each file has a dataset ``(V, 3, T)`` for every sequence, named by subject and activity
    (``50002_chicken_wings``), and the triangles as ``faces``. Sequences are read when a split is
    asked for. The split is hard, see :func:`split_of`; who and what is held out is our choice, as
    the paper does not say. The path of a body, which may give the order of its frames away, is left
    in, as published.

    Args:
        root: The folder with ``registrations_m.hdf5`` and ``registrations_f.hdf5``, or one of
            them.

    Example:
        >>> DynamicFaust("no such folder")
        Traceback (most recent call last):
        symsets.data.folders.MissingDataError: no such folder: Dynamic FAUST needs ...
    """

    name = "Dynamic FAUST"
    skip = 5

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)
        paths = [self.root / name for name in FILES if (self.root / name).is_file()]
        if not paths:
            raise MissingDataError(f"{self.root}: {DFAUST_NEEDS}")
        self._path_of: dict[str, Path] = {}
        for path in paths:
            with _opened(path) as content:
                self.faces = torch.from_numpy(_read(path, content, "faces").astype("int64"))
                self._path_of |= {name: path for name in sorted(content) if name != "faces"}
        self.files = {s: [n for n in self._path_of if split_of(n) == s] for s in SPLITS}

    def motions(self, split: str, num: int | None = None, device: Device = "cpu") -> Motions:
        """Return the first ``num`` sequences of a split in a random but fixed order, or all."""
        names = shuffled(members(self.files, split, f"{self.root} has no motions"))[:num]
        sequences = []
        for name in names:
            with _opened(path := self._path_of[name]) as content:
                given = torch.from_numpy(_read(path, content, name)).float()  # (V, 3, L)
            sequences.append(given.permute(2, 1, 0).contiguous().to(device))
        with named_errors(self.root):
            return Motions.join(sequences, names, faces=self.faces)


def has_dfaust(root: Path) -> bool:
    """Tell whether the files of Dynamic FAUST are there."""
    return all((root / name).is_file() for name in FILES)


def split_of(name: str) -> str | None:
    """Return the split of a sequence, or None if it is in none.

    The test has unseen subjects in unseen activities, validation unseen subjects in the activities
    of training. What lies between (a subject of the test who does what training shows, or the other
    way round) is in no split, so nothing of the test is ever seen.

    Example:
        >>> [split_of(f"{who}_hips") for who in (50002, 50009)], split_of("50026_punching")
        (['train', 'val'], 'test')
        >>> split_of("50002_punching") is split_of("50026_hips") is None
        True
    """
    subject, _, activity = name.partition("_")
    unseen = activity in TEST_ACTIVITIES
    if (subject in TEST_SUBJECTS) != unseen:
        return None
    return "test" if unseen else "val" if subject in VAL_SUBJECTS else "train"


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a file; raise ValueError naming it for whatever is wrong in it."""
    h5py = require("h5py", "meshes")
    with named_errors(path, "cannot be read as HDF5"), h5py.File(path, "r") as content:
        yield content


def _read(path: Path, content: Any, name: str) -> Any:
    check_claim(path, content[name].nbytes)
    return content[name][()]

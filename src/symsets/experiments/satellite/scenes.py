"""Scenes of PROBA-V in the layout of ESA's challenge: many coarse pictures, one fine one."""

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from symsets._extras import require
from symsets._files import check_regular, shorten
from symsets.data.decoding import (
    MOST_PIXELS,
    TOO_LARGE,
    Skipped,
    UnusableError,
    in_threads,
    opened_image,
)
from symsets.data.folders import MissingDataError, checked_folder, read_list
from symsets.data.splits import shuffled

BANDS = ("RED", "NIR")
SCALE = 3  # a side of the fine picture has so many times the pixels
STEP = 16  # values of the challenge are multiples of it
FULL = 65_535
FORMATS = ("PNG",)
NORMS = "norm.csv"  # rows such as: imgset0000 52.35
VALIDATION = 16  # training scenes at most
NEEDS = (
    "a folder with train/RED/imgset0000/{LR000.png, QM000.png, …, HR.png, SM.png}, … as in ESA's "
    "challenge, and val/ for the test; get it at kelvins.esa.int/proba-v-super-resolution, or as "
    "RAMS divides it at github.com/EscVM/RAMS"
)


@dataclass(frozen=True, eq=False)
class Scene:
    """Pictures of one place, the clearest first.

    Attributes:
        name: Of its folder.
        low: ``(N, H, W)`` 16-bit values.
        clear: ``(N, H, W)``, where no cloud or shadow is.
        high: ``(3 H, 3 W)``, the truth.
        known: ``(3 H, 3 W)``, where it is clear.
    """

    name: str
    low: np.ndarray
    clear: np.ndarray
    high: np.ndarray
    known: np.ndarray


def has_scenes(root: Path) -> bool:
    """Whether a folder has scenes in the layout of the challenge."""
    return any(next((root / "train" / band).glob("imgset*"), None) for band in BANDS)


def carve(names: Iterable[str], split: str) -> list[str]:
    """Return the training scenes for ``"train"`` or ``"val"``, in a random but fixed order.

    Example:
        >>> names = [f"imgset{i:04d}" for i in range(400)]
        >>> len(carve(names, "train")), len(carve(names, "val"))
        (384, 16)
    """
    order = shuffled(names)
    num = max(1, min(VALIDATION, len(order) // 10))
    return order[:num] if split == "val" else order[num:]


def read_scene(folder: Path, *, most: int | None = None, truth: bool = True) -> Scene:
    """Read the folder of a scene; the clearest pictures come first, ties in the order of files.

    Args:
        folder: With ``LR000.png``, ``QM000.png``, …, ``HR.png`` and ``SM.png``.
        most: Keep so many pictures at most.
        truth: Whether there is one; else it is zero, and known nowhere.

    Raises:
        UnusableError: Something is missing or of another kind; the message names the scene.
    """
    try:
        return _read_scene(folder, most, truth)
    except UnusableError as error:
        raise UnusableError(f"{folder.name}: {error}") from error


def _read_scene(folder: Path, most: int | None, truth: bool) -> Scene:
    pictures = {path.stem[2:]: path for path in sorted(folder.glob("LR*.png"))}
    masks = {path.stem[2:]: path for path in sorted(folder.glob("QM*.png"))}
    if not pictures or pictures.keys() != masks.keys():
        raise UnusableError(f"{len(pictures)} pictures LR and {len(masks)} masks QM do not pair")
    low = _alike([_values(path) for path in pictures.values()])
    clear = _alike([_mask(path) for path in masks.values()])
    fine = (SCALE * low.shape[1], SCALE * low.shape[2])
    high, known = np.zeros(fine, np.uint16), np.zeros(fine, bool)
    if truth:
        if not (folder / "HR.png").is_file() or not (folder / "SM.png").is_file():
            raise UnusableError("no truth (HR.png and SM.png)")
        high, known = _values(folder / "HR.png"), _mask(folder / "SM.png")
    if clear.shape != low.shape or high.shape != fine or known.shape != fine:
        raise UnusableError(
            f"pictures of {low.shape[1:]} need masks of that size and a truth of {fine}, "
            f"got {clear.shape[1:]}, {high.shape} and {known.shape}"
        )
    if not clear.any() or (truth and not known.any()):
        raise UnusableError("no clear pixel")
    order = np.argsort(-clear.mean((1, 2)), kind="stable")[:most]
    return Scene(folder.name, low[order], clear[order], high, known)


def _alike(pictures: Sequence[np.ndarray]) -> np.ndarray:
    shapes = {picture.shape for picture in pictures}
    if len(shapes) > 1:
        raise UnusableError(f"pictures of different sizes {sorted(shapes)}")
    return np.stack(pictures)


def _values(path: Path) -> np.ndarray:
    values = _decoded(path)
    if values.dtype == np.uint8 or values.ndim != 2:
        raise UnusableError(f"{path.name} must be grey with 16 bits")
    return values.astype(np.uint16)


def _mask(path: Path) -> np.ndarray:
    values = _decoded(path)
    if values.ndim != 2:
        raise UnusableError(f"{path.name} must be black and white")
    return values > 0


def _decoded(path: Path) -> np.ndarray:
    image = require("PIL.Image", "images")
    try:
        check_regular(path)
        with image.open(path, formats=FORMATS) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise UnusableError(TOO_LARGE)
            return np.asarray(picture)
    except UnusableError:
        raise
    except Exception as error:  # the many decoders in Pillow raise nearly anything on bad input
        raise UnusableError(f"{path.name} cannot be read") from error


def read_norms(folder: Path) -> dict[str, float]:
    """Return what the challenge's baseline reaches by scene; nothing if a folder does not tell.

    The score of the challenge is the mean quotient of this cPSNR and that of a prediction: smaller
    is better, and 1 is as good as the baseline.
    """
    path = folder / NORMS
    found = {}
    for name, word in read_list(path, 2) if path.is_file() else ():
        found[name] = math.nan
        with suppress(ValueError):
            found[name] = float(word)
        if not 0 < found[name] < math.inf:
            raise ValueError(
                f"{path} must have rows of a scene and its cPSNR, got {shorten(f'{name} {word}')!r}"
            )
    return found


class SceneFiles:
    """Scenes of the challenge in three splits.

    The scenes of part ``val``, as RAMS divides them, are for the test alone; if there are none, a
    tenth of the training scenes is. Validation is carved out of the training scenes.

    Args:
        norms: The cPSNR of the challenge's baseline by scene, if a ``norm.csv`` tells it.
    """

    name = "PROBA-V"

    def __init__(self, norms: dict[str, float]) -> None:
        self.norms = norms

    def names_in(self, part: str, band: str) -> list[str]:
        """Return the scenes of a part, as the challenge divides them, in the order of names."""
        raise NotImplementedError

    def scenes(self, band: str, split: str, num: int) -> list[Scene]:
        """Return up to ``num`` scenes of a split, at least one."""
        raise NotImplementedError

    @property
    def bands(self) -> tuple[str, ...]:
        """Which bands there are."""
        return tuple(band for band in BANDS if self.names_in("train", band))

    def names(self, band: str, split: str) -> tuple[str, list[str]]:
        """Return the part that the scenes of a split lie in, and their names."""
        train, test = self.names_in("train", band), self.names_in("val", band)
        if test:
            return ("val", test) if split == "test" else ("train", carve(train, split))
        order = shuffled(train)
        num = max(1, len(order) // 10)
        return "train", order[:num] if split == "test" else carve(order[num:], split)


class SceneFolder(SceneFiles):
    """Scenes in the folders of ESA's challenge.

    Args:
        root: With ``train/RED/imgset0000/…`` below it.
        most: Pictures of a scene at most.

    Attributes:
        skipped: How many scenes were left out, and why.
    """

    def __init__(self, root: str | os.PathLike[str], *, most: int | None = None) -> None:
        self.root = checked_folder(Path(root))
        super().__init__(read_norms(self.root))
        self.most = most
        self.skipped = Skipped()
        self._shapes: dict[str, tuple[int, ...]] = {}
        if not self.bands:
            raise MissingDataError(f"{root} must be {NEEDS}")

    def names_in(self, part: str, band: str) -> list[str]:
        return sorted(path.name for path in (self.root / part / band).glob("imgset*"))

    def read(self, band: str, split: str, num: int | None = None) -> list[Scene]:
        """Read up to ``num`` usable scenes of a split; what cannot be used is counted."""
        part, names = self.names(band, split)
        folders = [self.root / part / band / name for name in names]
        usual = self._usual_shape(band)
        skipped = Skipped()

        def read(folder: Path) -> Scene:
            scene = read_scene(folder, most=self.most)
            if scene.high.shape != usual:
                shape, others = scene.low.shape[1:], tuple(side // SCALE for side in usual)
                raise UnusableError(f"{scene.name}: pictures of {shape}, others have {others}")
            return scene

        found = list(islice(in_threads(read, folders, skipped, block=16), num))
        for reason, times in skipped.items():  # a scene that is read again is no second one
            self.skipped[reason] = max(times, self.skipped[reason])
        return found

    def _usual_shape(self, band: str) -> tuple[int, ...]:
        """Return the height and width that most truths have; reads no pixels."""
        if band not in self._shapes:
            found: Counter[tuple[int, ...]] = Counter()
            for name in self.names_in("train", band):
                path = self.root / "train" / band / name / "HR.png"
                with suppress(UnusableError), opened_image(path) as truth:
                    found[truth.height, truth.width] += 1
            self._shapes[band] = max(found, key=lambda shape: found[shape], default=())
        return self._shapes[band]

    def scenes(self, band: str, split: str, num: int) -> list[Scene]:
        found = self.read(band, split, num)
        if not found:
            raise ValueError(f"{self.root} has no usable scene of {band} {split}: {self.skipped}")
        return found

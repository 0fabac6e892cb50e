"""A folder of sets to try the commands with: bags of handwritten digits."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from io import BytesIO
from pathlib import Path

from torch import Tensor

from symsets._extras import require
from symsets._files import below, check_place
from symsets.data.digits import digit_bags

NUMBERS = {"train": 4000, "val": 500, "test": 1000}
OURS = re.compile(r"(train|val|test)(/\d(/\d{4})?)?")  # what lies in a folder of the example


def write_digits(
    folder: str | os.PathLike[str],
    *,
    numbers: Mapping[str, int] = NUMBERS,
    watch: Callable[[], None] | None = None,
) -> Path:
    """Write bags of 2 to 12 digits in the layout ``split/class/set/*.png``, and return the folder.

    The class of a bag is its largest digit. A folder that is complete is left as it is,
    and one that holds anything else is refused.
    ``numbers`` says how many bags each split gets; ``watch`` is called after every bag.
    """
    root = Path(folder)
    _check_folder(root)
    for split, num in numbers.items():
        bags = digit_bags("largest", num=num, split=split)
        for k in range(num):
            x, y = bags[k]
            bag = below(root, split, str(int(y)), f"{k:04d}")
            if not bag.is_dir():  # it is renamed when all its pictures are there
                _write_bag(bag, x)
            if watch:
                watch()
    return root


def _check_folder(root: Path) -> None:
    """Raise ValueError unless a folder is new, or holds at most bags of the example."""
    check_place("folder", root)
    for pattern in ("[!.]*", "[!.]*/[!.]*", "[!.]*/[!.]*/[!.]*"):
        for path in root.glob(pattern):
            if not OURS.fullmatch(path.relative_to(root).as_posix()):
                raise ValueError(f"folder must be a new one, got {root} with {path.name} in it")


def _write_bag(bag: Path, x: Tensor) -> None:
    part = bag.with_name(f".{bag.name}.part")
    part.mkdir(parents=True, exist_ok=True)
    for i, levels in enumerate((255 * x[:, 0]).round().byte().numpy()):
        (part / f"{i:02d}.png").write_bytes(_png(levels.tobytes(), levels.shape))
    part.rename(bag)


@cache
def _png(levels: bytes, shape: tuple[int, ...]) -> bytes:
    image = require("PIL.Image", "images")
    stream = BytesIO()
    image.frombytes("L", shape[::-1], levels).save(stream, format="PNG")
    return stream.getvalue()

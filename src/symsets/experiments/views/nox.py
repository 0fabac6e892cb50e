"""The data of Sridhar et al. (2019): views of ShapeNet models with their NOX maps."""

import io
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from symsets._checks import check_choice
from symsets._extras import require
from symsets._files import named_errors, read_bytes
from symsets.data import deep_png
from symsets.data.decoding import MOST_PIXELS, TOO_LARGE
from symsets.data.folders import MissingDataError, first_existing
from symsets.data.splits import shuffled, split_by_hash
from symsets.experiments.synthetic.generated import Device
from symsets.experiments.synthetic.random import name_keys, uniform
from symsets.experiments.views.sets import Views, ViewSource

SYNSETS = {"cars": "02958343", "airplanes": "02691156", "chairs": "03001627"}
TEST_FOLDERS = ("val", "test")
NOX_NEEDS = (
    "ShapeNetCOCO and ShapeNetPlain need train/ and val/ with a folder per category (02958343 "
    "cars, 02691156 airplanes, 03001627 chairs), in it a folder per object, and in that for each "
    "view "
    "frame_XXXXXXXX_Color_00.png, …_NOXRayTL_00.png and …_NOXRayTL_01.png; get "
    "shapenetcoco_v1.zip or shapenetplain_v1.zip from geometry.stanford.edu/projects/xnocs and "
    "unpack it there"
)
# frame_00000003_Color_00.png, frame_00000003_NOXRayTL_01.png; frame_003_view_01_nox00_gt.png
NAME = re.compile(
    r"(?P<view>.*?)_?(?P<kind>color|noxraytl|nox)_?(?P<layer>0[01])(_gt)?\.png", re.IGNORECASE
)
WHITE = 1 - 0.5 / 255  # no coordinate of an object of diagonal 1 comes near 0 or 1 on all axes

DEEP = (b"\x10\x02", b"\x10\x06")  # 16 bits in colour, and with alpha: bytes 24 and 25 of a PNG


class _Files(NamedTuple):
    colour: Path
    front: Path
    back: Path


def has_nox(root: Path) -> bool:
    """Tell whether the files are there."""
    train, test = root / "train", first_existing(root, *TEST_FOLDERS)
    return test is not None and any((train / synset).is_dir() for synset in SYNSETS.values())


class NoxFolder(ViewSource):
    """Open the published views of a category.

    The test split is the published one (its folder is called ``val``); every tenth object of the
    published training data is for validation. A picture that is not square is put in the middle
    of one, then scaled: colours are averaged, coordinates taken from the nearest pixel. A map's
    background is what is transparent, white or black. The true shape is the union of the true maps
    of all views of an object, as in the published evaluation. The folder has the files that
    :data:`NOX_NEEDS` names; categories are those of :data:`SYNSETS`.
    """

    def __init__(
        self, root: str | os.PathLike[str], category: str = "cars", *, size: int = 64
    ) -> None:
        check_choice("category", category, SYNSETS)
        root, synset = Path(root), SYNSETS[category]
        test = first_existing(root, *(f"{part}/{synset}" for part in TEST_FOLDERS))
        train = root / "train" / synset
        if test is None or not train.is_dir():
            raise MissingDataError(f"{root}: {NOX_NEEDS}")
        files = split_by_hash(_folders(root, train), test=0)
        files["test"] = shuffled(_folders(root, test))
        super().__init__(root, f"{root.resolve().name} {category}", files, size=size)
        self.KIND = category

    def most_views(self, split: str, num: int) -> float:
        return min(len(view_files(self.root / name)) for name in self.names(split)[:num])

    def read(self, name: str, num_views: int, num_points: int, device: Device) -> Views:
        folder = self.root / name
        files = view_files(folder)
        if len(files) < num_views:
            raise ValueError(f"{folder} must have {num_views} views, found {len(files)}")
        read = _read_views(files[: None if num_points else num_views])
        points = _union(read, name, num_points) if num_points else None
        maps = torch.stack([_scaled(one, self.size) for one in read[:num_views]])[None]
        return Views(maps[:, :, :3], maps[:, :, 3:], points).to(device)


def _folders(root: Path, folder: Path) -> Iterable[str]:
    below = sorted(path for path in folder.iterdir() if path.is_dir())
    return [path.relative_to(root).as_posix() for path in below]


def view_files(folder: Path) -> list[_Files]:
    """Return the files of every view in a folder, in the order of their names."""
    found: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.iterdir()):
        match = NAME.fullmatch(path.name)
        if match:
            kind = "colour" if match["kind"].lower() == "color" else "nox"
            found.setdefault(match["view"], {})[f"{kind} {match['layer']}"] = path
    with named_errors(folder, "must hold a colour image and two NOX maps of every view"):
        keys = ("colour 00", "nox 00", "nox 01")
        views = [_Files(*(files[key] for key in keys)) for files in found.values()]
        if not views:
            raise ValueError("found no file such as frame_0_Color_00.png")
        return views


def _read_views(views: list[_Files]) -> list[Tensor]:
    """Return colour, mask, front and back of each view, ``(10, H, W)``."""
    read: list[Tensor] = []
    for files in views:
        with named_errors(files.colour, "and its maps must show one object, and be equally large"):
            colour, front, back = map(read_png, files)
            mask = _foreground(front) & _foreground(back)
            if not mask.any():
                raise ValueError("its mask is empty")
            seen = mask[..., None].astype(np.float32)
            maps = [colour[..., :3], seen, front[..., :3] * seen, back[..., :3] * seen]
            read.append(torch.from_numpy(np.concatenate(maps, axis=2)).movedim(-1, 0))
    return read


def read_png(path: Path) -> np.ndarray:
    """Return colours and alpha in 0 to 1, ``(H, W, 4)`` in float32; alpha is 1 if there is none.

    Of 16 bits in each colour Pillow keeps the upper 8, which is too coarse for coordinates.
    """
    Image = require("PIL.Image", "images")
    with named_errors(path, "cannot be read as an image"):
        content = read_bytes(path)
        with Image.open(io.BytesIO(content), formats=("PNG",)) as image:
            if image.width * image.height > MOST_PIXELS:
                raise ValueError(TOO_LARGE)
            if content[24:26] not in DEEP:
                return np.asarray(image.convert("RGBA"), dtype=np.float32) / 255
        values = deep_png.read_png(content).astype(np.float32) / 65535
        return np.pad(values, ((0, 0), (0, 0), (0, 4 - values.shape[2])), constant_values=1)


def _foreground(picture: np.ndarray) -> np.ndarray:
    colours, alpha = picture[..., :3], picture[..., 3]
    return (alpha > 0.5) & (colours.min(-1) < WHITE) & (colours.max(-1) > 1 - WHITE)


def _scaled(view: Tensor, size: int) -> Tensor:
    """Put a view into a square and scale it, ``(10, size, size)``."""
    _, height, width = view.shape
    side = max(height, width)
    top, left = (side - height) // 2, (side - width) // 2
    square = view.new_zeros(10, side, side)
    square[:3] = 1.0
    square[:, top : top + height, left : left + width] = view
    colour = interpolate(square[None, :3], (size, size), mode="area")[0]
    maps = interpolate(square[None, 3:], (size, size), mode="nearest-exact")[0]
    return torch.cat([colour, maps])


def _union(read: list[Tensor], name: str, num: int) -> Tensor:
    """Return points of all maps of an object, drawn at random, ``(1, num, 3)``."""
    clouds = [
        view[k : k + 3].flatten(1)[:, view[3].flatten() > 0].T for view in read for k in (4, 7)
    ]
    points = torch.cat(clouds)
    order = uniform(name_keys([name]), max(len(points), num))[0]
    if len(points) >= num:
        return points[order[: len(points)].argsort()[:num]][None]
    return points[(order[:num] * len(points)).long()][None]

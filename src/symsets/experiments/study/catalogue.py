"""List the data that are there, say how to get the others, and open any of them by name."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from symsets.data import published
from symsets.data.clips import VideoSource
from symsets.data.folders import MissingDataError, checked_folder, files_below
from symsets.data.images import IMAGE_SUFFIXES, ImageFolder, ImageSource
from symsets.data.packs import ImagePack, VideoPack, pack_kind
from symsets.data.videos import VIDEO_SUFFIXES, VideoFolder
from symsets.experiments.satellite.generated import GeneratedScenes, SceneSource
from symsets.experiments.satellite.packs import ScenePack, is_scene_pack
from symsets.experiments.satellite.scenes import NEEDS, SceneFolder, has_scenes
from symsets.experiments.shapes import dfaust
from symsets.experiments.shapes.motion_packs import MotionPack, motion_pack_form
from symsets.experiments.shapes.motions import MotionSource
from symsets.experiments.synthetic.dead_leaves import DeadLeaves
from symsets.experiments.synthetic.humans import MovingHumans
from symsets.experiments.synthetic.moving_things import MovingThings
from symsets.experiments.synthetic.photos import EmbeddedImages
from symsets.experiments.views._mesh_files import MESH_SUFFIXES
from symsets.experiments.views.meshes import MeshFolder
from symsets.experiments.views.nox import NOX_NEEDS, NoxFolder, has_nox
from symsets.experiments.views.rendering import GeneratedViews
from symsets.experiments.views.sets import ViewSource

Directories = Iterable[str | os.PathLike[str]] | None

VARIABLE = "SYMSETS_DATA"
DATA_SUFFIXES = IMAGE_SUFFIXES | VIDEO_SUFFIXES | {*MESH_SUFFIXES, ".hdf5"}


class _Dataset(NamedTuple):
    kind: str
    open: Callable[..., Any]
    present: Callable[[Path], object]  # true if its files are there
    needs: str
    folders: tuple[str, ...]  # names that its folder may have in a data directory


def _published(kind: str, name: str, *folders: str) -> _Dataset:
    words = (name, f"find_{name}", f"{name.upper()}_NEEDS")
    source, present, needs = (getattr(published, word) for word in words)
    return _Dataset(kind, source, present, needs, (name, *folders))


def _nox(*folders: str, plain: bool) -> _Dataset:
    """Return one of two datasets of one layout: a folder's name tells which of them it holds."""

    def present(root: Path) -> bool:
        return has_nox(root) and ("plain" in root.resolve().name.lower()) == plain

    return _Dataset("views", NoxFolder, present, NOX_NEEDS, folders)


DATASETS = {
    "places365": _published("images", "places365", "Places365", "places365_standard"),
    "imagenet": _published("images", "imagenet", "ImageNet", "ILSVRC2012"),
    "celeba": _published("images", "celeba", "CelebA"),
    "ucf101": _published("videos", "ucf101", "UCF101"),
    "dfaust": _Dataset(
        "motions",
        dfaust.DynamicFaust,
        dfaust.has_dfaust,
        dfaust.DFAUST_NEEDS,
        ("dfaust", "DFAUST", "D-FAUST"),
    ),
    "shapenetcoco": _nox("shapenetcoco_v1", "shapenetcoco_dataset_v1", "shapenetcoco", plain=False),
    "shapenetplain": _nox("shapenetplain_v1", "shapenetplain", plain=True),
    "probav": _Dataset("scenes", SceneFolder, has_scenes, NEEDS, ("probav", "probav_data")),
}
EMBEDDED = (
    ("embedded", "images", "crops of the photographs in scikit-image and scikit-learn, and leaves"),
    ("leaves", "images", "generated pictures of leaves that cover each other"),
    ("embedded", "videos", "generated clips of things that fall, slow down, spread and fade"),
    ("embedded", "motions", "generated bodies that walk, run, squat, dance and more"),
    ("embedded", "views", "generated cars, airplanes and chairs, seen from random sides"),
    ("embedded", "scenes", "generated places, seen many times by a satellite"),
    ("embedded", "graphs", "generated circles with skip links (CSL)"),
    ("embedded", "tables", "iris, wine, breast cancer and digits of scikit-learn"),
    ("embedded", "digits", "the handwritten digits in scikit-learn"),
)


@dataclass(frozen=True)
class Entry:
    """A source of data.

    Attributes:
        name: What to type to use it.
        kind: ``"images"``, ``"videos"``, ``"motions"``, ``"views"``, ``"scenes"``, ``"graphs"``,
            ``"tables"`` or ``"digits"``.
        found: Whether it is there.
        where: The folder or file, if it is one.
        note: What it is; if it is missing, what was expected where and how to get it.
    """

    name: str
    kind: str
    found: bool
    where: Path | None
    note: str


def data_directories(directories: Directories = None) -> list[Path]:
    """Return where to look: the directories given, or those that SYMSETS_DATA names.

    Those given must be there; SYMSETS_DATA may name some that are not on every machine.
    """
    if directories is None:
        named = filter(None, os.environ.get(VARIABLE, "").split(os.pathsep))
        return [Path(directory) for directory in named]
    return [checked_folder(Path(directory)) for directory in directories]


def available(directories: Directories = None) -> list[Entry]:
    """List every source: what is found where, and how to get what is not.

    Args:
        directories: Where to look; what the environment variable SYMSETS_DATA names (several
            with the path separator between them) if left out. A directory that is given and holds
            none of the datasets may hold files of your own, which are counted.

    Example:
        >>> [entry.kind for entry in available([]) if entry.found]
        ['images', 'images', 'videos', 'motions', 'views', 'scenes', 'graphs', 'tables', 'digits']
    """
    roots = data_directories(directories)
    entries = [Entry(name, kind, True, None, note) for name, kind, note in EMBEDDED]
    for name, dataset in DATASETS.items():
        where = _locate(dataset, roots)
        note = "" if where else _missing(name, dataset, roots)
        entries.append(Entry(name, dataset.kind, where is not None, where, note))
    entries += _packs(roots)
    if directories is not None:
        taken = {place for e in entries if e.where for place in (e.where, e.where.parent)}
        entries += _own(root for root in roots if root not in taken)
    return entries


def _own(roots: Iterable[Path]) -> Iterator[Entry]:
    """Give an entry for every kind of files in folders of a user's own."""
    kinds = {"images": IMAGE_SUFFIXES, "videos": VIDEO_SUFFIXES, "views": MESH_SUFFIXES}
    for root in roots:
        found = Counter(Path(name).suffix.lower() for name in files_below(root, DATA_SUFFIXES))
        for kind, suffixes in kinds.items():
            if num := sum(found[suffix] for suffix in suffixes):
                files = f"{num:,} file{'s' if num > 1 else ''} of your own"
                yield Entry(str(root), kind, True, None, files)


def _locate(dataset: _Dataset, roots: Iterable[Path]) -> Path | None:
    """Return the folder of a dataset: a data directory itself, or one in it."""
    places = (root / name for root in roots for name in (*dataset.folders, ""))
    return next((place for place in places if place.is_dir() and dataset.present(place)), None)


def _missing(name: str, dataset: _Dataset, roots: list[Path]) -> str:
    places = ", ".join(str(root / dataset.folders[0]) for root in roots)
    looked = f"expected in {places}" if roots else f"{VARIABLE} names no directory to look in"
    return f"{name} is missing ({looked}): {dataset.needs}"


def _packs(roots: Iterable[Path]) -> Iterator[Entry]:
    for root in roots:
        for path in sorted(root.glob("*.npz")):
            kind = pack_kind(path) or ("motions" if motion_pack_form(path) else None)
            kind = kind or ("scenes" if is_scene_pack(path) else None)
            if kind is not None:
                yield Entry(path.stem, kind, True, path, f"a pack of {kind}")


def _view_folder(path: Path, *, category: str, size: int) -> ViewSource:
    return NoxFolder(path, category, size=size) if has_nox(path) else MeshFolder(path, size=size)


def _scene_folder(path: Path) -> SceneSource:
    return ScenePack(path) if any(path.glob("*.npz")) else SceneFolder(path)


# What opens each kind of data: generators by name, a folder, and a pack if there are some.
_DOORS: dict[str, tuple[dict[str, Any], Callable[..., Any], Callable[..., Any] | None]] = {
    "images": ({"embedded": EmbeddedImages, "leaves": DeadLeaves}, ImageFolder, ImagePack),
    "videos": ({"embedded": MovingThings}, VideoFolder, VideoPack),
    "motions": ({"embedded": MovingHumans}, dfaust.DynamicFaust, MotionPack),
    "views": ({"embedded": GeneratedViews}, _view_folder, None),
    "scenes": ({"embedded": GeneratedScenes}, _scene_folder, ScenePack),
}


def open_data(
    kind: str, name: str, *, seed: int = 0, directories: Directories = None, **options: Any
) -> Any:
    """Open data by name: try generators, datasets, packs in the data directories, then paths.

    Args:
        kind: What :class:`Entry` calls it.
        name: Generated data, a dataset or pack that :func:`available` lists, a folder or a pack.
        seed: Fixes what is generated.
        directories: Where to look, see :func:`available`.
        options: Of the source: ``size``, the height and width of pictures, frames and views, and
            ``category`` of views, ``"cars"``, ``"airplanes"`` or ``"chairs"``.

    Example:
        >>> image_source("leaves", size=16).images("val", 2).shape
        torch.Size([2, 3, 16, 16])
        >>> view_source("embedded", category="chairs").name
        'generated chairs'
    """
    generated, folder, pack = _DOORS[kind]
    roots = data_directories(directories)
    datasets = {word: dataset for word, dataset in DATASETS.items() if dataset.kind == kind}
    # Of packs with one name the first directory counts.
    packs = {e.name: e.where for e in reversed([*_packs(roots)]) if e.kind == kind and e.where}
    if name in generated:
        return generated[name](seed=seed, **options)
    if name in datasets:
        where = _locate(datasets[name], roots)
        if where is None:
            raise MissingDataError(_missing(name, datasets[name], roots))
        return datasets[name].open(where, **options)
    path = packs.get(name) or Path(name)
    if pack is not None and path.suffix == ".npz":
        return pack(path, **options)
    if name and path.is_dir():  # Path("") would be the folder one happens to be in
        return folder(path, **options)
    files = "a folder that exists, an .npz file" if pack else "a folder that exists"
    known = [*generated, *datasets, *sorted(packs)]
    raise ValueError(f"data must be {files} or one of {known}, got {name!r}")


image_source: Callable[..., ImageSource] = partial(open_data, "images", size=80)
video_source: Callable[..., VideoSource] = partial(open_data, "videos", size=80)
motion_source: Callable[..., MotionSource] = partial(open_data, "motions")
view_source: Callable[..., ViewSource] = partial(open_data, "views", category="cars", size=64)
scene_source: Callable[..., SceneSource] = partial(open_data, "scenes")

"""One door to all views."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from symsets.data.catalogue import data_directories
from symsets.data.folders import MissingDataError
from symsets.data.views.batch import ViewSource
from symsets.data.views.meshes import MeshFolder
from symsets.data.views.published import NOX_NEEDS, NoxFolder, has_nox
from symsets.data.views.rendering import GeneratedViews

__all__ = ["view_source"]

PUBLISHED = {
    "shapenetcoco": ("shapenetcoco_v1", "shapenetcoco_dataset_v1", "shapenetcoco"),
    "shapenetplain": ("shapenetplain_v1", "shapenetplain"),
}


def view_source(
    name: str,
    category: str = "cars",
    *,
    size: int = 64,
    seed: int = 0,
    directories: Iterable[str | os.PathLike[str]] | None = None,
) -> ViewSource:
    """Open views by name.

    Args:
        name: ``"embedded"`` for generated objects, ``"shapenetcoco"`` or ``"shapenetplain"`` for
            the published data, or a folder: of meshes, or with the layout of the published data.
        category: ``"cars"``, ``"airplanes"`` or ``"chairs"``; a folder of meshes has none.
        size: Height and width of the images.
        seed: Fixes generated objects.
        directories: Where to look for published data; what the environment variable SYMSETS_DATA
            names if left out.

    Example:
        >>> view_source("embedded", "chairs", size=16).name
        'generated chairs'
    """
    if name == "embedded":
        return GeneratedViews(category, size=size, seed=seed)
    if name in PUBLISHED:
        roots = data_directories(directories)
        places = [root / folder for root in roots for folder in PUBLISHED[name]]
        where = next((place for place in places if has_nox(place)), None)
        if where is None:
            looked = ", ".join(map(str, places)) or "SYMSETS_DATA names no directory to look in"
            raise MissingDataError(f"{name} is missing ({looked}): {NOX_NEEDS}")
        return NoxFolder(where, category, size=size)
    path = Path(name)
    if not path.is_dir():
        known = ["embedded", *PUBLISHED]
        raise ValueError(f"data must be a folder or one of {known}, got {name!r}")
    return NoxFolder(path, category, size=size) if has_nox(path) else MeshFolder(path, size=size)

"""What ``symsets best`` does: a folder of shots in, a table and a contact sheet out."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from symsets._checks import as_path
from symsets._files import check_file, write_csv
from symsets.data.folders import files_below
from symsets.data.images import IMAGE_SUFFIXES
from symsets.saving import load_pretrained
from symsets.tools.figures import MOST_TILES, ShownSet
from symsets.tools.figures import sheet as draw_sheet
from symsets.tools.ranking import MOST, NAME, SMALLEST, SmallView, rank_views, resized, small_view
from symsets.tools.shot_files import UnusableShotError, is_ours, read_shot
from symsets.tools.strangers import strangers
from symsets.train.inputs import chosen_device

SHOWN = 24  # sets on the sheet
SIDE = 220  # px of a picture on the sheet


@dataclass(frozen=True)
class Ranked:
    """The shots of a folder, the best first."""

    name: str  # of the folder, below the one that was asked for
    files: tuple[str, ...]
    scores: tuple[float, ...]  # in decibels, with a mean of zero


@dataclass(frozen=True)
class Best:
    """What :func:`best_files` leaves."""

    sets: tuple[Ranked, ...]
    rows: Path  # the CSV file
    sheet: Path  # the contact sheet
    left_out: tuple[tuple[str, str], ...]  # pictures, each with why


def best_files(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str] = "best.csv",
    sheet: str | os.PathLike[str] = "best.png",
    *,
    network: nn.Module | None = None,
    device: str = "auto",
    watch: Callable[[int, int], None] | None = None,
) -> Best:
    """Rank the shots of a folder, and of every folder below it, each as a scene of its own.

    Shots that clearly show another scene than most of their folder are left out.

    Args:
        folder: Holds pictures, or folders of pictures.
        out: The CSV file to write: folder, rank, file and score.
        sheet: The PNG file to write.
        network: What scores shots; ``symsets.load("best")`` if left out.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
        watch: Called after each picture that was read with how many there were, and of how many.
    """
    root, rows, page = as_path("folder", folder), as_path("out", out), as_path("sheet", sheet)
    for name, path, suffix in (("out", rows, ".csv"), ("sheet", page, ".png")):
        check_file(name, path, (suffix,))
    chosen_device(device)
    scenes = _scenes(root, page)
    network = load_pretrained(NAME) if network is None else network
    done, total = count(1), 2 * sum(map(len, scenes.values()))

    def read(path: Path) -> Tensor:
        if watch:
            watch(next(done), total)
        return read_shot(path).picture  # (1 or 3, H, W)

    found: list[Ranked] = []
    shown: list[ShownSet] = []
    left_out: list[tuple[str, str]] = []
    for name, files in scenes.items():
        views, why = _readable(files, read)
        left_out += why + _others(views)
        if len(views) < 2:
            left_out += [(str(path), "nothing beside it to be compared with") for path in views]
            continue
        paths, small = list(views), list(views.values())
        scores = rank_views(small, map(read, paths), network=network, device=device)
        order: list[int] = scores.argsort(descending=True, stable=True).tolist()
        names = tuple(paths[k].name for k in order)
        found.append(Ranked(name, names, tuple(scores[order].tolist())))
        if len(shown) < SHOWN:
            shown.append(_shown(root, found[-1], [small[k] for k in order]))
    if not found:
        first = ": ".join(left_out[0])
        raise ValueError(f"{root} must hold two or more pictures of a scene; {first}")
    _write(found, shown, rows, page)
    return Best(tuple(found), rows, page, tuple(left_out))


def _scenes(root: Path, page: Path) -> dict[str, list[Path]]:
    """Return the pictures of each folder below ``root`` that holds some, but for those we wrote."""
    scenes: dict[str, list[Path]] = {}
    for name in files_below(root, IMAGE_SUFFIXES):
        path = root / name
        if is_ours(path):
            continue
        if path.resolve() == page.resolve():
            raise ValueError(f"sheet must be another file than the pictures, got {page}")
        scenes.setdefault(Path(name).parent.as_posix(), []).append(path)
    if not scenes:
        kinds = " ".join(sorted(IMAGE_SUFFIXES))
        raise ValueError(f"{root} must hold files that end in one of {kinds}, found none")
    for name, files in scenes.items():
        if len(files) > MOST:
            raise ValueError(f"{root / name} must hold at most {MOST} pictures, got {len(files)}")
    return scenes


def _readable(
    files: Sequence[Path], read: Callable[[Path], Tensor]
) -> tuple[dict[Path, SmallView], list[tuple[str, str]]]:
    """Return small copies of the pictures that can be used, and why others cannot."""
    views: dict[Path, SmallView] = {}
    why: list[tuple[str, str]] = []
    for path in files:
        try:
            picture = read(path)
        except UnusableShotError as error:
            why.append((str(path), error.why))
            continue
        if min(picture.shape[1:]) < SMALLEST:
            why.append((str(path), f"smaller than {SMALLEST} pixels"))
        else:
            views[path] = small_view(picture)
    return views, why


def _others(views: dict[Path, SmallView]) -> list[tuple[str, str]]:
    """Take away shots that show another scene, and return why: most decide which scene it is.

    Shots of other proportions than most are not judged: they show other parts of a scene.
    """
    shapes = {path: round(view.size[0] / view.size[1], 2) for path, view in views.items()}
    usual = Counter(shapes.values()).most_common(1)
    paths = [path for path, shape in shapes.items() if shape == usual[0][0]]
    if len(paths) < 2:
        return []
    shape = min((views[path].picture.shape[1:] for path in paths), key=math.prod)
    found = strangers(torch.stack([resized(views[path].picture, shape) for path in paths]))
    for shot in found:
        del views[paths[shot]]
    return [
        (str(paths[shot]), f"nothing in common with {paths[other]}")
        for shot, other in found.items()
    ]


def _write(found: Sequence[Ranked], shown: Sequence[ShownSet], rows: Path, page: Path) -> None:
    """Write the table and the sheet."""
    for path in (rows, page):
        path.parent.mkdir(parents=True, exist_ok=True)
    table = [
        {"folder": one.name, "rank": rank, "file": file, "score": round(score, 3)}
        for one in found
        for rank, (file, score) in enumerate(zip(one.files, one.scores, strict=True), start=1)
    ]
    write_csv(rows, table)
    drawn = draw_sheet(shown, page.stem, "Shots of each folder, the best first.")
    drawn.save_png(page.parent).replace(page)  # as it was spelt


def _shown(root: Path, ranked: Ranked, views: Sequence[SmallView]) -> ShownSet:
    """Return a row of the sheet: pictures with the best one first, in a frame."""
    pairs = list(zip(ranked.files, ranked.scores, strict=True))[:MOST_TILES]
    return ShownSet(
        root.resolve().name if ranked.name == "." else ranked.name,
        torch.stack([_square(view) for view in views[:MOST_TILES]]),
        (f"{len(views)} shots",),
        below=[f"{score:+.1f} {file}" for file, score in pairs],
        marked=(0,),
    )


def _square(view: SmallView) -> Tensor:
    """Return a small picture ``(4, SIDE, SIDE)``; what is beside it is transparent."""
    scale = SIDE / max(view.size)
    small = resized(view.picture, [max(1, round(scale * side)) for side in view.size])
    opaque = torch.cat([small, torch.ones_like(small[:1])])
    height, width = small.shape[1:]
    top, left = (SIDE - height) // 2, (SIDE - width) // 2
    return F.pad(opaque, [left, SIDE - width - left, top, SIDE - height - top])

"""What ``symsets merge`` does: files in, one file out, and a sheet to compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import torch
from torch import Tensor

from symsets._files import check_file
from symsets.data.images import IMAGE_SUFFIXES
from symsets.pages.drawing import Picture
from symsets.pages.sheets import Line, Sheet, Tile
from symsets.saving import load_pretrained
from symsets.tools.aligning import sample
from symsets.tools.merging import (
    NAME,
    DifferentScenesError,
    find_maps,
    merge,
    sharpest,
)
from symsets.tools.ranking import SMALLEST, detailed_parts
from symsets.tools.shot_files import (
    DEEP,
    SUFFIXES,
    Shot,
    UnusableShotError,
    is_ours,
    read_shot,
    write_picture,
)

WIDE = 2.9  # inches of a picture on the sheet
DETAIL = 96  # px on each side of the part that is shown enlarged


@dataclass(frozen=True)
class Merged:
    """What :func:`merge_files` did."""

    shots: tuple[Path, ...]
    reference: Path  # the shot that the picture keeps to
    left_out: tuple[tuple[str, str], ...]  # files of folders, each with why
    cut: bool  # whether shots have 16 bits, and the file takes 8


def merge_files(
    paths: Sequence[Path],
    out: Path,
    *,
    reference: str = "auto",
    align: bool = True,
    turns: bool = False,
    device: str = "auto",
    compare: Path | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> Merged:
    """Merge shots in files into a picture.

    The file has 16 bits if the shots have, where it is a PNG or a TIFF.

    Args:
        paths: Files, one scene and one size; or folders of them, in which what cannot be read is
            left out.
        out: The file to write.
        reference: ``"auto"``, ``"first"``, or the name of one of the shots.
        align: Whether to lay shots over each other first.
        turns: As in :func:`symsets.merge`.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
        compare: Where to write a sheet with the reference, the aligned mean and the result.
        watch: As in :func:`symsets.merge`.
    """
    inside = [(path, files_of(path)) for path in paths]
    files = list(chain.from_iterable(found for _, found in inside))
    check_out("out", out, files, SUFFIXES)
    if compare:
        check_out("compare", compare, files, (".png",))
        if compare.resolve() == out.resolve():
            raise ValueError(f"compare must be another file than out, got {compare} for both")
    network = load_pretrained(NAME)
    found, left_out = _read(inside)
    kept = _reference(reference, list(found))
    _check_alike(found)
    named = [path for path in paths if not path.is_dir()]
    which, maps, others = _laid(found, kept, named, aligned=not align)
    left_out += others
    shots, read = list(found), list(found.values())
    pictures = torch.stack([shot.picture for shot in read])
    result = merge(
        pictures,
        reference=which,
        maps=maps,
        network=network,
        turns=turns,
        device=device,
        watch=watch,
    )
    bits = max(shot.bits for shot in read)
    write_picture(out, result, bits, read[which].colours)
    if compare:
        drawn = _sheet(pictures, maps, which, result)
        compare.parent.mkdir(parents=True, exist_ok=True)
        replace(drawn, name=compare.stem).save_png(compare.parent)
    cut = bits == 16 and out.suffix.lower() not in DEEP
    return Merged(tuple(shots), shots[which], tuple(left_out), cut)


def files_of(path: Path) -> list[Path]:
    """Return the visible pictures in a folder, but for those that we wrote; or a file itself."""
    if not path.is_dir():
        return [path]
    files = sorted(path.iterdir())
    shots = [x for x in files if x.suffix.lower() in IMAGE_SUFFIXES and x.name[0] != "."]
    return [file for file in shots if not is_ours(file)]


def _read(
    inside: Sequence[tuple[Path, Sequence[Path]]],
) -> tuple[dict[Path, Shot], list[tuple[str, str]]]:
    """Read files, and those in folders, once each; also say what was left out, and why."""
    shots: dict[Path, Shot] = {}
    places: set[Path] = set()
    left_out: list[tuple[str, str]] = []
    for path, files in inside:
        wrong: list[tuple[str, str]] = []
        for file in files:
            if (place := file.resolve()) in places:
                continue
            try:
                shots[file] = read_shot(file)
                places.add(place)
            except UnusableShotError as error:
                if not path.is_dir():
                    raise
                wrong.append((str(file), error.why))
        if len(wrong) == len(files):
            why = f" that can be read; {': '.join(wrong[0])}" if wrong else ""
            raise ValueError(f"shots must be pictures, but the folder {path} holds none{why}")
        left_out += wrong
    return shots, left_out


def check_out(name: str, path: Path, shots: Sequence[Path], suffixes: Sequence[str]) -> None:
    """Raise ValueError unless a file can be written there that is none of the shots."""
    check_file(name, path, suffixes)
    if any(path.resolve() == shot.resolve() for shot in shots):
        raise ValueError(f"{name} must not be one of the shots, got {path}; name another file")


def _reference(reference: str, shots: Sequence[Path]) -> Path | None:
    if reference == "auto":
        return None
    if reference == "first":
        return shots[0]
    found = [path for path in shots if path == Path(reference)]
    found = found or [path for path in shots if path.name == reference]
    if len(found) != 1:
        which = " and ".join(map(str, found)) or reference
        raise ValueError(f"reference must be auto, first or one of the shots, got {which}")
    return found[0]


def _check_alike(shots: Mapping[Path, Shot]) -> None:
    """Raise ValueError unless shots have one size, and are all grey or all in colour."""

    def size(path: Path) -> str:
        channels, height, width = shots[path].picture.shape
        return f"{width}×{height} pixels {'in colour' if channels == 3 else 'of grey'} in {path}"

    first = next(iter(shots))
    for path, shot in shots.items():
        if min(shot.picture.shape[1:]) < SMALLEST:
            raise ValueError(f"shots must have {SMALLEST} pixels on each side, got {size(path)}")
        if shot.picture.shape != shots[first].picture.shape:
            raise ValueError(f"shots must be alike, got {size(path)} and {size(first)}")


def _laid(
    shots: dict[Path, Shot], kept: Path | None, named: Sequence[Path], *, aligned: bool
) -> tuple[int, Tensor, list[tuple[str, str]]]:
    """Return the number of the reference, where shots lie, and what shows another scene.

    Most shots show the scene. Others are taken out of ``shots``, unless they were ``named``.
    """
    left_out: list[tuple[str, str]] = []
    while True:
        paths = list(shots)
        pictures = torch.stack([shot.picture for shot in shots.values()])
        which = sharpest(pictures) if kept is None else paths.index(kept)
        try:
            return which, find_maps(pictures, which, aligned=aligned), left_out
        except DifferentScenesError as error:
            most = 2 * len(error.shots) > len(paths) - 1
            strange = [which] if most and kept is None else error.shots
            other = paths[error.shots[0] if strange == [which] else which]
            for path in (paths[number] for number in strange):
                if path in named or len(shots) <= 2 or path == kept:
                    raise ValueError(
                        f"shots must show one scene, but {path} has nothing in common with "
                        f"{other}: leave it out (--no-align merges shots that lie alike as they "
                        "are)"
                    ) from None
                del shots[path]
                left_out.append((str(path), f"nothing in common with {other.name}"))


def _sheet(shots: Tensor, maps: Tensor, which: int, result: Tensor) -> Picture:
    """Draw pictures side by side, and below them the part with most detail, enlarged."""
    shown, num = {"one shot": shots[which]}, len(shots)
    caption = "The shot, and what the network makes of it."
    if num > 1:
        laid, seen = sample(shots, maps)
        mean = torch.where(seen, laid, laid[which]).mean(0).clamp(0, 1)
        shown[f"mean of {num}, aligned"] = mean
        caption = f"One of {num} shots, their mean, and what the network makes of them."
    shown["merged"] = result
    window = min(DETAIL, *result.shape[1:])
    middle = next(detailed_parts(result, window))
    top, left = (place - window // 2 for place in middle)
    drawn = Sheet(len(shown), left=0.0, largest=WIDE)
    drawn.row([Tile(_square(x), above=Line(title)) for title, x in shown.items()])
    parts = [x[:, top : top + DETAIL, left : left + DETAIL] for x in shown.values()]
    drawn.row([Tile(x) for x in parts])
    return drawn.close(caption, caption)


def _square(picture: Tensor) -> Tensor:
    side = min(picture.shape[1:])
    top, left = ((length - side) // 2 for length in picture.shape[1:])
    return picture[:, top : top + side, left : left + side]

"""What ``symsets merge`` does: files in, one file out, and a sheet to compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from symsets.pages.drawing import Picture
from symsets.pages.sheets import Line, Sheet, Tile
from symsets.saving import load_pretrained
from symsets.tools.aligning import sample
from symsets.tools.merging import NAME, DifferentScenesError, find_maps, merge, sharpest
from symsets.tools.ranking import detailed_parts
from symsets.tools.shot_files import SUFFIXES, Shot, is_ours, read_shot, write_picture

WIDE = 2.9  # inches of a picture on the sheet
DETAIL = 96  # px on each side of the part that is shown enlarged


def merge_files(
    shots: Sequence[Path],
    out: Path,
    *,
    reference: str = "auto",
    align: bool = True,
    device: str = "auto",
    compare: Path | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> int:
    """Merge shots in files into a picture, and return the number of the shot that it keeps to.

    The file has 16 bits if the shots have, where it is a PNG or a TIFF.

    Args:
        shots: Files, one scene and one size.
        out: The file to write.
        reference: ``"auto"``, ``"first"``, or the name of one of the shots.
        align: Whether to lay shots over each other first.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
        compare: Where to write a sheet with the reference, the aligned mean and the result.
        watch: As in :func:`symsets.merge`.
    """
    check_out("out", out, shots, SUFFIXES)
    if compare:
        check_out("compare", compare, shots, (".png",))
        if compare.resolve() == out.resolve():
            raise ValueError(f"compare must be another file than out, got {compare} for both")
    number = _reference(reference, shots)
    network = load_pretrained(NAME)
    read = [read_shot(path) for path in shots]
    _check_sizes(shots, read)
    pictures = _stacked(read)
    which = sharpest(pictures) if number is None else number
    try:
        maps = find_maps(pictures, which, aligned=not align)
        result = merge(
            pictures, reference=which, maps=maps, network=network, device=device, watch=watch
        )
    except DifferentScenesError as error:
        raise ValueError(
            f"shots must show one scene, but {shots[error.shot]} shows nothing of "
            f"{shots[error.reference]}; --no-align merges them as they lie"
        ) from None
    write_picture(out, result, max(shot.bits for shot in read))
    if compare:
        found, seen = sample(pictures, maps)
        mean = torch.where(seen, found, found[which]).mean(0).clamp(0, 1)
        drawn = _sheet(pictures[which], mean, result, len(shots))
        replace(drawn, name=compare.stem).save_png(compare.parent)
    return which


def find_shots(paths: Sequence[Path]) -> list[Path]:
    """Return files, and in place of each folder the pictures in it, but for those we wrote."""
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        inside = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
        inside = [file for file in inside if not is_ours(file)]
        if not inside:
            raise ValueError(f"shots must be pictures, but the folder {path} holds none")
        found += inside
    return found


def check_out(name: str, path: Path, shots: Sequence[Path], suffixes: Sequence[str]) -> None:
    """Raise ValueError unless a file can be written there that is none of the shots."""
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{name} must end in {' or '.join(suffixes)}, got {path}")
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"{name} must be a file in a folder that exists, got {path}")
    if any(path.resolve() == shot.resolve() for shot in shots):
        raise ValueError(f"{name} must not be one of the shots, got {path}; name another file")


def _reference(reference: str, shots: Sequence[Path]) -> int | None:
    if reference == "auto":
        return None
    if reference == "first":
        return 0
    for number, path in enumerate(shots):
        if path == Path(reference) or path.name == reference:
            return number
    raise ValueError(
        f"reference must be auto, first or one of the shots, got {reference}; the shots are "
        f"{', '.join(path.name for path in shots)}"
    )


def _check_sizes(paths: Sequence[Path], read: Sequence[Shot]) -> None:
    first = read[0].picture.shape[1:]
    for path, shot in zip(paths, read, strict=True):
        size = shot.picture.shape[1:]
        if size != first:
            raise ValueError(
                f"shots must have one size, got {size[1]}×{size[0]} pixels in {path} and "
                f"{first[1]}×{first[0]} in {paths[0]}"
            )


def _stacked(read: Sequence[Shot]) -> Tensor:
    channels = max(len(shot.picture) for shot in read)
    return torch.stack([shot.picture.expand(channels, -1, -1) for shot in read])


def _sheet(reference: Tensor, mean: Tensor, result: Tensor, num: int) -> Picture:
    """Draw three pictures side by side, and below them the part with most detail, enlarged."""
    titles = ("one shot", f"mean of {num}, aligned", "merged")
    pictures = [x.expand(3, -1, -1).cpu() for x in (reference, mean, result)]
    window = min(DETAIL, *result.shape[1:])
    top, left = (middle - window // 2 for middle in next(detailed_parts(pictures[2], window)))
    parts = [x[:, top : top + DETAIL, left : left + DETAIL] for x in pictures]
    drawn = Sheet(3, left=0.0, largest=WIDE)
    drawn.row(
        [Tile(_square(x), above=Line(title)) for x, title in zip(pictures, titles, strict=True)]
    )
    drawn.row([Tile(x) for x in parts])
    caption = f"One of {num} shots, their mean, and what the network makes of them."
    return drawn.close(caption, caption)


def _square(picture: Tensor) -> Tensor:
    side = min(picture.shape[1:])
    top, left = ((length - side) // 2 for length in picture.shape[1:])
    return picture[:, top : top + side, left : left + side]

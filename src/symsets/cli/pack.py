"""``symsets pack FOLDER OUT.npz``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symsets._files import atomic_write, check_file
from symsets.cli.common import console, progress_bar, user_errors


def pack(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Photographs or videos, in any subfolders.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT.npz", help="The file to write.")],
    size: Annotated[
        int, typer.Option(min=8, help="Height and width of the pictures; bursts take 128.")
    ] = 80,
    frames: Annotated[int, typer.Option(min=8, help="Frames of a clip of a video at most.")] = 24,
    fps: Annotated[float, typer.Option(min=0.1, help="Frames of a video in a second.")] = 12.0,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Pack a folder of photographs or videos into one file that --data takes.

    Splits are those that the folder itself would have: its subfolders train, val and test, or else
    a division by the names of the files.
    """
    from symsets.data.packing import pack_folder

    with user_errors():
        check_file("OUT", out, (".npz",))
        if out.exists() and not force:
            raise ValueError(f"{out} is already there: name another, or --force to replace it")
        with atomic_write(out) as part, progress_bar("packing") as watch:
            packed = pack_folder(folder, part, size=size, max_frames=frames, fps=fps, watch=watch)
        counts = ", ".join(f"{num:,} {split}" for split, num in packed.counts.items())
        what = "clips" if packed.kind == "videos" else "images"
        console.print(f"{what}: {counts}; of the files: {packed.skipped}", soft_wrap=True)
        console.print(f"written to {out}", soft_wrap=True)

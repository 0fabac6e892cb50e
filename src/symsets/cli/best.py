"""``symsets best FOLDER``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symsets.cli.common import console, progress_bar, user_errors
from symsets.cli.options import AnyDevice


def best(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Shots of a scene, or folders with shots of a scene each."
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="The table to write: folder, rank, file, score.")
    ] = Path("best.csv"),
    sheet: Annotated[
        Path, typer.Option(help="The contact sheet to write, a PNG, the best shots first.")
    ] = Path("best.png"),
    device: AnyDevice = "auto",
) -> None:
    """Rank the shots of a scene, the best first.

    The best one is the sharpest with the least noise, well exposed. Scores are in decibels: how
    much smaller the error of a shot is than that of the average one. Shots that clearly show
    another scene than most of their folder are left out.
    """
    with user_errors(experiments=True):
        from symsets.tools.best_files import SHOWN, best_files
        from symsets.tools.left_out import left_out_lines

        with progress_bar("looking at shots") as watch:
            found = best_files(folder, out, sheet, device=device, watch=watch)
        for ranked in found.sets[:SHOWN]:
            best_one = folder / ranked.name / ranked.files[0]
            console.print(f"{best_one} is the best of {len(ranked.files)}", soft_wrap=True)
        if (more := len(found.sets) - SHOWN) > 0:
            console.print(f"and those of {more} more folders, which the table has")
        for line in left_out_lines(found.left_out):
            console.print(line, soft_wrap=True)
        for path in (found.rows, found.sheet):
            console.print(f"written to {path}", soft_wrap=True)

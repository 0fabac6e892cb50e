"""``symsets predict MODEL FOLDER``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symsets.cli.common import console, user_errors
from symsets.cli.options import AnyDevice, Workers


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="The folder that `symsets train` wrote.")
    ],
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="New sets, in the layout of the training sets.")
    ],
    out: Annotated[
        Path, typer.Option(help="The table to write, one row for each set (or element).")
    ] = Path("predictions.csv"),
    device: AnyDevice = "auto",
    workers: Workers = None,
) -> None:
    """Apply a trained network to new sets, and write a table and a page."""
    with user_errors(experiments=True):
        from symsets.pages import to_rich
        from symsets.tools import predict_folder
        from symsets.tools.left_out import left_out_lines

        found = predict_folder(model, folder, out, device=device, workers=workers)
        console.print(to_rich(found.table, width=console.width))
        for line in (*found.notes, *left_out_lines(found.left_out)):
            console.print(line, soft_wrap=True)
        for path in (found.rows, found.page):
            console.print(f"written to {path}", soft_wrap=True)

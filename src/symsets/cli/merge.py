"""``symsets merge SHOTS… -o OUT``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symsets._extras import check_experiments
from symsets.cli.common import console, user_errors

__all__ = ["merge"]


def merge(
    shots: Annotated[
        list[Path], typer.Argument(metavar="SHOTS...", help="Pictures of one scene and one size.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The picture to write: PNG, JPEG, TIFF.")
    ],
    reference: Annotated[
        str,
        typer.Option(help="The shot whose place and brightness to keep: auto, first or a file."),
    ] = "auto",
    align: Annotated[bool, typer.Option(help="Lay the shots over each other first.")] = True,
    compare: Annotated[
        Path | None,
        typer.Option(help="Also write a PNG with one shot, the aligned mean and the result."),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, …")] = "auto",
) -> None:
    """Merge shots of one scene into one picture with less noise.

    Shots may be shifted, turned a little, and differ in brightness and sharpness. One shot alone is
    denoised.
    """
    with user_errors():
        check_experiments()
        from rich.progress import Progress

        from symsets.tools.merge_files import merge_files

        with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
            task = bar.add_task("merging", total=None)
            which = merge_files(
                shots,
                out,
                reference=reference,
                align=align,
                device=device,
                compare=compare,
                watch=lambda done, of: bar.update(task, completed=done, total=of),
            )
        if len(shots) > 1:
            where = "aligned to" if align else "not aligned, as bright as"
            console.print(f"{len(shots)} shots, {where} {shots[which]}", soft_wrap=True)
        for path in (out, *([compare] if compare else [])):
            console.print(f"written to {path}", soft_wrap=True)

"""``symsets merge SHOTS… -o OUT``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symsets.cli.common import console, progress_bar, user_errors
from symsets.cli.options import AnyDevice


def merge(
    shots: Annotated[
        list[Path],
        typer.Argument(
            metavar="SHOTS...", help="Pictures of one scene and one size, or the folder of them."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The picture to write: PNG, JPEG, TIFF, WebP.")
    ],
    reference: Annotated[
        str,
        typer.Option(help="The shot whose place and brightness to keep: auto, first or a file."),
    ] = "auto",
    align: Annotated[bool, typer.Option(help="Lay the shots over each other first.")] = True,
    turns: Annotated[
        bool,
        typer.Option(
            "--turns",
            help="Also merge the shots turned and mirrored, and take the mean of the eight "
            "pictures: a little less noise, eight times the time.",
        ),
    ] = False,
    compare: Annotated[
        Path | None,
        typer.Option(help="Also write a PNG with one shot, the aligned mean and the result."),
    ] = None,
    scale: Annotated[
        int, typer.Option(help="3 makes a picture three times as fine of LR*.png and QM*.png.")
    ] = 1,
    network: Annotated[
        Path | None, typer.Option(help="For --scale 3: the folder of a run of `run satellite`.")
    ] = None,
    device: AnyDevice = "auto",
) -> None:
    """Merge shots of one scene into one picture with less noise.

    Shots may be shifted, turned a little, and differ in brightness, white balance and sharpness.
    One shot alone is denoised, unless it is grey.
    """
    with user_errors(experiments=True):
        if scale != 1 or network is not None:
            if reference != "auto" or not align or compare is not None:
                raise ValueError("--scale 3 goes without --reference, --no-align and --compare")
            _enlarge(shots, out, scale, network, turns, device)
            return
        from symsets.tools.left_out import left_out_lines
        from symsets.tools.merge_files import merge_files

        with progress_bar("merging") as watch:
            done = merge_files(
                shots,
                out,
                reference=reference,
                align=align,
                turns=turns,
                device=device,
                compare=compare,
                watch=watch,
            )
        lines = left_out_lines(done.left_out)
        if (num := len(done.shots)) > 1:
            where = "aligned to" if align else "not aligned, as bright as"
            lines.append(f"{num} shots, {where} {done.reference}")
        if done.cut:
            lines.append(f"{out} has 8 bits, the shots have 16; a PNG or a TIFF keeps them")
        lines += [f"written to {path}" for path in (out, compare) if path]
        for line in lines:
            console.print(line, soft_wrap=True)


def _enlarge(
    folders: list[Path], out: Path, scale: int, network: Path | None, turns: bool, device: str
) -> None:
    """Make a fine picture of the coarse ones in a folder."""
    from symsets.experiments.satellite.enlarging import enlarge_scene
    from symsets.tools.merge_files import check_out, files_of

    if scale != 3 or network is None or len(folders) != 1:
        raise ValueError(
            "--scale must be 3, with one folder of a scene and --network, the folder of a trained "
            "run of symsets run satellite (PROBA-V's terms do not let us hand one on)"
        )
    check_out("out", out, files_of(folders[0]), (".png", ".tif", ".tiff"))
    num = enlarge_scene(folders[0], out, network, turns=turns, device=device)
    pictures = "one picture" if num == 1 else f"{num} pictures"
    console.print(f"{pictures} of {folders[0]}, three times as fine", soft_wrap=True)
    console.print(f"written to {out}", soft_wrap=True)

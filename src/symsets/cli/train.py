"""``symsets train FOLDER``."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from symsets.cli.common import console, user_errors
from symsets.cli.options import AnyDevice, Workers

RUNS = Path("runs")
EXAMPLES = ("digits",)  # each in a folder digits-sets, its network in digits


def train(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER",
            help="Sets: class/set/*.jpg, set/*.jpg or set.npy with labels.csv, a table, …",
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(help="classify, labels, regress, select, score or merge; found if left out."),
    ] = None,
    scheme: Annotated[
        str,
        typer.Option(
            help="How elements meet: dss-mean, dss-max, dss-sum, dss-median, attention, isab, "
            "aittala, sridhar, wreath or siamese; several, joined by commas, are compared."
        ),
    ] = "dss-mean,siamese",
    backbone: Annotated[
        str, typer.Option(help="small, or timm:NAME for a pretrained network.")
    ] = "small",
    size: Annotated[
        int | None,
        typer.Option(
            min=4, max=4096, help="Height and width of pictures, which are cropped to the middle."
        ),
    ] = None,
    resize: Annotated[
        str, typer.Option(help="crop to the middle, or scale all of a picture, which distorts.")
    ] = "crop",
    epochs: Annotated[
        int | None,
        typer.Option(min=1, max=10**6, help="Passes over all sets; 30, or 18 of the example."),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, max=10**6, help="Sets in a step; 32 of many, 4 of few.")
    ] = None,
    lr: Annotated[
        float | None,
        typer.Option(min=0, max=1000, help="The learning rate; 0.003, or 0.0003 with timm."),
    ] = None,
    precision: Annotated[str, typer.Option(help="float32, tf32, bfloat16, float16.")] = "float32",
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Give rare classes more weight.")
    ] = False,
    device: AnyDevice = "auto",
    workers: Workers = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Of splits and weights.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write to; one in runs if left out.")
    ] = None,
    example: Annotated[
        str | None, typer.Option(help="Make a folder to try this with: digits.")
    ] = None,
) -> None:
    """Train networks on a folder of sets, and compare them.

    What is asked is found from the folder. The best network is kept with its classes and with how
    pictures were prepared, for `symsets predict`. The same command continues after an interrupt.
    """
    with user_errors(experiments=True, continues=True):
        from symsets.pages import to_rich
        from symsets.tools import train_folder
        from symsets.train.checkpoints import UnusableCheckpointError

        given, folder = folder, _folder(folder, example)
        out = out or RUNS / (example if given is None and example else folder.resolve().name)
        try:
            trained = train_folder(
                folder,
                out,
                task=task,
                schemes=[name.strip() for name in scheme.split(",")],
                backbone=backbone,
                size=size,
                resize=resize,
                epochs=epochs or (18 if example else 30),
                batch_size=batch_size,
                learning_rate=lr,
                precision=precision,
                class_weights="balanced" if balanced else None,
                device=device,
                workers=workers,
                seed=seed,
                say=lambda line: console.print(line, soft_wrap=True),
            )
        except UnusableCheckpointError as error:
            raise ValueError(f"{error}, or choose another --out") from error
        console.print("", to_rich(trained.table, width=console.width), trained.headline, "")
        console.print(f"page written to {trained.page}", soft_wrap=True)
        console.print(f"use it: symsets predict {quote(str(out))} NEW_SETS", soft_wrap=True)


def _folder(folder: Path | None, example: str | None) -> Path:
    """Return the folder to train on; make it if an example is asked for."""
    if example is None:
        if folder is None:
            raise ValueError("FOLDER must be given, or --example digits to try the command")
        return folder
    if example not in EXAMPLES:
        raise ValueError(f"example must be one of {list(EXAMPLES)}, got {example!r}")
    from rich.progress import Progress

    from symsets.tools.examples import NUMBERS, write_digits

    folder = folder or RUNS / f"{example}-sets"
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(f"writing {folder}", total=sum(NUMBERS.values()))
        return write_digits(folder, watch=lambda: progress.advance(task))

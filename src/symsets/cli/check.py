"""``symsets check TARGET``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symsets.cli.common import console, user_errors


def check(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="file.py:function, which returns a network and its input, or an ONNX file.",
        ),
    ],
    symmetry: Annotated[
        list[str],
        typer.Option(
            help="permute:axis=1, roll, roll:axis=-1,by=4, flip, rotate, or a group such as "
            '"S5 x C4" on the last axes; may be repeated.'
        ),
    ] = ["permute:axis=1"],  # noqa: B006 (typer never changes it)
    shape: Annotated[
        str | None, typer.Option(help="Of the input of an ONNX file, such as 2,5,3,32,32.")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(min=0.0, help="The largest error; 1e-9, or 1e-4 for an ONNX file."),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw the error of every layer here (PNG).")
    ] = None,
) -> None:
    """Tell whether a network keeps a symmetry, and where it breaks; runs the code of TARGET.

    Ends with status 1 if a symmetry is broken.
    """
    with user_errors():
        from dataclasses import replace

        from symsets._files import check_file
        from symsets.pages import to_rich
        from symsets.tools.checking import check as measure
        from symsets.tools.checking import picture_of, table_of
        from symsets.tools.targets import read_shape, read_target

        if figure is not None:
            check_file("--figure", figure, (".png",))
        code = target.rpartition(":")[0]
        if code and not target.lower().endswith(".onnx"):
            console.print(f"running {code}", soft_wrap=True)
        network = read_target(target, None if shape is None else read_shape(shape))
        if tolerance is not None:
            network = replace(network, tolerance=tolerance)
        found = [measure(network, one) for one in symmetry]
        console.print(to_rich(table_of(found), width=console.width))
        for one in found:
            if not one.kept and one.breaks:
                console.print(f"{one.symmetry}: breaks first {one.breaks}", soft_wrap=True)
        if figure is not None:
            if not found[0].layers:
                raise ValueError("--figure must be left out: the layers of TARGET are not known")
            drawn = picture_of(found, figure.stem)
            figure.parent.mkdir(parents=True, exist_ok=True)
            drawn.save_png(figure.parent).replace(figure)  # as it was spelt
            console.print(f"figure written to {figure}", soft_wrap=True)
    if not all(one.kept for one in found):
        raise typer.Exit(1)

"""The ``symsets`` command."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from symsets._version import __version__
from symsets.cli import run
from symsets.cli.best import best
from symsets.cli.check import check
from symsets.cli.common import OneLineErrors, console, paragraphs, show_report, user_errors
from symsets.cli.evaluate import evaluate
from symsets.cli.merge import merge
from symsets.cli.pack import pack
from symsets.cli.predict import predict
from symsets.cli.train import train

__all__ = ["app", "main"]

app = typer.Typer(
    cls=OneLineErrors,
    help="Deep learning on sets whose elements have symmetries of their own.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
YOURS, PAPER, THEORY = "Your own sets", "The paper's experiments", "Theory"

USES = {  # kind of data: the experiments on it, and what else --data takes
    "images": ("colors, bursts or quality", "a folder of pictures, or a packed .npz"),
    "videos": ("frames", "a folder of videos, or a packed .npz"),
    "motions": ("shapes", "a folder with the files of Dynamic FAUST, or a packed .npz"),
    "views": ("views", "a folder of .obj, .ply or .glb meshes, or of views as published"),
    "scenes": ("satellite", "a folder with the scenes of ESA's challenge, or packs of them (.npz)"),
    "graphs": ("subgraphs", "the file GRAPHSAT.pkl of EXP, or lines in the format graph6 (.g6)"),
    "tables": ("tables", "a file .csv of numbers, whose last column is the class"),
    "digits": ("weights", "a folder with the files of MNIST, or one of pictures for each class"),
}


def _version(wanted: bool) -> None:
    if wanted:
        console.print(f"symsets {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a sign that cannot be shown stops nothing


def group(
    text: Annotated[str, typer.Argument(help='A group, such as "S5 x C4" or "C4 wr S5".')],
    figure: Annotated[
        Path | None, typer.Option(help="Write the picture of the scheme here (PNG, SVG or PDF).")
    ] = None,
) -> None:
    """Show the order of a permutation group and all linear layers that commute with it."""
    from symsets import groups
    from symsets._files import check_file
    from symsets.groups.picture import ENDINGS

    with user_errors():
        parsed = groups.parse(text)
        if figure is not None:
            check_file("--figure", figure, ENDINGS)
            groups.figure(parsed, figure)
        console.print(groups.describe(parsed, console.width), soft_wrap=True)
        if figure is not None:
            console.print(f"\nfigure written to {figure}", soft_wrap=True)


def report(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders with a results.json each.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="The page to write; report.html in the first DIR.")
    ] = None,
    examples: Annotated[
        bool,
        typer.Option(
            help="Show example sets, which are pictures of the data, where some are kept."
        ),
    ] = True,
) -> None:
    """Show finished runs beside the published numbers; write a page, Markdown and figures."""
    with user_errors(experiments=True):
        from symsets.experiments import report as reports

        show_report(reports.write(directories, out, examples=examples))


def data(
    directories: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[DIR]...",
            help="Where to look: folders with published datasets or packs, or with files of your "
            "own; SYMSETS_DATA if left out.",
        ),
    ] = None,
) -> None:
    """List the data that each experiment can use, and how to get the rest."""
    from symsets.experiments.study.catalogue import available

    with user_errors():
        entries = available(directories or None)
        for kind, (experiments, more) in USES.items():
            uses = f" for symsets run {experiments}; --data also takes {more}\n"
            console.print(Text.assemble((kind, "bold"), uses))
            for entry in entries:
                if entry.kind == kind:
                    mark = ("found    ", "green") if entry.found else ("missing  ", "red")
                    where = f" ({entry.where})" if entry.where else ""
                    line = Text.assemble("  ", mark, (entry.name, "bold"), where)
                    console.print(line, soft_wrap=True)  # a path to be copied
                    console.print(Padding(Text(entry.note), (0, 0, 1, 11)))


for _function, _panel in (
    *((command, YOURS) for command in (train, predict, merge, best)),
    *((command, PAPER) for command in (report, evaluate, data, pack)),
    (group, THEORY),
    (check, THEORY),
):
    app.command(rich_help_panel=_panel, help=paragraphs(_function))(_function)
app.add_typer(run.app, name="run", rich_help_panel=PAPER)


def main() -> None:
    """Run the command line."""
    app()

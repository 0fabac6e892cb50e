"""The ``symsets`` command."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from symsets._version import __version__
from symsets.extras import MissingExtraError
from symsets.train.records import checked_device

__all__ = ["app", "main"]

app = typer.Typer(
    help="Deep learning on sets whose elements have symmetries of their own.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
run_app = typer.Typer(help="Run an experiment of the paper.", no_args_is_help=True)
app.add_typer(run_app, name="run")
console = Console(highlight=False)


@contextmanager
def user_errors() -> Iterator[None]:
    """Turn what a user can get wrong into one line and exit status 2."""
    try:
        yield
    except (ValueError, OSError, MissingExtraError) as error:
        console = Console(stderr=True, highlight=False)
        console.print(f"symsets: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(2) from error


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
    pass


@app.command()
def group(
    text: Annotated[str, typer.Argument(help='A group, such as "S5 x C4" or "C4 wr S5".')],
    figure: Annotated[
        Path | None, typer.Option(help="Write the picture of the scheme here (PNG, SVG or PDF).")
    ] = None,
) -> None:
    """Show the order of a permutation group and all linear layers that commute with it."""
    from symsets import groups

    with user_errors():
        parsed = groups.parse(text)
        console.print(f"group      {parsed!r}")
        console.print(f"order      {groups.order_text(parsed)}")
        console.print(
            f"dimension  {groups.dimension(parsed)}  (free parameters of an equivariant layer)"
        )
        console.print(f"\n{groups.scheme_text(parsed)}", markup=False)
        if figure is not None:
            groups.figure(parsed, figure)
            console.print(f"\nfigure written to {figure}")


@run_app.command()
def orbits(
    out: Annotated[Path, typer.Option(help="Where to write results and figure.")] = Path(
        "runs/orbits"
    ),
    seeds: Annotated[int, typer.Option(min=1, help="Number of initialisations.")] = 1,
    steps: Annotated[int, typer.Option(min=1, help="Training steps of each network.")] = 400,
    device: Annotated[str, typer.Option(help="Where to train, such as cpu or cuda.")] = "cpu",
) -> None:
    """Show what early aggregation sees and late aggregation cannot (under a minute)."""
    from symsets.experiments import orbits as experiment

    with user_errors():
        checked_device(device)
    runs = len(experiment.MODELS) * len(experiment.HEIGHTS) * seeds
    console.print(
        "Each set holds four periodic signals; in half of the sets two of them were\n"
        "shifted. Which is which? A Siamese network looks at one signal at a time and\n"
        "adds up: it cannot know. A DSS layer shows every signal the sum of its set.\n"
        f"\nTraining {runs} small networks on {device}, about "
        f"{max(1, runs * steps // 100)} seconds.\n"
    )
    columns = (
        TextColumn("{task.description:28}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("loss {task.fields[loss]:.3f}"),
        TimeRemainingColumn(),
    )
    with user_errors():
        out.mkdir(parents=True, exist_ok=True)
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("", total=runs * steps, loss=float("nan"))
            outcomes = experiment.run(
                out,
                steps=steps,
                seeds=seeds,
                device=device,
                advance=lambda name, loss: progress.update(
                    task, advance=1, description=name, loss=loss
                ),
            )
        from symsets.report import orbits as report

        console.print(report.table(outcomes))
        report.figure(outcomes, out / "orbits.png")
    console.print(
        "\nSiamese answers alike, to rounding, for a set X and for X with elements moved:\n"
        "no training can change that. The plain sum goes blind where all entries of the\n"
        "set's sum are equal; power sums, or a second DSS layer, see again.\n"
        f"\nResults: {out / 'results.json'}   Figure: {out / 'orbits.png'}"
    )


def main() -> None:
    """Run the command line."""
    try:
        app()
    except KeyboardInterrupt:
        Console(stderr=True).print("interrupted")
        sys.exit(130)

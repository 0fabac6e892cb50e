"""The options that commands of experiments share, each declared once."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

DATA = typer.Option(help="A folder, a packed .npz, or a name that `symsets data` lists.")
Device = Annotated[str, typer.Option(help="Where to compute, such as cpu or cuda.")]
AnyDevice = Annotated[str, typer.Option(help="auto, cpu, cuda, …")]
Workers = Annotated[int | None, typer.Option(min=0, max=64, help="Processes that read files.")]
ImportFile = Annotated[
    Path | None,
    typer.Option("--import", help="A Python file to run first; it may register a scheme."),
]
ModelNames = Annotated[
    str | None,
    typer.Option(help="Models, joined by commas; all of the preset or study if left out."),
]
Out = Annotated[
    Path | None, typer.Option(help="Directory to write to; a folder in runs if left out.")
]


@dataclass(frozen=True)
class RunOptions:
    """What a user may ask of ``symsets run EXPERIMENT``: every field is one option."""

    data: Annotated[str | None, DATA] = None
    settings: Annotated[
        str | None,
        typer.Option("--settings", "--as", help="Settings of the experiment, joined by commas."),
    ] = None
    models: ModelNames = None
    train_sizes: Annotated[
        str | None, typer.Option(help="Numbers of training sets, joined by commas.")
    ] = None
    seeds: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Number of initialisations.")
    ] = None
    preset: Annotated[str, typer.Option(help="Size of the study: smoke, quick or paper.")] = "quick"
    recipe: Annotated[
        str, typer.Option(help="ours; published, as in the released code; modern (bursts, colors).")
    ] = "ours"
    out: Out = None
    device: Device = "cpu"
    precision: Annotated[str, typer.Option(help="float32, tf32, bfloat16, float16, float64.")] = (
        "float32"
    )
    lr: Annotated[str | None, typer.Option(help="A learning rate, or 'search' for each model.")] = (
        None
    )
    epochs: Annotated[int | None, typer.Option(min=1, max=10**6, help="Epochs at every size.")] = (
        None
    )
    data_seed: Annotated[int, typer.Option(min=0, max=2**31, help="Fixes the data.")] = 0
    import_: ImportFile = None
    together: Annotated[
        bool, typer.Option("--together", help="Train all seeds of a model as one computation.")
    ] = False
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="[ADDRESS]",
            help="Give the runs to Ray: to the cluster at an address, or to one that is found or "
            "started here.",
        ),
    ] = None
    gpus_per_run: Annotated[
        float, typer.Option(min=0.01, max=1, help="The part of a GPU that a run on Ray gets.")
    ] = 1.0


class RunCommand(TyperCommand):
    """A command whose option ``--ray`` may stand alone, which Typer does not know."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put an empty address behind an option ``--ray`` that has none."""
        for at in [at for at, word in enumerate(args) if word == "--ray"]:
            if at + 1 == len(args) or args[at + 1].startswith("-"):
                args = [*args[: at + 1], "", *args[at + 1 :]]
        return super().parse_args(ctx, args)


def add_command(
    app: typer.Typer,
    name: str,
    text: str,
    run: Callable[[str, RunOptions], None],
    *,
    without: Collection[str] = (),
) -> None:
    """Add a command whose options are the fields of :class:`RunOptions`, ``without`` some of them.

    ``text`` is its help; ``run`` is called with its name and what was typed.
    """

    def command(**typed: object) -> None:
        run(name, RunOptions(**typed))  # type: ignore[arg-type]

    hints = get_type_hints(RunOptions, include_extras=True)
    offered = [field for field in fields(RunOptions) if field.name not in without]
    # Typer reads the options of a command off the signature of its function.
    command.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name])
            for f in offered
        ]
    )
    command.__annotations__ = {field.name: hints[field.name] for field in offered}
    command.__doc__ = text
    app.command(name, cls=RunCommand)(command)

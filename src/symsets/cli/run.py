"""``symsets run EXPERIMENT``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from symsets.cli.common import console, show_report, user_errors
from symsets.train.processes import is_first
from symsets.train.records import checked_device

if TYPE_CHECKING:
    from symsets.experiments.signals import Group, Study

__all__ = ["app"]

app = typer.Typer(help="Run an experiment of the paper.", no_args_is_help=True)


@app.command()
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


@app.command()
def signals(
    models: Annotated[str | None, typer.Option(help="Models to compare, joined by commas;")] = None,
    train_sizes: Annotated[
        str | None, typer.Option(help="Numbers of training sets, joined by commas.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of initialisations.")] = None,
    preset: Annotated[
        str, typer.Option(help="Size of the study: smoke, quick or paper.")
    ] = "quick",
    recipe: Annotated[
        str, typer.Option(help="ours, or published as in the released code.")
    ] = "ours",
    out: Annotated[Path | None, typer.Option(help="Directory of the study.")] = None,
    device: Annotated[str, typer.Option(help="Where to train, such as cpu or cuda.")] = "cpu",
    precision: Annotated[str, typer.Option(help="float32, tf32, bfloat16 or float64.")] = "float32",
    lr: Annotated[str, typer.Option(help="A learning rate, or 'search' for each model.")] = "1e-3",
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs at every size.")] = None,
    data_seed: Annotated[int, typer.Option(min=0, help="Fixes the data.")] = 0,
    together: Annotated[
        bool, typer.Option("--together", help="Train all seeds of a model as one computation.")
    ] = False,
) -> None:
    """Classify 25 noisy measurements of one periodic signal (the paper's first experiment).

    Finished runs are not repeated; a study that was interrupted continues where it was.
    """
    from symsets import report
    from symsets.experiments import signals as experiment

    with user_errors(interrupted="interrupted; the same command continues where it was"):
        checked_device(device)
        study = experiment.make_study(
            out or Path("runs") / f"signals-{preset}",
            preset=preset,
            models=models,
            train_sizes=train_sizes,
            seeds=seeds,
            recipe=recipe,
            device=device,
            precision=precision,
            learning_rate=lr,
            epochs=epochs,
            data_seed=data_seed,
            together=together,
        )
        console.quiet = not is_first()
        console.print(experiment.announcement(study))
        _run_with_progress(study)
        if is_first():
            show_report(report.write([study.out]))
            console.print(f"results in {study.out / 'results.json'}", soft_wrap=True)


def _run_with_progress(study: Study) -> None:
    columns = (
        TextColumn("{task.description:24}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("val {task.fields[accuracy]:.3f}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        total = sum(group.cost for group in study.groups)
        task = progress.add_task("", total=total, accuracy=float("nan"))
        done = 0.0
        for group in study.groups:

            def watch(
                epoch: int, accuracy: float, group: Group = group, done: float = done
            ) -> None:
                share = group.cost * epoch / group.epochs
                name = group.name
                progress.update(task, completed=done + share, description=name, accuracy=accuracy)

            for record in study.run_group(group, watch):
                if record.value != record.value:
                    progress.console.print(
                        f"{record.model}, seed {record.seed}: the loss became NaN, run failed"
                    )
            done += group.cost

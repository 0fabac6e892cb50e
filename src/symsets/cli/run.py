"""``symsets run EXPERIMENT``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from symsets._checks import checked_device
from symsets._extras import check_experiments
from symsets.cli.common import console, show_left_out, show_report, user_errors
from symsets.train.processes import is_first

if TYPE_CHECKING:
    from symsets.experiments.study.group import Group
    from symsets.experiments.study.study import Study

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
    with user_errors():
        check_experiments()
        checked_device(device)
        from symsets.experiments.orbits import experiment as experiment
        from symsets.experiments.orbits import report as report

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
        console.print(report.table(outcomes))
        report.figure(outcomes, out / "orbits.png")
    console.print("", *report.conclusions(outcomes), sep="\n")
    console.print(
        f"\nResults: {out / 'results.json'}   Figure: {out / 'orbits.png'}", soft_wrap=True
    )


Models = Annotated[str | None, typer.Option(help="Models to compare, joined by commas.")]
TrainSizes = Annotated[str | None, typer.Option(help="Numbers of training sets, joined by commas.")]
Seeds = Annotated[int | None, typer.Option(min=1, help="Number of initialisations.")]
PresetName = Annotated[str, typer.Option(help="Size of the study: smoke, quick or paper.")]
Recipe = Annotated[str, typer.Option(help="ours, or published as in the released code.")]
Out = Annotated[Path | None, typer.Option(help="Directory of the study.")]
Device = Annotated[str, typer.Option(help="Where to train, such as cpu or cuda.")]
Precision = Annotated[str, typer.Option(help="float32, tf32, bfloat16, float16, float64.")]
LearningRate = Annotated[
    str | None, typer.Option(help="A learning rate, or 'search' for each model.")
]
Epochs = Annotated[int | None, typer.Option(min=1, help="Epochs at every size.")]
DataSeed = Annotated[int, typer.Option(min=0, help="Fixes the data.")]
Data = Annotated[
    str | None,
    typer.Option(help="A folder, a packed .npz, or a name that `symsets data` lists."),
]
Import = Annotated[
    Path | None,
    typer.Option("--import", help="A Python file to run first; it may register a scheme."),
]
SettingNames = Annotated[
    str | None,
    typer.Option("--settings", "--as", help="Settings of the experiment, joined by commas."),
]


@app.command()
def signals(
    models: Models = None,
    train_sizes: TrainSizes = None,
    seeds: Seeds = None,
    preset: PresetName = "quick",
    recipe: Recipe = "ours",
    out: Out = None,
    device: Device = "cpu",
    precision: Precision = "float32",
    lr: LearningRate = None,
    epochs: Epochs = None,
    data_seed: DataSeed = 0,
    import_: Import = None,
    together: Annotated[
        bool, typer.Option("--together", help="Train all seeds of a model as one computation.")
    ] = False,
) -> None:
    """Classify 25 noisy measurements of one periodic signal (the paper's first experiment).

    Finished runs are not repeated; a study that was interrupted continues where it was. The same
    command started several times shares the runs between its processes.
    """
    _run(
        "signals",
        out,
        models=models,
        train_sizes=train_sizes,
        seeds=seeds,
        preset=preset,
        recipe=recipe,
        device=device,
        precision=precision,
        learning_rate=lr,
        epochs=epochs,
        data_seed=data_seed,
        import_=import_,
        together=together,
    )


def _add_command(name: str, summary: str) -> None:
    """Add the command of an experiment on data that a user may have."""

    def command(
        data: Data = None,
        settings: SettingNames = None,
        models: Models = None,
        train_sizes: TrainSizes = None,
        seeds: Seeds = None,
        preset: PresetName = "quick",
        recipe: Recipe = "ours",
        out: Out = None,
        device: Device = "cpu",
        precision: Precision = "float32",
        lr: LearningRate = None,
        epochs: Epochs = None,
        data_seed: DataSeed = 0,
        import_: Import = None,
    ) -> None:
        _run(
            name,
            out,
            data=data,
            settings=settings,
            models=models,
            train_sizes=train_sizes,
            seeds=seeds,
            preset=preset,
            recipe=recipe,
            device=device,
            precision=precision,
            learning_rate=lr,
            epochs=epochs,
            data_seed=data_seed,
            import_=import_,
        )

    command.__doc__ = (
        f"{summary}\n\n"
        "Finished runs are not repeated; a study that was interrupted continues where it was. The "
        "same command started several times shares the runs between its processes."
    )
    app.command(name)(command)


_add_command("quality", "Select the best of 20 degraded copies of a photograph.")
_add_command("colors", "Match six single-channel pictures to two colour photographs.")
_add_command("bursts", "Merge five blurred, noisy shots into one sharp picture.")
_add_command("frames", "Select the first of eight shuffled frames of a video.")
_add_command("shapes", "Select the central of seven shuffled shapes of a moving human.")
_add_command("views", "Reconstruct an object from three views of it.")


def _run(
    name: str,
    out: Path | None,
    *,
    preset: str,
    device: str,
    import_: Path | None,
    **described: Any,
) -> None:
    with user_errors(interrupted="interrupted; the same command continues where it was"):
        check_experiments()
        from symsets.experiments import report
        from symsets.experiments.study.describe import announcement, make_study
        from symsets.experiments.study.experiment import find_experiment
        from symsets.experiments.study.imported import import_file

        checked_device(device)
        experiment = find_experiment(name)
        out = out or Path("runs") / f"{name}-{preset}"
        taken = (*experiment.models, *experiment.baselines)
        imported = import_file(import_, taken=taken) if import_ else None
        study = make_study(experiment, out, preset=preset, device=device, **described)
        if imported and is_first():
            imported.keep(out)
        console.quiet = not is_first()
        console.print(announcement(study))
        study.keep_inputs()
        study.measure_source()
        study.run_baselines()
        _run_with_progress(study)
        # A kill may have come between the end of a run and its records; and while other processes
        # are at all runs there are none.
        if is_first() and study.write_results():
            show_left_out(study)
            show_report(report.write([study.out]))
            console.print(f"results in {study.out / 'results.json'}", soft_wrap=True)


def _run_with_progress(study: Study) -> None:
    if not study.groups:
        return
    columns = (
        TextColumn("{task.description:24}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.fields[value]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=_cost(study), value="")
        done = 0.0
        for group in study.take_groups():
            progress.update(task, total=done + _cost(study))  # others may have made some

            def watch(epoch: int, value: float, group: Group = group, done: float = done) -> None:
                share = group.cost * epoch / group.epochs
                name = group.name
                shown = f"val {value:.3f}"
                progress.update(task, completed=done + share, description=name, value=shown)

            records = study.run_group(group, watch)
            failed = {(r.model, r.seed) for r in records if r.value != r.value}
            for model, seed in sorted(failed):
                progress.console.print(f"{model}, seed {seed}: the loss became NaN, run failed")
            done += group.cost
        progress.update(task, total=done)
    if left := sum(len(group.seeds) for group in study.left()):
        console.print(f"{left} {'run is' if left == 1 else 'runs are'} left to other processes\n")


def _cost(study: Study) -> float:
    return sum(group.cost for group in study.left())

"""``symsets run EXPERIMENT``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from symsets._extras import check_experiments
from symsets.cli.common import console, show_left_out, show_report, user_errors
from symsets.cli.options import Device, Out, RunOptions, add_command

if TYPE_CHECKING:
    from symsets.experiments.study.imported import Imported
    from symsets.experiments.study.runs import RunGroup
    from symsets.experiments.study.study import Study

app = typer.Typer(help="Run an experiment of the paper.", no_args_is_help=True)

SUMMARIES = {
    "signals": "Classify 25 noisy measurements of one periodic signal.",
    "quality": "Select the best of 20 degraded copies of a photograph.",
    "colors": "Match six single-channel pictures to two colour photographs.",
    "bursts": "Merge five blurred, noisy shots into one sharp picture.",
    "frames": "Select the first of eight shuffled frames of a video.",
    "shapes": "Select the central of seven shuffled shapes of a moving human.",
    "views": "Reconstruct an object from three views of it.",
    "satellite": "Merge coarse satellite pictures into one three times as fine.",
}
CONTINUES = (
    "Finished runs are not repeated; a study that was interrupted continues where it was. The same "
    "command started several times shares the runs between its processes."
)


@app.command()
def orbits(
    out: Out = None,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Number of initialisations.")] = 1,
    steps: Annotated[
        int, typer.Option(min=1, max=10**6, help="Training steps of each network.")
    ] = 400,
    device: Device = "cpu",
) -> None:
    """Show what early aggregation sees and late aggregation cannot (under a minute)."""
    with user_errors():
        check_experiments()
        from symsets._checks import checked_device
        from symsets.experiments.orbits import experiment, report

        checked_device(device)
        out = out or Path("runs/orbits")
        runs = len(experiment.MODELS) * len(experiment.HEIGHTS) * seeds
        seconds = max(1, runs * steps // 100)
        console.print(experiment.STORY)
        console.print(f"\nTraining {runs} small networks on {device}, about {seconds} seconds.\n")
        with Progress(*_columns("loss {task.fields[value]:.3f}"), console=console) as progress:
            task = progress.add_task("", total=runs * steps, value=float("nan"))

            def advance(name: str, loss: float) -> None:
                progress.update(task, advance=1, description=name, value=loss)

            outcomes = experiment.run(out, steps=steps, seeds=seeds, device=device, advance=advance)
        console.print(report.table(outcomes))
        report.figure(outcomes, out / "orbits.png")
        console.print("", *report.conclusions(outcomes), "", sep="\n")
        written = f"Results: {out / 'results.json'}   Figure: {out / 'orbits.png'}"
        console.print(written, soft_wrap=True)


def _run(name: str, options: RunOptions) -> None:
    with user_errors(interrupted="interrupted; the same command continues where it was"):
        check_experiments()
        from symsets._checks import checked_device
        from symsets.experiments import report
        from symsets.experiments.study.describe import announcement, make_study
        from symsets.experiments.study.experiment import find_experiment
        from symsets.experiments.study.imported import Imported, import_file
        from symsets.train.processes import is_first

        checked_device(options.device)
        experiment = find_experiment(name)
        taken = (*experiment.models, *experiment.baselines)
        imported = import_file(options.import_, taken=taken) if options.import_ else Imported()
        study = make_study(experiment, options)
        if is_first():
            imported.keep(study.out)
        for model in study.preset.models:
            with imported.named(model):  # before hours of training others
                study.network(study.preset.settings[0], model, 0)
        console.quiet = not is_first()
        console.print(announcement(study))
        study.keep_inputs()
        study.measure_source()
        study.run_baselines()
        _run_with_progress(study, imported)
        # A kill may have come between the end of a run and its records; and while other processes
        # are at all runs there are none.
        if is_first() and study.write_results():
            show_left_out(study)
            show_report(report.write([study.out]))
            console.print(f"results in {study.out / 'results.json'}", soft_wrap=True)


for _name, _summary in SUMMARIES.items():
    _without = ("data", "settings") if _name == "signals" else ("together",)
    add_command(app, _name, f"{_summary}\n\n{CONTINUES}", _run, without=_without)


def _columns(value: str) -> tuple[ProgressColumn, ...]:
    """Return what a line of progress shows: a name, a bar, a share, a value, the time left."""
    bar, name = BarColumn(bar_width=24), TextColumn("{task.description:24}")
    return name, bar, TaskProgressColumn(), TextColumn(value), TimeRemainingColumn()


def _run_with_progress(study: Study, imported: Imported) -> None:
    if not study.groups:
        return
    with Progress(*_columns("{task.fields[value]}"), console=console) as progress:
        task = progress.add_task("", total=_cost(study), value="")
        done = 0.0
        for group in study.take_groups():
            progress.update(task, total=done + _cost(study))  # others may have made some

            def watch(
                epoch: int, value: float, group: RunGroup = group, done: float = done
            ) -> None:
                share = group.cost * epoch / group.epochs
                name = group.name
                shown = f"val {value:.3f}"
                progress.update(task, completed=done + share, description=name, value=shown)

            with imported.named(group.model):
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

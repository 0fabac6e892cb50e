"""``symsets run EXPERIMENT``."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.live import Live
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from symsets.cli.common import console, show_left_out, show_report, user_errors
from symsets.cli.options import Device, Out, RunOptions, add_command

if TYPE_CHECKING:
    from symsets.experiments.study.cluster import Job
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
    "subgraphs": "Classify graphs by the sets of their subgraphs.",
    "tables": "Classify rows of a table by other rows, whatever its size and classes.",
    "weights": "Classify pictures by the weights of networks that draw them.",
}
STATES = ("running", "failed", "waiting", "done")  # in the order of the table
CONTINUES = (
    "Finished runs are not repeated; a study that was interrupted continues where it was. With "
    "--ray several runs are made at a time, on one machine or on many that share its folder."
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
    with user_errors(experiments=True):
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
    with user_errors(experiments=True, continues=True):
        from symsets._checks import check_choice, checked_device
        from symsets.experiments import report
        from symsets.experiments.study.describe import announcement, make_study
        from symsets.experiments.study.experiment import find_experiment
        from symsets.experiments.study.imported import Imported, import_file
        from symsets.experiments.study.runs import lock_study
        from symsets.train.processes import forget_launcher, is_first

        if options.ray is None:
            checked_device(options.device)
        else:
            check_choice("device", options.device, ("cpu", "cuda"))  # Ray says which GPU
            forget_launcher()
        experiment = find_experiment(name)
        taken = (*experiment.models, *experiment.baselines)
        imported = import_file(options.import_, taken=taken) if options.import_ else Imported()
        study = make_study(experiment, options)
        with lock_study(study.out) if is_first() else nullcontext():
            code = imported.keep(study.out) if is_first() else None
            for model in study.preset.models:
                with imported.named(model):  # before hours of training others
                    study.network(study.preset.settings[0], model, 0)
            console.quiet = not is_first()
            console.print(announcement(study))
            if options.ray is not None:
                _run_on_ray(study, code, options)
            else:
                study.prepare()
                _run_with_progress(study, imported)
            if is_first():
                study.write_results()  # a kill may have come between the end of a run and this
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
        total = sum(group.cost for group in study.groups)
        task = progress.add_task("", total=total, value="")
        done = 0.0
        for group in study.groups:

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
            progress.update(task, completed=done)


def _run_on_ray(study: Study, code: Path | None, options: RunOptions) -> None:
    from symsets.experiments.study.cluster import run_on_ray

    gpus = options.gpus_per_run
    with Live(console=console) as live:
        for jobs in run_on_ray(study, code, address=options.ray or "", gpus_per_run=gpus):
            live.update(_table(jobs))


def _table(jobs: list[Job]) -> Table:
    """Return a table of all runs; those at work come first, and a small terminal shows these."""
    states = Counter(job.state for job in jobs)
    table = Table(caption=", ".join(f"{num} {state}" for state, num in states.items()))
    for title in ("run", "state", "epoch", "val", "on", "starts"):
        table.add_column(title)
    for job in sorted(jobs, key=lambda job: STATES.index(job.state)):
        of = f"{job.epoch}/{job.group.epochs}" if job.group and job.starts else ""
        value = "" if job.value != job.value else f"{job.value:.3f}"
        table.add_row(job.name, job.state, of, value, job.node, str(job.starts or ""))
    return table

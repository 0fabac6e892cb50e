"""``symsets evaluate STUDY --data DATA``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from symsets.cli.common import console, show_left_out, show_report, user_errors
from symsets.cli.options import DATA, Device, ImportFile, ModelNames, Out
from symsets.cli.parse import MOST_SETS


def evaluate(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="The directory of a study, with its networks.")
    ],
    data: Annotated[str, DATA],
    models: ModelNames = None,
    sets: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_SETS, help="Number of test sets; as in the study if left out."
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Test on all of the data, not on their test split alone.")
    ] = False,
    out: Out = None,
    device: Device = "cpu",
    import_: ImportFile = None,
) -> None:
    """Test the trained networks of a study on other data, and show what they make of them.

    The test split of the data is used, or with --all everything, if none of it was used in
    training. Networks that have been tested are not tested again.
    """
    with user_errors(experiments=True, continues=True):
        from symsets._checks import checked_device
        from symsets.experiments import report
        from symsets.experiments.study.imported import Imported, import_file
        from symsets.experiments.study.runs import lock_study
        from symsets.experiments.study.transfer import make_transfers

        checked_device(device)
        imported = Imported() if import_ is None else import_file(import_)
        transfers = make_transfers(
            study, data, out, models=models, num_sets=sets, everything=everything, device=device
        )
        with lock_study(transfers[0].out):
            for transfer in transfers:
                networks = transfer.left()
                size = transfer.preset.test_size
                console.print(
                    f"{transfer.experiment.name} on {transfer.name}: {size:,} test sets, "
                    f"{len(networks)} of {len(transfer.networks)} networks to go, on {device}",
                    soft_wrap=True,
                )
                transfer.keep_inputs()
                transfer.run_baselines()
                with Progress(console=console) as progress:
                    task = progress.add_task("", total=len(networks))
                    for trained in networks:
                        progress.update(task, description=trained.name)
                        with imported.named(trained.config["model"]):
                            transfer.test(trained)
                        progress.advance(task)
            console.print()
            transfers[0].write_results()
            show_left_out(transfers[0])
            show_report(report.write([transfers[0].out]))

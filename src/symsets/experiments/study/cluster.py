"""A study on Ray: each of its runs is a task, on whatever machine has room for it."""

import math
import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from symsets._extras import require
from symsets._files import shorten
from symsets.data.folders import STUDY
from symsets.experiments.study.imported import Imported, import_file
from symsets.experiments.study.runs import RunGroup
from symsets.experiments.study.study import Study, Watch
from symsets.train.processes import forget_launcher

RETRIES = 3  # of a task whose worker died
SECONDS = 0.5  # between two looks at the tasks


@dataclass(eq=False)
class Job:
    """A Ray task of a study, and how far it is.

    Attributes:
        name: What a table calls it.
        call: What it does, given the study and whom to tell of finished epochs.
        group: What it trains, if anything.
        searches: Whether it searches for a learning rate.
        state: ``"waiting"``, ``"running"``, ``"done"`` or ``"failed"``: the loss became NaN.
        starts: How often it was started; more than once if its worker died.
        epoch: Finished epochs.
        value: The mean validation metric.
        node: The machine that works on it.
    """

    name: str
    call: Callable[..., Any]
    group: RunGroup | None = None
    searches: bool = False
    state: str = "waiting"
    starts: int = 0
    epoch: int = 0
    value: float = math.nan
    node: str = ""

    @property
    def model(self) -> str:
        """What it trains, if anything."""
        return self.group.model if self.group else ""

    @property
    def place(self) -> tuple[str, str]:
        """What has a learning rate of its own: a model at a setting."""
        return (self.group.setting if self.group else "", self.model)

    def hear(self, starts: int, epoch: int, value: float, node: str) -> None:
        """Take a message of the task."""
        self.state, self.node, self.starts = "running", node, self.starts + starts
        self.epoch, self.value = epoch, value


def run_on_ray(
    study: Study, code: Path | None = None, *, address: str = "", gpus_per_run: float = 1.0
) -> Iterator[list[Job]]:
    """Make all runs of a study that are left, and give the state of all of them again and again.

    A run whose worker dies is started again, and continues from its last checkpoint. Numbers are
    those of a study without Ray. All machines must see the directory of the study, and the data.

    Args:
        study: What to run.
        code: A Python file to run first in each worker.
        address: Of the cluster; an empty one starts Ray here, unless it runs already.
        gpus_per_run: The part of a GPU that each run gets, if it is to train on one.
    """
    ray = require("ray", "cluster")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray.init(address or None, log_to_driver=False, logging_level="error")
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"ray must name a cluster that runs, got {address!r}: {shorten(str(error))}"
        ) from error
    try:
        gpus = gpus_per_run if study.device == "cuda" else 0
        if gpus > ray.cluster_resources().get("GPU", 0):
            raise ValueError(f"device must be cpu where no machine has a GPU, got {study.device!r}")
        yield from _drive(ray, study, code, gpus)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except ray.exceptions.RayError as error:
        raise ValueError(f"a run was given up: {shorten(str(error))}") from error
    finally:
        ray.shutdown()  # ends the tasks that still run


def _drive(ray: Any, study: Study, code: Path | None, gpus: float) -> Iterator[list[Job]]:
    """Give all jobs to Ray, each when what it needs is there, and keep what they find."""
    from ray.util.queue import Queue
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    queue = Queue(actor_options={"num_cpus": 0, "scheduling_strategy": here})
    common = ray.put(study), code and code.absolute(), sys.argv, queue
    task = ray.remote(num_gpus=gpus, max_retries=RETRIES)(_work)
    jobs, pending = _jobs(study), {}

    def submit(ready: Iterable[Job]) -> None:
        for job in ready:
            pending[task.remote(*common, jobs.index(job), job.call, job.model)] = job

    missing = {job.place for job in jobs if job.searches}
    submit(job for job in jobs if job.searches or job.place not in missing)
    while pending:
        done, _ = ray.wait(list(pending), timeout=SECONDS)
        for number, *heard in queue.get_nowait_batch(queue.size()):
            jobs[number].hear(*heard)
        for job, (found, notes) in [(pending.pop(ref), ray.get(ref)) for ref in done]:
            study.notes += notes
            if job.searches and job.group:
                study.keep_search(job.group, found)
                submit(other for other in jobs if not other.searches and other.place == job.place)
            else:
                study.write_results()  # workers do, too, and an older list may come last
            failed = not job.searches and any(record.value != record.value for record in found)
            job.state = "failed" if failed else "done"
        yield jobs


def _jobs(study: Study) -> list[Job]:
    """Return what there is to do: searches first, since runs wait for them."""
    groups = study.groups
    places = dict.fromkeys((group.setting, group.model) for group in groups)
    known = study.config.learning_rate is not None
    trials = [study.trial(*p) for p in places if not known and study.searched(*p) is None]
    searches = [
        Job(f"search, {trial.name}", partial(Study.search, trial=trial), trial, searches=True)
        for trial in trials
    ]
    names = (f"{group.name}, seed {', '.join(map(str, group.seeds))}" for group in groups)
    calls = (partial(Study.run_group, group=group) for group in groups)
    return [Job("baselines", _prepare), *searches, *map(Job, names, calls, groups)]


def _prepare(study: Study, watch: Watch) -> list[Any]:
    study.prepare()
    return []


def _work(
    study: Study,
    code: Path | None,
    argv: list[str],
    queue: Any,
    number: int,
    call: Callable[..., Any],
    model: str,
) -> tuple[Any, list[str]]:
    """Do a job in a worker; return what it found, and what of the data could not be used."""
    forget_launcher()
    sys.argv = argv  # records hold the command that a person typed
    node = socket.gethostname()
    if not (study.out / STUDY).exists():
        raise ValueError(f"out must be a folder that all machines share, {node} has no {study.out}")
    imported = _import_once(code) if code else Imported()
    queue.put((number, 1, 0, math.nan, node))
    with imported.named(model):
        found = call(study, watch=lambda epoch, value: queue.put((number, 0, epoch, value, node)))
    return found, study.left_out()


_import_once = cache(import_file)  # in each worker

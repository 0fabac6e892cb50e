"""Several processes train one network; this file is also what torchrun starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from symsets import DSS, Sequential
from symsets.experiments.signals.sets import Signals
from symsets.nn import CircularConv1d, Classify
from symsets.train import ACCURACY, Plan, Task, fit, fit_together
from symsets.train.processes import distributed_options, forget_launcher, is_first

TORCHRUN = {"WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4", "RANK": "5"}
SLURM = {"SLURM_NTASKS": "4", "SLURM_NTASKS_PER_NODE": "2", "SLURM_PROCID": "0"}


@pytest.fixture
def clean(monkeypatch):
    for name in (*TORCHRUN, *SLURM):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("clean")
def test_alone_nothing_is_distributed():
    assert distributed_options() == {}
    assert is_first()


@pytest.mark.usefixtures("clean")
def test_a_process_forgets_who_launched_it_and_nothing_else(monkeypatch):
    for name, value in {**TORCHRUN, **SLURM, "LOCAL_RANK": "1", "MY_RANK": "7"}.items():
        monkeypatch.setenv(name, value)
    forget_launcher()
    assert distributed_options() == {}
    assert is_first()
    assert "LOCAL_RANK" not in os.environ
    assert os.environ["MY_RANK"] == "7"


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize(
    ("environment", "devices", "first"), [(TORCHRUN, 4, False), (SLURM, 2, True)]
)
def test_launchers_are_recognised(monkeypatch, environment, devices, first):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert distributed_options() == {"strategy": "ddp", "devices": devices, "num_nodes": 2}
    assert is_first() is first


def train(function, out, **options):
    """Return the losses and the weights of a network without batch statistics.

    Two processes cannot share the batches of 15 evenly.
    """
    torch.manual_seed(0)
    net = Sequential(DSS(CircularConv1d(1, 4, 8), size=3), nn.ReLU(), Classify(4, 3, size=3))
    signals = Signals(num_elements=3, length=8)
    sets, val = (signals.make(s, 64).to("cpu", torch.float64) for s in ("train", "val"))
    how = {"epochs": 2, "batch_size": 15, "learning_rate": 1e-2, "precision": "float64"}
    if function == "fit":  # of sets that are read one by one
        items = [(x, y) for x, y in sets]
        fit(net, items, val, **how, device="cpu", progress=False, out=out / "run", **options)
        best, curves = net.state_dict(), net.history
    else:
        task = Task(cross_entropy, (ACCURACY,))
        [fitted] = fit_together([net], [0], Plan(**how), sets, val, task, **options)
        best, curves = fitted.best, fitted.curves
    return torch.tensor([row["train_loss"] for row in curves]), best


FUNCTIONS = ("fit", "fit_together")


def main(out):
    torch.set_num_threads(1)
    found = {name: train(name, out, devices=2, strategy="ddp") for name in FUNCTIONS}
    assert torch.distributed.get_world_size() == 2
    if torch.distributed.get_rank() == 0:
        torch.save(found, out / "two.pt")


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Return what two processes make of each function."""
    out = tmp_path_factory.mktemp("two")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", "2", __file__, str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return torch.load(out / "two.pt")


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
def test_two_processes_get_the_result_of_one(function, two, tmp_path):
    (losses, weights), (found, best) = train(function, tmp_path), two[function]
    torch.testing.assert_close(found, losses, rtol=1e-6, atol=0)  # which are summed in float32
    torch.testing.assert_close(best, weights, rtol=1e-9, atol=1e-9)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Run commands in forks of a process that has imported everything, so that a start costs nothing.

Each line of input is a list of words; the answer is the number of the process that runs them. Its
output goes to the file that the first word names.
"""

import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from importlib import import_module

import torch
from torch import nn
from torch.utils.data import Dataset

from symsets import DSS, Sequential
from symsets.cli import app
from symsets.experiments.study.experiment import EXPERIMENTS, find_experiment
from symsets.nn import Classify
from symsets.train import fit

SMALL = {"train_sizes": (8,), "epochs": (6,), "test_size": 4, "batch_size": 4, "width": 0.03}
LATER = ("study.describe", "study.study", "study.transfer", "report")  # imported when they are used


class Sets(Dataset):
    """Sets of different sizes that are never the same, as of a folder with augmentation."""

    def __init__(self, num):
        self.x = torch.randn(num, 5, 3, generator=torch.Generator().manual_seed(num))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, k):
        x = self.x[k, : 2 + k % 4]
        return x + 0.3 * torch.randn_like(x), int(x[:, 0].amax() > 1)


def train(out, workers):
    torch.manual_seed(0)
    net = Sequential(DSS(nn.Linear(3, 8), pool="max"), nn.ReLU(), Classify(8, 2, pool="max"))
    how = {"epochs": 25, "learning_rate": 1e-2, "progress": False, "device": "cpu"}
    fit(net, Sets(400), Sets(50), out=out, workers=int(workers), **how)


def run(words):
    if words[0] == "fit":
        train(*words[1:])
    else:
        sys.argv = ["symsets", *words]
        app(words, standalone_mode=False)


def serve():
    torch.set_num_threads(1)
    for name in ("lightning.fabric", *(f"symsets.experiments.{name}" for name in LATER)):
        import_module(name)
    for name in EXPERIMENTS:
        presets = find_experiment(name).presets
        presets["smoke"] = replace(presets["smoke"], **SMALL)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody has to wait for the forks
    print("ready", flush=True)
    for line in sys.stdin:
        log, *words = json.loads(line)
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(file, 1)
            os.dup2(file, 2)
            try:
                run(words)
            except BaseException as error:
                os.write(2, f"\n{type(error).__name__}: {error}\n".encode())
            finally:
                os._exit(0)
        with suppress(ProcessLookupError):  # it has ended
            os.setpgid(child, child)  # so that it can be killed with its workers
        print(child, flush=True)


if __name__ == "__main__":
    serve()

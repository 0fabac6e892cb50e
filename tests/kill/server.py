"""Run commands in forks of a process that has imported everything, so that a start costs nothing.

Each line of input is a list of words; the answer is the number of the process that runs them. Its
output goes to the file that the first word names.
"""

import json
import os
import signal
import sys
from dataclasses import replace

import torch

from symsets.cli import app
from symsets.experiments.study import describe, study, transfer  # noqa: F401
from symsets.experiments.study.experiment import EXPERIMENTS, find_experiment

SMALL = {"train_sizes": (8,), "epochs": (6,), "test_size": 4, "batch_size": 4, "width": 0.03}


def serve():
    torch.set_num_threads(1)
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
            sys.argv = ["symsets", *words]
            try:
                app(words, standalone_mode=False)
            except BaseException as error:
                os.write(2, f"\n{type(error).__name__}: {error}\n".encode())
            finally:
                os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    serve()

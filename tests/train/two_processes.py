"""Train a network without batch statistics; run by torchrun in one or two processes."""

import json
import sys

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from symsets import DSS, Sequential
from symsets.experiments.signals.sets import Signals
from symsets.nn import CircularConv1d, Classify
from symsets.train import fit
from symsets.train.fitting import fit_together
from symsets.train.metrics import ACCURACY, Task
from symsets.train.plan import Plan


def main(path, processes, function):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = Sequential(DSS(CircularConv1d(1, 4, 8), size=3), nn.ReLU(), Classify(4, 3, size=3))
    signals = Signals(num_elements=3, length=8)
    train, val = (signals.make(s, 64).to("cpu", torch.float64) for s in ("train", "val"))
    options = {"devices": processes, "strategy": "ddp"} if processes > 1 else {}
    how = {"epochs": 2, "batch_size": 16, "learning_rate": 1e-2, "precision": "float64"}
    if function == "fit":  # of sets that are read one by one
        items = [(x, y) for x, y in train]
        fit(net, items, val, **how, device="cpu", progress=False, out=f"{path}-run", **options)
        best, curves = net.state_dict(), net.history
    else:
        task = Task(cross_entropy, (ACCURACY,))
        [fitted] = fit_together([net], [0], Plan(**how), train, val, task, **options)
        best, curves = fitted.best, fitted.curves
    if not torch.distributed.is_initialized() or torch.distributed.get_rank() == 0:
        weights = {name: value.tolist() for name, value in best.items()}
        losses = [row["train_loss"] for row in curves]
        with open(path, "w") as file:
            json.dump({"weights": weights, "losses": losses}, file)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])

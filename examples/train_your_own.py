"""Train on sets of your own: which of eight measurements is the most typical one?

A tensor of sets, a target for each, a network and a plan are all that ``fit_together`` needs: it
validates, keeps the best epoch, stops early, continues after a kill and uses a GPU if told to. Run
``python examples/train_your_own.py``; about ten seconds.
"""

from statistics import fmean

import torch
from torch import nn

from symsets import DSS, Sequential, select_loss
from symsets.data import LabelledSets
from symsets.nn import Select
from symsets.train import ACCURACY, Plan, Task, evaluate, fit_together

NUM_SETS, NUM_ELEMENTS, CHANNELS = 4000, 8, 3
WIDTH, EPOCHS, SEEDS = 64, 20, (0, 1, 2)
EXPECTED = "about 0.97"


def make_sets(num: int) -> LabelledSets:
    """Return points in space, and which of a set is nearest to the mean of all of them."""
    x = torch.randn(num, NUM_ELEMENTS, CHANNELS)  # your own data go here: (M, N, C, *E)
    distance = (x - x.mean(dim=1, keepdim=True)).norm(dim=2)  # (M, N)
    return LabelledSets(x, distance.argmin(dim=1))


def network() -> nn.Module:
    """Two layers that see the whole set, then a score for each of its elements."""
    return Sequential(
        DSS(nn.Linear(CHANNELS, WIDTH), pool="mean"),
        nn.ReLU(),
        DSS(nn.Linear(WIDTH, WIDTH), pool="mean"),
        nn.ReLU(),
        Select(WIDTH),
    )


def show(epoch: int, values: list[float]) -> None:
    """Print what validation says about each seed."""
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:3}   accuracy", *(f"{value:.3f}" for value in values))


def main(epochs: int = EPOCHS) -> float:
    """Train three networks as one computation, test them, and return the mean accuracy."""
    torch.manual_seed(0)
    train, val, test = make_sets(NUM_SETS), make_sets(1000), make_sets(1000)
    networks = [network() for _ in SEEDS]
    print(networks[0])
    task = Task(select_loss, (ACCURACY,))  # the first metric chooses the epoch to keep
    plan = Plan(epochs, batch_size=64, learning_rate=5e-3, patience=10)
    fitted = fit_together(networks, SEEDS, plan, train, val, task, progress=show)
    for net, one in zip(networks, fitted, strict=True):
        net.load_state_dict(one.best)
    accuracy = fmean(evaluate(net.eval(), test, task)[0].mean("accuracy") for net in networks)
    print(f"test accuracy {accuracy:.3f} (expect {EXPECTED}; chance {1 / NUM_ELEMENTS:.3f})")
    return accuracy


if __name__ == "__main__":
    main()

"""Classify sets: which wave is behind 10 to 25 noisy measurements of it?

A training loop of your own, for sets of different sizes. Run
``python examples/classify_measurements.py``; some fifteen seconds on two CPU cores.
"""

import warnings

import torch
from torch import Tensor, nn

from symsets import DSS, RaggedSets, Sequential
from symsets.experiments.signals.sets import CLASSES, Signals
from symsets.nn import CircularConv1d, Classify
from symsets.nn.circular import SymmetryWarning

FEWEST, NUM_ELEMENTS, LENGTH, NOISE = 10, 25, 64, 1.0
WIDTH, BATCH, STEPS, LEARNING_RATE = 24, 32, 500, 5e-3
EXPECTED = "about 0.92"


def network() -> nn.Module:
    """Two layers that share information between the measurements, then one label per set."""

    def conv(i: int, o: int, length: int) -> nn.Module:
        return CircularConv1d(i, o, length, stride=2)

    return Sequential(
        DSS(conv(1, WIDTH, LENGTH), pool="mean"),  # L1(x_i) + L2(mean_j x_j), for any size
        nn.BatchNorm1d(WIDTH),
        nn.ReLU(),
        DSS(conv(WIDTH, WIDTH, LENGTH // 2), pool="mean"),
        nn.BatchNorm1d(WIDTH),
        nn.ReLU(),
        Classify(WIDTH, len(CLASSES), pool="mean"),
    )


def some_of_each(x: Tensor) -> RaggedSets:
    """Keep so many measurements of each set, 10 to 25, as if the others had not been made."""
    sizes = torch.randint(FEWEST, NUM_ELEMENTS + 1, (len(x),)).tolist()
    return RaggedSets.from_list([one[:n] for one, n in zip(x, sizes, strict=True)])


def main(steps: int = STEPS) -> float:
    """Train, test, and return the accuracy."""
    torch.manual_seed(0)
    warnings.simplefilter("ignore", SymmetryWarning)
    signals = Signals(NUM_ELEMENTS, LENGTH, NOISE)
    train, test = signals.make("train", 4000), signals.make("test", 1000)
    net = network()
    print(net)
    optimiser = torch.optim.Adam(net.parameters(), LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, total_steps=steps + 1)
    for step in range(steps):
        which = torch.randint(len(train.y), (BATCH,))
        loss = nn.functional.cross_entropy(net(some_of_each(train.x[which])), train.y[which])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if step % 50 == 0:
            print(f"step {step:4}   loss {loss.item():.3f}")
    net.eval()
    with torch.no_grad():
        accuracy = (net(some_of_each(test.x)).argmax(1) == test.y).float().mean().item()
    print(f"test accuracy {accuracy:.3f} (expect {EXPECTED}; chance 0.333)")
    return accuracy


if __name__ == "__main__":
    main()

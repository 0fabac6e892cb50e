"""Train on sets of your own: which of eight measurements is the most typical one?

Sets, a target for each and a network are all that ``fit`` needs: it finds the task, validates,
keeps the best epoch, continues after a kill and uses a GPU if there is one. Run
``python examples/train_your_own.py``; about ten seconds.
"""

import tempfile

import torch
from torch import nn

import symsets
from symsets import DSS, Sequential
from symsets.nn import Select
from symsets.train import fit, predict

NUM_SETS, NUM_ELEMENTS, CHANNELS = 4000, 8, 3
WIDTH, EPOCHS = 64, 20
EXPECTED = "about 0.97"


def make_sets(num: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return points in space, and which of a set is nearest to the mean of all of them."""
    x = torch.randn(num, NUM_ELEMENTS, CHANNELS)  # your own data go here: (M, N, C, *E)
    distance = (x - x.mean(dim=1, keepdim=True)).norm(dim=2)  # (M, N)
    return x, distance.argmin(dim=1)


def network() -> nn.Module:
    """Two layers that see the whole set, then a score for each of its elements."""
    return Sequential(
        DSS(nn.Linear(CHANNELS, WIDTH), pool="mean"),
        nn.ReLU(),
        DSS(nn.Linear(WIDTH, WIDTH), pool="mean"),
        nn.ReLU(),
        Select(WIDTH),
    )


def main(epochs: int = EPOCHS) -> float:
    """Train a network, save it, load it, test it, and return its accuracy."""
    torch.manual_seed(0)
    train, val, test = make_sets(NUM_SETS), make_sets(1000), make_sets(1000)
    with tempfile.TemporaryDirectory() as out:  # your own folder: started again, it goes on there
        net = fit(network(), train, val, epochs=epochs, learning_rate=5e-3, out=out)
        print(net, net.card, sep="\n")
        net = symsets.load(out)
    x, y = test
    answers = predict(net, x)  # also for sets without targets, and of other sizes
    accuracy = sum(a.chosen == right for a, right in zip(answers, y.tolist(), strict=True)) / len(y)
    print(f"test accuracy {accuracy:.3f} (expect {EXPECTED}; chance {1 / NUM_ELEMENTS:.3f})")
    return accuracy


if __name__ == "__main__":
    main()

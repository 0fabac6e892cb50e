"""Bags of feature vectors, as in pathology: a file for each bag, and one label for all of it.

A slide is cut into hundreds of tiles, and a trained network makes a vector of each. Whether there
is a tumour is known for the slide, not for the tiles. Here such files are generated: in half of
the bags, two to five vectors carry a signal. The network pools with attention, and its weights are
asked whether they point at these vectors, which nobody ever told it. Run
``python examples/bags_of_features.py``; about twenty seconds on one CPU core.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from symsets.data import SetFolder
from symsets.models import network_for
from symsets.train import fit, predict

NUM_BAGS, CHANNELS, SIZES, CARRIERS = 1000, 64, (20, 200), (2, 6)
STRENGTH, EPOCHS = 3.0, 10
EXPECTED, EXPECTED_WEIGHT = "about 0.89", "about 0.80"


def make_bags(root: Path) -> dict[str, list[int]]:
    """Write ``bag.npy (N, C)`` for each bag, and ``labels.csv``; return which vectors are marked.

    Files ``.h5`` with an array ``features`` are read in the same way.
    """
    random = np.random.default_rng(0)
    signal = random.normal(size=CHANNELS)
    signal *= STRENGTH / np.linalg.norm(signal)
    marked, lines = {}, ["set,label"]
    for k in range(NUM_BAGS):
        name, tumour = f"slide-{k:04}", k % 2 == 1
        x = random.normal(size=(random.integers(*SIZES), CHANNELS)).astype(np.float32)
        own = random.choice(len(x), random.integers(*CARRIERS) if tumour else 0, replace=False)
        x[own] += signal
        np.save(root / f"{name}.npy", x)
        marked[name] = sorted(own.tolist())
        lines.append(f"{name},{'tumour' if tumour else 'healthy'}")
    (root / "labels.csv").write_text("\n".join(lines))
    return marked


def on_marked(net: Any, sets: Any, marked: dict[str, list[int]]) -> tuple[float, float]:
    """Return how much weight is on marked vectors, and their share among all, in marked bags."""
    weight, share = [], []
    for name, (x, _) in zip(sets.names, sets, strict=True):
        if marked[name]:
            with torch.no_grad():
                weights = net.weights(x[None])[0, 0, 0]  # one set, head and query: (N,)
            weight.append(weights[marked[name]].sum().item())
            share.append(len(marked[name]) / len(x))
    return sum(weight) / len(weight), sum(share) / len(share)


def main(epochs: int = EPOCHS) -> float:
    """Train on bags, and return the accuracy on new ones."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        marked = make_bags(Path(folder))  # your own folder takes its place
        sets = SetFolder(folder)
        print(sets)
        train, val, test = sets.split()
        net = network_for(train, scheme="siamese", pool="attention")  # vectors meet in the pool
        net = fit(net, train, val, epochs=epochs, workers=0)
        answers = predict(net, test, workers=0)
        right = [a.label == sets.classes[int(y)] for a, (_, y) in zip(answers, test, strict=True)]
        weight, share = on_marked(net, test, marked)
    accuracy = sum(right) / len(right)
    print(
        f"attention on the vectors with the signal {weight:.3f} "
        f"(expect {EXPECTED_WEIGHT}; they are {share:.3f} of all)"
    )
    print(f"test accuracy {accuracy:.3f} (expect {EXPECTED}; chance 0.5)")
    return accuracy


if __name__ == "__main__":
    main()

"""Sets of graphs: how many molecules of a mixture have a ring of three?

Every element is a graph with nodes and edges of its own, as torch_geometric has them, and a set
holds two to six of them. The graphs are generated: trees, to which one edge is added that closes
a ring of three or of four. The answer is a number from 0 to 3 for the whole set. Run
``python examples/sets_of_graphs.py``; about thirty seconds on one CPU core.
"""

import random

import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

import symsets
from symsets.data import LabelledSets
from symsets.models import Card, network_for
from symsets.train import fit, predict

SIZES, NODES, MOST = (2, 6), (5, 10), 3
NUM_SETS, EPOCHS = 2000, 15
EXPECTED = "about 0.81"


def graph(draw: random.Random, ring: int) -> Data:
    """Make a chain that closes to a ring at its start, and branches; nodes know their degree."""
    num = draw.randint(*NODES)
    edges = [(k, k + 1) for k in range(ring - 1)] + [(ring - 1, 0)]
    edges += [(draw.randrange(k), k) for k in range(ring, num)]
    both = to_undirected(torch.tensor(edges).T)
    degree = torch.bincount(both[0], minlength=num).clamp(max=5)
    return Data(x=torch.eye(6)[degree], edge_index=both)


def make_sets(num: int, seed: int) -> LabelledSets:
    """Make sets of graphs with rings of three or four, and count those with three."""
    draw, sets, answers = random.Random(seed), [], []
    for _ in range(num):
        size = draw.randint(*SIZES)
        answer = draw.randint(0, min(size, MOST))
        graphs = [graph(draw, 3 if k < answer else 4) for k in range(size)]
        draw.shuffle(graphs)
        sets.append(graphs)
        answers.append(answer)
    return LabelledSets(symsets.collate(sets), torch.tensor(answers))


def main(epochs: int = EPOCHS) -> float:
    """Train on sets of graphs, and return the accuracy on new ones."""
    torch.manual_seed(0)
    train, val, test = make_sets(NUM_SETS, 0), make_sets(300, 1), make_sets(500, 2)
    print(train)
    card = Card("classify", "graphs", tuple("0123"), {"channels": 6})
    net = network_for(card, pool="sum")  # sums can count
    net = fit(net, train, val, epochs=epochs, learning_rate=3e-3)
    answers = predict(net, test.x)
    found = torch.tensor([int(str(answer.label)) for answer in answers])
    accuracy = (found == test.y).float().mean().item()
    most = test.y.bincount().max().item() / len(test.y)
    print(f"test accuracy {accuracy:.3f} (expect {EXPECTED}; most frequent answer: {most:.3f})")
    return accuracy


if __name__ == "__main__":
    main()

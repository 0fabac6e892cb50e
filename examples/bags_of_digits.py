"""Bags of digits: which is the largest of 2 to 12 handwritten digits?

Nobody says which picture shows which digit; a bag has one label for all of them. Run
``python examples/bags_of_digits.py``; about forty seconds on one CPU core.
"""

import torch

from symsets.data.digits import digit_bags
from symsets.models import Card, network_for
from symsets.train import fit, predict

NUM_BAGS, EPOCHS = 4000, 12
EXPECTED = "about 0.95"


def main(epochs: int = EPOCHS) -> float:
    """Train on bags, and return the accuracy on bags of pictures that were never seen."""
    torch.manual_seed(0)
    train = digit_bags("largest", num=NUM_BAGS)  # sets train.x, and a digit of each in train.y
    val, test = (digit_bags("largest", num=500, split=split) for split in ("val", "test"))

    digits = tuple("0123456789")
    card = Card("classify", "pictures", digits, {"size": [8, 8], "channels": 1})
    net = fit(network_for(card), train, val, epochs=epochs)

    answers = predict(net, test.x)
    right = [answer.label == digits[y] for answer, y in zip(answers, test.y, strict=True)]
    accuracy = sum(right) / len(right)
    nines = (test.y == 9).float().mean().item()
    print(f"the first bag: {answers[0].label}, with {answers[0].probabilities}")
    print(f"test accuracy {accuracy:.3f} (expect {EXPECTED}; always saying 9: {nines:.3f})")
    return accuracy


if __name__ == "__main__":
    main()

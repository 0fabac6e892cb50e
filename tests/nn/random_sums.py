"""Direct sums drawn at random, for tests."""

import numpy as np

from symsets.groups import parse


def random_sum(seed, largest=21):
    """Draw a direct sum of two to four parts, of factors of up to seven points."""
    rng = np.random.default_rng(seed)
    while True:
        names = [f"{rng.choice(list('SSSCDI'))}{rng.integers(1, 8)}[{n}]" for n in "abc"]

        def part(names=names):
            chosen = rng.choice(names, size=rng.integers(1, 3), replace=False)
            return " x ".join(name + "^2" * (rng.random() < 0.2) for name in chosen)

        space = parse(" + ".join(part() for _ in range(rng.integers(2, 5))))
        if space.degree <= largest:
            return space

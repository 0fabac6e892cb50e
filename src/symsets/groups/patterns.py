"""Which of several indices are equal: the orbits of a symmetric group on tuples of indices."""

import math
from collections import Counter

Pattern = tuple[int, ...]


def patterns(length: int, degree: int) -> list[Pattern]:
    """List the ways in which indices can be equal, in the order of their first tuples.

    Indices are equal where a pattern has equal numbers. These are 0, 1, … in the order in which
    they first appear, so that a pattern is also the first of all tuples of which it is true.

    Example:
        >>> patterns(3, degree=5)
        [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]
        >>> len(patterns(4, degree=5)), len(patterns(4, degree=2))
        (15, 8)
    """
    found: list[Pattern] = [()]
    for _ in range(length):
        found = [(*p, i) for p in found for i in range(min(max(p, default=-1) + 2, degree))]
    return found


def num_patterns(length: int, degree: int) -> int:
    """Count the patterns without listing them: a sum of Stirling numbers."""
    counts = {0: 1}  # patterns by how many different numbers they have
    for _ in range(length):
        counts = {
            k: counts.get(k, 0) * k + counts.get(k - 1, 0)
            for k in range(min(len(counts), degree) + 1)
        }
    return sum(counts.values())


def moebius(fine: Pattern, coarse: Pattern) -> int:
    r"""Return the coefficient of ``coarse`` in an indicator of exactly the pattern ``fine``.

    A pattern's *sum* is one where its indices are equal, whatever the others are. Then
    :math:`1_f = \sum_c \mu(f, c)\, s_c` over all patterns c with at least the equalities of f.

    Example:
        >>> moebius((0, 1), (0, 0)), moebius((0, 0), (0, 1))
        (-1, 0)
    """
    merged = set(zip(fine, coarse, strict=True))
    if len(merged) > len(set(fine)):
        return 0
    sizes = Counter(number for _, number in merged).values()
    return math.prod((-1) ** (n - 1) * math.factorial(n - 1) for n in sizes)

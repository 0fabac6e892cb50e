from itertools import product

import numpy as np
import pytest

from symsets.groups.patterns import moebius, num_patterns, patterns


@pytest.mark.parametrize("degree", [1, 2, 3, 6])
@pytest.mark.parametrize("length", [0, 1, 2, 4])
def test_every_tuple_has_one_pattern_and_patterns_are_their_own_first_tuples(length, degree):
    def pattern(indices):
        return tuple(list(dict.fromkeys(indices)).index(i) for i in indices)

    tuples = list(product(range(degree), repeat=length))
    found = list(dict.fromkeys(map(pattern, tuples)))  # in the order of first appearance
    assert patterns(length, degree) == found
    assert num_patterns(length, degree) == len(found)


@pytest.mark.parametrize("degree", [2, 5])
def test_an_indicator_of_a_pattern_is_a_combination_of_sums(degree):
    tuples = np.array(list(product(range(degree), repeat=4)))

    def has_equalities(pattern):
        return np.all(
            [tuples[:, i] == tuples[:, pattern.index(n)] for i, n in enumerate(pattern)], 0
        )

    def differs(pattern):
        firsts = tuples[:, [pattern.index(n) for n in set(pattern)]]
        return np.array([len(set(row)) == len(row) for row in firsts.tolist()])

    known = patterns(4, degree)
    for fine in known:
        combined = sum(moebius(fine, coarse) * has_equalities(coarse) for coarse in known)
        np.testing.assert_array_equal(combined, has_equalities(fine) & differs(fine))

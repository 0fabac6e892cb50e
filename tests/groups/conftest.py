import numpy as np
import pytest

from symsets.groups import PermutationGroup


@pytest.fixture(scope="session")
def trace_dimension():
    """The dimension as the mean of tr P(g) tr Q(g) over the group (Maron et al., 2020, lemma 1)."""

    def average(source, target=None):
        target, d = target or source, source.degree
        pairs = zip(source.generators, target.generators, strict=True)
        both = [np.r_[s, d + t] for s, t in pairs] or [np.arange(d + target.degree)]
        elements = PermutationGroup(both).elements()
        fixed = elements == np.arange(d + target.degree)
        return (fixed[:, :d].sum(1) * fixed[:, d:].sum(1)).mean()

    return average

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symsets.groups import (
    Cyclic,
    Dihedral,
    PermutationGroup,
    Symmetric,
    Translations,
    Trivial,
    basis,
    dimension,
    wreath,
)
from symsets.groups.pairs import pair_components

SWAP = PermutationGroup([[1, 0, 2]])
SMALL = [
    Symmetric(4) * Cyclic(3),
    Symmetric(3) * Trivial(2),
    SWAP * Cyclic(2),
    SWAP * SWAP,
    Dihedral(4) * Symmetric(2) * Cyclic(2),
    Symmetric(3) * wreath(Cyclic(2), 2),
    Symmetric(3).on_tuples(2) * Cyclic(2),
    Symmetric(2) * SWAP.on_tuples(2),
]


@st.composite
def random_groups(draw):
    degree = draw(st.integers(1, 4))
    return PermutationGroup(draw(st.lists(st.permutations(range(degree)), min_size=1, max_size=2)))


def actions(G):
    return [G, G.on(0), G.on(1), G.on()]


@pytest.mark.parametrize("G", SMALL, ids=str)
def test_product_labels_equal_connected_components_on_the_explicit_product(G):
    for source in actions(G):
        for target in actions(G):
            explicit = pair_components(source, target)
            np.testing.assert_array_equal(basis(source, target), explicit)
            assert dimension(source, target) == explicit.max() + 1


@pytest.mark.parametrize("G", SMALL, ids=str)
def test_dimensions_agree_with_the_trace_formula(G, trace_dimension):
    for source in actions(G):
        for target in actions(G):
            assert dimension(source, target) == trace_dimension(source, target)


@settings(max_examples=30, deadline=None)
@given(G=random_groups(), H=random_groups())
def test_the_dimension_of_a_product_is_the_product_of_dimensions(G, H, trace_dimension):
    explicit = PermutationGroup((G * H).generators)
    labels = pair_components(explicit, explicit)
    assert dimension(G * H) == dimension(G) * dimension(H) == labels.max() + 1
    assert dimension(G * H) == trace_dimension(explicit)
    np.testing.assert_array_equal(basis(G * H), labels)


@pytest.mark.parametrize(
    "H", [Cyclic(4), Trivial(3), SWAP, Dihedral(5), Translations(2, 3)], ids=str
)
def test_sets_of_symmetric_elements_have_the_published_dimensions(H):
    G = Symmetric(6) * H
    elements = range(1, len(G.shape))
    assert dimension(G) == 2 * dimension(H)
    assert dimension(G, G.on(0)) == 2 * H.num_orbits
    assert dimension(G, G.on(*elements)) == dimension(H)
    assert dimension(G, G.on()) == H.num_orbits


@pytest.mark.parametrize("G", [*SMALL, SWAP, Dihedral(5), wreath(SWAP, 3)], ids=str)
def test_labels_are_kept_by_every_generator(G):
    for target in (G, G.on(), G.on(0)):
        labels = basis(G, target)
        for s, t in zip(G.generators, target.generators, strict=True):
            np.testing.assert_array_equal(labels[np.ix_(t, s)], labels)


@pytest.mark.parametrize("G", SMALL, ids=str)
def test_labels_are_numbered_by_first_appearance(G):
    for target in actions(G):
        labels = basis(G, target).ravel()
        assert list(dict.fromkeys(labels.tolist())) == list(range(labels.max() + 1))


def test_a_large_product_costs_neither_time_nor_memory():
    G = Symmetric(25) * Cyclic(100)
    tracemalloc.start()
    start = time.perf_counter()
    assert dimension(G) == 200
    assert time.perf_counter() - start < 0.05
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_actions_that_are_split_differently_are_still_compared(trace_dimension):
    G = Symmetric(3) * Cyclic(2)
    source = G.on_tuples(2)
    assert dimension(source, G) == trace_dimension(source, G)
    assert dimension(source * Cyclic(2), G * Cyclic(2)) == 2 * dimension(source, G)


def test_actions_of_different_groups_are_refused():
    message = "target must be an action of the same group as source, S3 × C2, got S3"
    for function in (dimension, basis):
        with pytest.raises(ValueError, match=message):
            function(Symmetric(3) * Cyclic(2), Symmetric(3))


def test_what_is_too_large_is_refused_before_it_is_made():
    with pytest.raises(ValueError, match="at most 50000000 pairs of points, got 100000000"):
        basis(Symmetric(100) * Cyclic(100))
    with pytest.raises(ValueError, match="at most 20000000 pairs of points to search for orbits"):
        dimension(Cyclic(70).on_tuples(2))


def test_tuples_of_indices_of_a_symmetric_group_are_counted_without_a_search():
    graphs = Symmetric(1000).on_tuples(2)
    assert [dimension(graphs, target) for target in (graphs, graphs.on(0), graphs.on())] == [
        15,
        5,
        2,
    ]
    assert (
        dimension(Symmetric(3).on_tuples(8)) == 7_174_454
    )  # patterns of 16 with at most 3 numbers

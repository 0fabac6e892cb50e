import math

import numpy as np
import pytest

from symsets.groups import Cyclic, PermutationGroup, Symmetric, Trivial
from symsets.groups._arrays import components

SWAP = PermutationGroup([[1, 0, 2]])


def test_products_are_flattened_and_associative():
    A, B, C = Symmetric(3), Cyclic(2), Trivial(2)
    assert (A * B) * C == A * (B * C)
    assert (A * B * C).factors == (A, B, C)
    assert (A * B * C).shape == (3, 2, 2)
    assert A * B != B * A
    assert repr(Symmetric(5) * Cyclic(4)) == "S5 × C4 acting on 5×4"


@pytest.mark.parametrize(
    "G", [Symmetric(3) * Cyclic(4), SWAP * Cyclic(2) * SWAP, Trivial(2) * Symmetric(2)], ids=str
)
def test_the_order_is_the_number_of_elements(G):
    assert G.order == len(G.elements())


def test_large_orders_are_exact_and_instant():
    assert (Symmetric(25) * Cyclic(100)).order == 100 * math.factorial(25)


@pytest.mark.parametrize("G", [SWAP * Trivial(2), SWAP * Cyclic(2) * SWAP], ids=str)
def test_orbits_agree_with_connected_components(G):
    np.testing.assert_array_equal(G.orbits, components(G.degree, G.generators))


def test_a_product_moves_rows_and_columns_by_their_own_permutations():
    G, rng = Symmetric(4) * Cyclic(3), np.random.default_rng(0)
    g = G.random_element(rng)
    rows, columns = G.on(0).image(g), G.on(1).image(g)
    x = np.arange(12).reshape(4, 3)
    np.testing.assert_array_equal(G.act(x, g)[np.ix_(rows, columns)], x)


def test_random_elements_belong_to_the_product():
    G, rng = SWAP * Cyclic(3), np.random.default_rng(0)
    drawn = {tuple(G.random_element(rng)) for _ in range(200)}
    assert drawn == {tuple(g) for g in G.elements()}


def test_generators_of_actions_correspond_one_to_one():
    G = Symmetric(4) * Cyclic(3)
    for action in (G.on(0), G.on(1), G.on()):
        assert action.group == G
        assert len(action.generators) == len(G.generators)
        for g, image in zip(G.generators, action.generators, strict=True):
            np.testing.assert_array_equal(action.image(g), image)


def test_the_group_of_a_product_of_actions_is_the_product_of_their_groups():
    action = Symmetric(3).on_tuples(2) * Cyclic(2)
    assert action.shape == (3, 3, 2)
    assert action.group == Symmetric(3) * Cyclic(2)
    assert action.order == 12
    assert action.on(0, 2) == Symmetric(3) * Cyclic(2)
    assert action.on(0).order == 6

import math

import numpy as np
import pytest

from symsets.groups import (
    Cyclic,
    PermutationGroup,
    Symmetric,
    Translations,
    Trivial,
    basis,
    dimension,
    wreath,
)
from symsets.groups._arrays import components
from symsets.groups.pairs import pair_components
from symsets.nn import EquivariantLinear

SWAP = PermutationGroup([[1, 0, 2]])
BASES = [Cyclic(3), Symmetric(3), Trivial(2), SWAP, Translations(2, 2), Cyclic(2).on_tuples(2)]


@pytest.mark.parametrize("H", BASES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_wreath_closed_forms_agree_with_connected_components(H, n):
    G = wreath(H, n)
    searched = pair_components(G, G)
    np.testing.assert_array_equal(basis(G), searched)
    np.testing.assert_array_equal(G.orbits, components(G.degree, G.generators))
    assert dimension(G) == searched.max() + 1


@pytest.mark.parametrize("H", BASES, ids=str)
def test_wreath_adds_one_map_per_pair_of_orbits(H):
    assert dimension(wreath(H, 5)) == dimension(H) + H.num_orbits**2


@pytest.mark.parametrize("H", BASES, ids=str)
def test_wreath_agrees_with_the_trace_formula_and_its_order(H, trace_dimension):
    G = wreath(H, 2)
    assert dimension(G) == trace_dimension(G)
    assert G.order == len(G.elements())


def test_random_wreath_elements_reach_the_whole_group_and_nothing_else():
    G, rng = wreath(Cyclic(2), 2), np.random.default_rng(0)
    assert {tuple(G.random_element(rng)) for _ in range(200)} == {tuple(g) for g in G.elements()}


def test_wreath_maps_to_elements_and_to_a_point():
    G = wreath(Cyclic(4), 3)
    assert G.on(0).shape == (3,)
    assert dimension(G, G.on(0)) == 2  # the sum of the element, and of all others
    assert dimension(G, G.on()) == 1
    assert dimension(wreath(Trivial(2), 3), wreath(Trivial(2), 3).on(0)) == 4


def test_wreath_keeps_the_axes_of_its_elements():
    assert repr(wreath(Translations(3, 2), 4)) == "(C3 × C2) wr S4 acting on 4×3×2"
    with pytest.raises(ValueError, match="copies must be at least 1, got 0"):
        wreath(Cyclic(3), 0)


@pytest.mark.parametrize("k", [4, 5, 6])
def test_graphs_have_the_bell_numbers_of_equivariant_maps(k):
    G = Symmetric(k).on_tuples(2)
    assert dimension(G) == 15
    assert dimension(G, G.on(0)) == dimension(G.on(0), G) == 5
    assert dimension(G, G.on()) == 2


@pytest.mark.parametrize(("k", "counts"), [(2, (8, 4, 2)), (3, (14, 5, 2)), (4, (15, 5, 2))])
def test_small_graphs_agree_with_the_trace_formula(k, counts, trace_dimension):
    G = Symmetric(k).on_tuples(2)
    targets = (G, G.on(0), G.on())
    assert tuple(dimension(G, target) for target in targets) == counts
    assert tuple(trace_dimension(G, target) for target in targets) == counts


def test_tuples_are_permuted_by_the_group_itself():
    G = Symmetric(4).on_tuples(3)
    assert G.shape == (4, 4, 4)
    assert G.order == 24
    assert G.on(1) == Symmetric(4)
    assert G.on(0, 2) == Symmetric(4).on_tuples(2)
    assert dimension(G, Symmetric(4)) == 15
    assert Cyclic(3).on_tuples(2).on_tuples(3) == Cyclic(3).on_tuples(6)
    assert Cyclic(3).on_tuples(1) == Cyclic(3)
    for group in (Cyclic(3), Cyclic(3).on_tuples(2)):
        with pytest.raises(ValueError, match="length must be at least 1, got 0"):
            group.on_tuples(0)


def test_all_indices_of_a_tuple_are_permuted_alike():
    G, rng = Symmetric(4).on_tuples(2), np.random.default_rng(0)
    g = G.group.random_element(rng)
    x = rng.normal(size=(4, 4))
    np.testing.assert_array_equal(G.act(x, g)[np.ix_(g, g)], x)


def test_tuples_of_a_product_can_keep_parts_of_an_index(trace_dimension):
    G = (Symmetric(3) * Cyclic(2)).on_tuples(2)
    assert G.shape == (3, 2, 3, 2)
    assert G.on(0, 1) == Symmetric(3) * Cyclic(2)
    half = G.on(0, 3)
    assert half.shape == (3, 2)
    assert dimension(G, half) == trace_dimension(G, half)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: wreath("C4", 5), "group"),
        (lambda: dimension("C4"), "source"),
        (lambda: basis(Cyclic(4), "C4"), "target"),
        (lambda: EquivariantLinear("C4", 1, 1), "group"),
    ],
)
def test_names_are_not_groups_and_the_message_says_how_to_read_them(call, name):
    message = f"{name} must be a permutation group, got 'C4'; symsets.groups.parse reads names"
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("H", [Symmetric(4), Cyclic(5), *BASES], ids=str)
def test_logarithms_of_orders_are_those_of_the_orders(H):
    for G in (H, wreath(H, 3), H * Symmetric(3), H.on_tuples(2)):
        assert G.log10_order() == pytest.approx(np.log10(float(G.order)), abs=1e-12)


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
def test_the_order_of_a_product_is_the_number_of_elements(G):
    assert G.order == len(G.elements())


def test_large_orders_are_exact_and_instant():
    assert (Symmetric(25) * Cyclic(100)).order == 100 * math.factorial(25)


@pytest.mark.parametrize("G", [SWAP * Trivial(2), SWAP * Cyclic(2) * SWAP], ids=str)
def test_orbits_of_products_agree_with_connected_components(G):
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

import itertools
import math

import numpy as np
import pytest

from symsets.groups import Cyclic, Dihedral, Symmetric, Translations, Trivial, basis, dimension
from symsets.groups._arrays import components
from symsets.groups.pairs import pair_components

NAMED = [kind(d) for kind in (Trivial, Symmetric, Cyclic, Dihedral) for d in (1, 2, 3, 4, 5, 6)]


@pytest.mark.parametrize("group", NAMED, ids=str)
def test_closed_forms_agree_with_connected_components(group):
    searched = pair_components(group, group)
    np.testing.assert_array_equal(basis(group), searched)
    np.testing.assert_array_equal(group.orbits, components(group.degree, group.generators))
    assert dimension(group) == searched.max() + 1


@pytest.mark.parametrize("group", NAMED, ids=str)
def test_the_order_is_the_number_of_elements(group):
    assert group.order == len(group.elements())


@pytest.mark.parametrize("group", [Trivial(3), Symmetric(3), Cyclic(5), Dihedral(4)], ids=str)
def test_random_elements_are_uniform(group):
    rng, draws = np.random.default_rng(0), 200 * group.order
    drawn = [tuple(group.random_element(rng)) for _ in range(draws)]
    elements = {tuple(g) for g in group.elements()}
    assert set(drawn) == elements
    assert all(abs(drawn.count(g) - 200) < 60 for g in elements)  # four standard deviations


def test_symmetric_groups_hold_every_permutation():
    elements = {tuple(g) for g in Symmetric(4).elements()}
    assert elements == set(itertools.permutations(range(4)))


@pytest.mark.parametrize("n", [2, 3, 7, 10**6])
def test_symmetric_groups_have_two_equivariant_maps(n):
    assert dimension(Symmetric(n)) == 2


@pytest.mark.parametrize("d", [1, 2, 5, 10**6])
def test_cyclic_groups_have_one_equivariant_map_per_shift(d):
    assert dimension(Cyclic(d)) == d


def test_translations_are_a_product_of_cyclic_groups():
    assert Translations(8, 6) == Cyclic(8) * Cyclic(6)
    assert Translations(5) == Cyclic(5)
    assert Translations(2, 3, 4).shape == (2, 3, 4)
    with pytest.raises(ValueError, match="at least one axis"):
        Translations()


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="degree must be at least 1, got 0"):
        Symmetric(0)
    with pytest.raises(TypeError, match=r"degree must be an integer, got 2\.5"):
        Cyclic(2.5)


def test_large_orders_are_exact():
    assert Symmetric(100).order == math.factorial(100)

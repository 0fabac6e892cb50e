import numpy as np
import pytest
import torch

from symsets.groups import Cyclic, PermutationGroup, Symmetric, wreath


def test_generators_that_are_no_permutations_are_refused():
    with pytest.raises(ValueError, match=r"permutations of 0\.\.d-1, got \[0, 0, 2\]"):
        PermutationGroup([[0, 0, 2]])
    with pytest.raises(ValueError, match=r"permutations of 0\.\.d-1, got \[0\.5, 1\.0\]"):
        PermutationGroup([[0.5, 1.0]])
    with pytest.raises(ValueError, match=r"permutations of 0\.\.d-1, got \[\[0, 1\]\]"):
        PermutationGroup([[[0, 1]]])
    with pytest.raises(ValueError, match="inhomogeneous"):
        PermutationGroup([[0, [1]]])
    with pytest.raises(ValueError, match=r"same length, got lengths \[2, 3\]"):
        PermutationGroup([[1, 0], [1, 2, 0]])
    with pytest.raises(ValueError, match="at least one permutation"):
        PermutationGroup([])


def test_the_shape_must_hold_all_points():
    assert PermutationGroup([[1, 0, 3, 2, 5, 4]], shape=(3, 2)).shape == (3, 2)
    with pytest.raises(ValueError, match=r"shape must hold 6 points, got \(2, 2\)"):
        PermutationGroup([[1, 0, 3, 2, 5, 4]], shape=(2, 2))
    with pytest.raises(ValueError, match=r"shape must hold 6 points, got \(-2, -3\)"):
        PermutationGroup([[1, 0, 3, 2, 5, 4]], shape=(-2, -3))


def test_orders_of_general_groups_are_exact():
    mathieu = [[(i + 1) % 11 for i in range(11)], [0, 1, 6, 9, 5, 3, 10, 2, 8, 4, 7]]
    assert PermutationGroup(mathieu).order == 7920  # M11
    assert PermutationGroup([[0, 1, 2]]).order == 1
    assert PermutationGroup([[1, 2, 0, 3, 4], [0, 1, 2, 4, 3]]).order == 6


def test_orbits_are_numbered_by_first_appearance():
    group = PermutationGroup([[0, 3, 2, 1, 5, 4]])
    assert group.orbits.tolist() == [0, 1, 2, 1, 3, 3]
    assert group.num_orbits == 4
    assert not group.is_transitive
    assert PermutationGroup([[1, 2, 3, 0]]).is_transitive


def test_elements_are_all_different_and_closed():
    group = PermutationGroup([[1, 2, 0, 3], [1, 0, 3, 2]])  # the even permutations of four points
    elements = {tuple(g) for g in group.elements().tolist()}
    assert len(elements) == group.order == 12
    assert all(tuple(a[i] for i in b) in elements for a in elements for b in elements)


def test_large_groups_are_not_listed():
    with pytest.raises(ValueError, match="at most 100000 elements to be listed, S9 has more"):
        Symmetric(9).elements()


def test_random_elements_of_general_groups_stay_inside_and_reach_everything():
    group = PermutationGroup([[1, 2, 0, 3], [1, 0, 3, 2]])
    rng = np.random.default_rng(0)
    drawn = {tuple(group.random_element(rng)) for _ in range(200)}
    assert drawn == {tuple(g) for g in group.elements()}


def test_random_elements_are_owned_by_the_generator():
    group = PermutationGroup([[1, 2, 3, 4, 0], [1, 0, 2, 3, 4]])
    first, second = (group.random_element(np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("kind", ["array", "tensor"])
def test_acting_sends_entry_i_to_place_g_i(kind):
    group, g = Symmetric(2) * Cyclic(3), np.array([5, 3, 4, 2, 0, 1])
    x = np.arange(12.0).reshape(2, 2, 3)
    moved = group.act(torch.from_numpy(x), g).numpy() if kind == "tensor" else group.act(x, g)
    np.testing.assert_array_equal(moved.reshape(2, 6)[:, g], x.reshape(2, 6))


def test_acting_needs_the_right_axes_and_elements():
    with pytest.raises(ValueError, match=r"x must end in the axes \(3,\), got \(3, 2\)"):
        Cyclic(3).act(torch.zeros(3, 2), [0, 1, 2])
    with pytest.raises(ValueError, match=r"element must have shape \(3,\), got \(4,\)"):
        Cyclic(3).act(torch.zeros(3), [0, 1, 2, 3])


def test_axes_are_checked():
    G = Symmetric(3) * Cyclic(2)
    for axes in [(2,), (1, 0), (0, 0), (-1,)]:
        with pytest.raises(ValueError, match=r"axes must be taken from \[0, 1\] in this order"):
            G.on(*axes)
    assert G.on(0, 1) is G


def test_axes_that_do_not_move_on_their_own_are_refused():
    with pytest.raises(ValueError, match=r"permuted by C2 wr S3 independently of .*, got \[1\]"):
        wreath(Cyclic(2), 3).on(1)


def test_restricting_twice_is_restricting_once():
    G = wreath(Symmetric(3) * Cyclic(2), 2)
    assert G.on(0).on() == G.on()
    assert G.on(0).group is G


def test_a_restriction_refuses_what_is_no_group_element():
    with pytest.raises(ValueError, match=r"element must belong to C2 wr S2, got \(0 2\)"):
        wreath(Cyclic(2), 2).on(0).image([2, 1, 0, 3])


def test_equality_is_equality_of_descriptions():
    assert PermutationGroup([[1, 0, 2]]) == PermutationGroup([np.array([1, 0, 2])])
    assert PermutationGroup([[1, 0, 2]]) != PermutationGroup([[0, 2, 1]])
    assert Cyclic(2) != Symmetric(2)
    assert len({Cyclic(4), Cyclic(4), Cyclic(5)}) == 2
    assert Cyclic(4) != 4


def test_groups_read_like_mathematics():
    assert repr(PermutationGroup([[1, 0, 2]])) == "⟨(0 1)⟩ acting on 3"
    assert str(PermutationGroup([[0, 1]])) == "⟨()⟩"
    assert str(PermutationGroup([np.arange(100)])) == "⟨1 permutations of 100 points⟩"


def test_groups_multiply_only_with_groups():
    with pytest.raises(TypeError):
        Cyclic(3) * 2


def test_permutations_of_too_many_points_are_refused_before_they_are_made():
    with pytest.raises(ValueError, match="at most 50000000 points"):
        Symmetric(1000).on_tuples(4).generators


@pytest.mark.parametrize("element", [[0, 0, 1], [1.5, 2.5, 0.5]])
def test_only_permutations_act(element):
    with pytest.raises(ValueError, match=r"element must be a permutation of 0\.\.d-1, got \["):
        Cyclic(3).act(torch.arange(3), element)


def test_a_seed_draws_the_same_element_again():
    G = PermutationGroup([[1, 2, 3, 4, 0], [1, 0, 2, 3, 4]])
    assert (G.random_element(3) == G.random_element(np.random.default_rng(3))).all()

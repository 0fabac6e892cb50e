import copy

import numpy as np
import pytest
import torch
from random_sums import random_sum

from symsets import groups
from symsets.groups import DirectSum, Symmetric, basis, dimension, parse

GRAPH = parse("S4^2 + S4")
LAYER = parse("S3[a] x S3[b] + S3[b]")


def null_space_dimension(space):
    """Count the matrices that every generator leaves as they are."""
    d = space.degree
    total = np.zeros((d * d, d * d))
    for g in space.generators:
        moved = (g[:, None] * d + g).ravel()
        total += np.eye(d * d) - np.eye(d * d)[moved]
    return int((np.linalg.eigvalsh(total + total.T) < 1e-9).sum())


@pytest.mark.no_cover  # dear, and other tests cover the same lines
@pytest.mark.parametrize("start", range(0, 200, 20))
def test_dimensions_of_200_random_sums_are_those_of_the_null_space(start):
    for seed in range(start, start + 20):
        space = random_sum(seed)
        assert dimension(space) == null_space_dimension(space), space
        assert basis(space).max() + 1 == dimension(space), space


def test_labels_are_numbered_as_they_appear_and_kept_by_the_group():
    for space in (GRAPH, LAYER, parse("S2[b] x C3[a] + C3[a] x S2[b]^2 + I2")):
        for target in (space, space.on(1), space.on(0), space.on()):
            labels = basis(space, target)
            assert list(dict.fromkeys(labels.ravel())) == list(range(dimension(space, target)))
            for s, t in zip(space.generators, target.generators, strict=True):
                np.testing.assert_array_equal(labels[np.ix_(t, s)], labels)


def test_dimensions_agree_with_the_trace_formula(trace_dimension):
    for space in (LAYER, parse("S3^2 + S3"), parse("S2[a] x C3 + C3 + D4")):
        for target in (space, space.on(0), space.on(1), space.on()):
            assert dimension(space, target) == trace_dimension(space, target)


def weight_space(*sizes):
    """The weights and biases of a network whose hidden neurons may be reordered."""
    axes = [groups.Trivial(sizes[0]).named("first")]
    axes += [Symmetric(d).named(f"h{m}") for m, d in enumerate(sizes[1:-1], 1)]
    axes += [groups.Trivial(sizes[-1]).named("last")]
    weights = [axes[m] * axes[m + 1] for m in range(len(axes) - 1)]
    return DirectSum(*weights, *axes[1:])


def test_weight_spaces_have_the_dimensions_of_the_released_deep_weight_space_layers():
    i, o = 3, 5  # inputs and outputs of a network with three hidden layers
    published = [  # a row for each of W1 W2 W3 W4 b1 b2 b3 b4 that is written to
        [2 * i * i, 2 * i, i, i * o, 2 * i, i, i, i * o],
        [2 * i, 4, 2, o, 2, 2, 1, o],
        [i, 2, 4, 2 * o, 1, 2, 2, o],
        [i * o, o, 2 * o, 2 * o * o, o, o, 2 * o, o * o],
        [2 * i, 2, 1, o, 2, 1, 1, o],
        [i, 2, 2, o, 1, 2, 1, o],
        [i, 1, 2, 2 * o, 1, 1, 2, o],
        [i * o, o, o, o * o, o, o, o, o * o],
    ]
    space = weight_space(i, 8, 6, 7, o)
    ours = [[dimension(space.on(p), space.on(q)) for p in range(8)] for q in range(8)]
    assert ours == published
    assert dimension(space) == sum(map(sum, published))
    assert dimension(weight_space(i, 800, 600, 700, o)) == dimension(space)  # by orbits alone


def test_one_element_acts_on_all_parts():
    p, q = np.array([2, 0, 1]), np.array([1, 0, 2])
    x = torch.arange(12.0)
    weights, biases = LAYER.split(LAYER.act(x, np.r_[p, 3 + q]))
    assert torch.equal(weights[p][:, q], x[:9].reshape(3, 3))
    assert torch.equal(biases[q], x[9:])
    with pytest.raises(ValueError, match=r"element must belong to S3\[a\] \+ S3\[b\], got \(0 3\)"):
        LAYER.act(x, [3, 1, 2, 0, 4, 5])


def test_split_and_join_are_inverse():
    x = torch.randn(2, 5, GRAPH.degree)
    pieces = GRAPH.split(x)
    assert [piece.shape for piece in pieces] == [(2, 5, 4, 4), (2, 5, 4)]
    assert torch.equal(GRAPH.join(pieces), x)
    assert GRAPH.on(0).join(GRAPH.on(0).split(pieces[0])).shape == (2, 5, 4, 4)
    with pytest.raises(ValueError, match=r"x must end in the axes \(20,\), got \(2, 19\)"):
        GRAPH.split(x[0, :2, :19])
    with pytest.raises(ValueError, match=r"pieces must end in the axes \(4, 4\), got"):
        GRAPH.join(pieces[::-1])
    with pytest.raises(ValueError, match="zip"):
        GRAPH.join(pieces[:1])


def test_equal_factors_are_one_and_names_keep_them_apart():
    assert GRAPH.order == 24
    assert LAYER.order == 36
    assert parse("S4 + S4").order == 24
    assert parse("S4[a] + S4[b]").order == parse("S4 + S4[b]").order == 24**2
    assert LAYER.on(1).order == 6
    assert LAYER.on().order == 1
    assert parse("S100[a] x S100[b] + S100[b]").log10_order() == pytest.approx(2 * 157.97, abs=0.01)


def test_the_order_of_parts_does_not_change_the_group():
    a, b = Symmetric(3).named("a"), Symmetric(3).named("b")
    assert (a + b).group == (b + a * b).group == LAYER.group
    assert dimension(LAYER, b + a) == 2 + 2 + 2 + 1


@pytest.mark.parametrize("space", [GRAPH, LAYER, parse("(C3 wr S2)[a] + S2 x (C3 wr S2)[a]")])
def test_sums_are_printed_copied_and_read_back(space):
    assert parse(str(space)) == space == copy.deepcopy(space)
    assert space.on(0) != space
    assert repr(LAYER) == "S3[a] × S3[b] + S3[b] acting on 3×3 + 3"
    assert repr(LAYER.on(1)) == "S3[a] + S3[b] acting on 3"
    assert str(parse("S2 x (S3 + C4)")) == "S2 × (S3 + C4)"


def test_orbits_and_random_elements_are_those_of_the_parts():
    assert parse("I2 x S3 + S3").orbits.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    g = LAYER.random_element(np.random.default_rng(0))
    assert sorted(g[:9]) == list(range(9))
    assert g[9] - 9 == g[0] % 3  # b acts alike on both


def test_a_set_of_elements_made_of_parts_is_a_product(trace_dimension):
    space = Symmetric(2) * parse("S2^2 + S2")
    assert space.shape == (2, 6)
    assert dimension(space) == trace_dimension(space) == 2 * dimension(parse("S2^2 + S2"))


def test_what_leaves_a_doubt_is_refused():
    with pytest.raises(
        ValueError, match=r"different, got S3 twice in .*S3\[a\] x S3\[b\], or S3\^2"
    ):
        parse("S3 x S3 + S3")
    with pytest.raises(
        ValueError, match="names must stand for one group each, got 'a' for several"
    ):
        parse("S3[a] + S4[a]")
    with pytest.raises(ValueError, match=r"different names, got S3\[a\] twice: S3\[a\]\^2 acts"):
        parse("S3[a] x S3[a]")
    with pytest.raises(
        ValueError, match=r"parts must be products of single groups, got .*multiply"
    ):
        parse("S3 x (S4 + S5) + S3")
    with pytest.raises(
        ValueError, match=r"parts must be taken from \[0, 1\] in this order, got \[2"
    ):
        LAYER.on(2)
    with pytest.raises(ValueError, match=r"name must be a word such as 'a', got '2b'"):
        Symmetric(3).named("2b")
    with pytest.raises(
        ValueError, match="group must be a single factor to have a name, got S3 × S4"
    ):
        parse("S3 x S4").named("a")
    with pytest.raises(ValueError, match="spaces must hold at least one part, got none"):
        DirectSum()
    with pytest.raises(TypeError, match="spaces must be a permutation group, got 3"):
        DirectSum(Symmetric(3), 3)

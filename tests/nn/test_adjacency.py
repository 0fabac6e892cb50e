import itertools

import numpy as np
import pytest
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from symsets.nn.adjacency import AdjacencyLinear

TOLERANCE = 1e-9
NUM_MAPS = {0: 2, 1: 5, 2: 15}


def basis_maps(order, k, **options):
    """The matrix of each of the maps, from R^(k k) to R^(k^order)."""
    layer = AdjacencyLinear(1, 1, order=order, bias=False, **options).double()
    identity = torch.eye(k * k).double().reshape(k * k, 1, k, k)
    for i in range(len(layer.weight)):
        with torch.no_grad():
            layer.weight.zero_()[i] = 1
            yield layer(identity).flatten(1).T  # (k^order, k k)


def orbits(order, k):
    """Label the entries of such a matrix by their orbit under S_k, which acts on all indices."""
    points = list(itertools.product(range(k), repeat=order + 2))
    number = {point: i for i, point in enumerate(points)}
    swap, cycle = [1, 0, *range(2, k)], [*range(1, k), 0]
    edges = np.array(
        [
            (number[point], number[tuple(perm[i] for i in point)])
            for perm in ((swap, cycle) if k > 1 else ([0],))
            for point in points
        ]
    ).T
    graph = coo_array((np.ones(edges.shape[1]), edges), shape=(len(points), len(points)))
    return torch.from_numpy(connected_components(graph)[1]).reshape(k**order, k * k)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("k", [1, 2, 3, 6])
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("normalize", [False, True])
def test_commutes_with_relabelling_the_nodes(normalize, order, k, batch):
    layer = AdjacencyLinear(2, 3, order=order, normalize=normalize).double()
    torch.nn.init.normal_(layer.bias)
    x, perm = torch.randn(batch, 2, k, k).double(), torch.randperm(k)
    y = layer(x)
    assert y.shape == (batch, 3, *[k] * order)
    for axis in range(order):
        y = y.index_select(2 + axis, perm)
    assert (layer(x[..., perm, :][..., perm]) - y).abs().max() < TOLERANCE


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("k", [2, 4, 5])
@pytest.mark.parametrize("normalize", [False, True])
def test_the_maps_span_exactly_the_equivariant_ones(normalize, k, order):
    labels = orbits(order, k)
    maps = torch.stack(list(basis_maps(order, k, normalize=normalize)))
    for label in labels.unique():
        on_orbit = maps[:, labels == label]
        assert torch.allclose(on_orbit, on_orbit[:, :1].expand_as(on_orbit), atol=TOLERANCE)
    num_orbits = len(labels.unique())
    assert torch.linalg.matrix_rank(maps.flatten(1)) == num_orbits
    if k >= 4:
        assert num_orbits == NUM_MAPS[order] == len(maps)


def test_the_textbook_form_adds_without_dividing():
    x = torch.ones(1, 1, 4, 4).double()
    totals = AdjacencyLinear(1, 1, order=0, bias=False, normalize=False).double()
    torch.nn.init.ones_(totals.weight)
    assert totals(x).item() == 16 + 4
    means = AdjacencyLinear(1, 1, order=0, bias=False).double()
    torch.nn.init.ones_(means.weight)
    assert means(x).item() == 1 + 1


@pytest.mark.parametrize("k", [3, 24])
@pytest.mark.parametrize("constant", [False, True])
def test_scale_at_the_start_does_not_grow_with_k(constant, k):
    torch.manual_seed(0)
    x = torch.randn(4, 128, 1, 1).expand(4, 128, k, k) if constant else torch.randn(4, 128, k, k)
    assert 0.3 < AdjacencyLinear(128, 128)(x).std() < 2


def test_bias_is_one_everywhere_and_one_on_the_diagonal():
    layer = AdjacencyLinear(1, 2)
    with torch.no_grad():
        layer.bias.copy_(torch.tensor([[1.0, 2.0], [10.0, 20.0]]))
    expected = torch.tensor([[[11.0, 1.0], [1.0, 11.0]], [[22.0, 2.0], [2.0, 22.0]]])
    assert torch.equal(layer(torch.zeros(1, 1, 2, 2))[0], expected)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_gradients(order):
    layer = AdjacencyLinear(2, 2, order=order).double()
    x = torch.randn(2, 2, 3, 3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x, *p: torch.func.functional_call(
            layer, dict(zip(["weight", "bias"], p, strict=True)), x
        ),
        (x, *layer.parameters()),
    )


@pytest.mark.parametrize("order", [0, 1, 2])
def test_autocast_and_no_bias(order):
    layer = AdjacencyLinear(2, 3, order=order, bias=False)
    x = torch.randn(4, 2, 5, 5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(x)
    assert y.dtype == torch.bfloat16
    # bfloat16 keeps 8 bits
    assert torch.allclose(y.float(), layer(x), atol=5e-2)


def test_repr_shows_the_map():
    layer = AdjacencyLinear(2, 3, order=1)
    assert repr(layer) == ("AdjacencyLinear(2 → 3, R^(k×k) → R^k, 5 maps of S_k, normalize=True)")


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"order must be one of \[0, 1, 2\], got 3"):
        AdjacencyLinear(2, 3, order=3)
    for shape in [(4, 2, 3, 5), (4, 1, 3, 3), (4, 2, 3)]:
        with pytest.raises(ValueError, match=r"x must have shape \(B, 2, k, k\) .* got \(4, "):
            AdjacencyLinear(2, 3)(torch.zeros(shape))

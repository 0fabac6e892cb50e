import copy

import numpy as np
import pytest
import torch
from random_sums import random_sum

from symsets import DSS, Sequential, groups
from symsets.nn.equivariant import EquivariantLinear
from symsets.testing import assert_equivariant

SWAP = groups.PermutationGroup([[1, 0, 2]])
GROUPS = [
    groups.Symmetric(5),
    groups.Cyclic(4),
    groups.Trivial(3),
    SWAP,
    groups.parse("S5 x C4"),
    groups.parse("S3 x I2 x D4"),
    groups.parse("C4 wr S3"),
    groups.parse("S4^2"),
    groups.parse("S2 x S3^2"),
    SWAP * groups.Symmetric(2) * SWAP,
    groups.parse("S3[a] x S3[b] + S3[b]"),
    groups.parse("S4^2 + S4"),
    groups.parse("I2 x S3 + S3 x C4 + C4 x I2 + I3"),
    SWAP.on_tuples(2) + groups.Symmetric(2) * SWAP,
]


def actions(G):
    return {action.shape: action for action in (G, G.on(0), G.on())}.values()


PAIRS = [(source, target) for G in GROUPS for source in actions(G) for target in actions(G)]


def name(action):
    return repr(action).replace(" acting on ", ":").replace("×", "x").replace("⟨(0 1)⟩", "swap")


def make(source, target, in_channels=2, out_channels=3, **options):
    torch.manual_seed(0)
    layer = EquivariantLinear(source, in_channels, out_channels, target=target, **options).double()
    if layer.bias is not None:
        torch.nn.init.normal_(layer.bias)
    return layer, torch.randn(2, in_channels, *source.shape, dtype=torch.float64)


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=name)
def test_commutes_with_every_group_element(source, target):
    layer, x = make(source, target)
    rng = np.random.default_rng(0)
    for _ in range(3):
        g = source.group.random_element(rng)
        moved = layer(source.act(x, g))
        torch.testing.assert_close(moved, target.act(layer(x), g), atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("out_channels", [1, 40])  # as a matrix, and basis map by basis map
@pytest.mark.parametrize(("source", "target"), PAIRS, ids=name)
def test_agrees_with_the_dense_matrix_in_value_and_gradient(source, target, out_channels):
    layer, x = make(source, target, out_channels=out_channels)
    labels = torch.from_numpy(groups.basis(source, target))
    bias = layer.bias[torch.from_numpy(target.orbits.copy())]  # (T, out)
    flat = x.reshape(2, 2, source.degree)
    dense = torch.einsum("tsoc,bcs->bot", layer.weight[labels], flat) + bias.T
    dense = dense.reshape(2, out_channels, *target.shape)
    torch.testing.assert_close(layer(x), dense, atol=1e-9, rtol=1e-9)
    direction, parameters = torch.randn_like(dense), [layer.weight, layer.bias]
    ours = torch.autograd.grad((layer(x) * direction).sum(), parameters)
    theirs = torch.autograd.grad((dense * direction).sum(), parameters)
    torch.testing.assert_close(ours, theirs, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("out_channels", [1, 9])
def test_gradients_are_right(out_channels):
    layer, x = make(groups.parse("S3 x C2"), None, out_channels=out_channels)
    assert torch.autograd.gradcheck(layer, x[:1].requires_grad_())


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=name)
def test_has_one_weight_matrix_per_orbit_of_pairs_and_one_bias_per_orbit(source, target):
    layer, _ = make(source, target)
    assert layer.weight.shape == (groups.dimension(source, target), 3, 2)
    assert layer.bias.shape == (target.num_orbits, 3)
    assert set(layer.state_dict()) == {"weight", "bias"}


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=name)
def test_every_output_starts_at_unit_variance_with_equal_shares_of_its_orbits(source, target):
    layer, _ = make(source, target)
    for row in groups.basis(source, target):
        present, entries = np.unique(row, return_counts=True)
        shares = torch.from_numpy(entries) / layer.fan_in[torch.from_numpy(present)]
        torch.testing.assert_close(shares, torch.full_like(shares, 1 / len(present)))


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_layers_of_200_random_direct_sums_are_equivariant(start):
    for seed in range(start, start + 20):
        space = random_sum(seed, largest=60)
        layer, x = make(space, None)
        g = space.group.random_element(np.random.default_rng(seed))
        moved = space.act(layer(x), g)
        torch.testing.assert_close(layer(space.act(x, g)), moved, atol=1e-9, rtol=1e-9)


def test_sets_of_elements_made_of_parts_are_mapped():
    space = groups.parse("I2 x S3[a] + S3[a] x S3[b] + S3[b]")
    layer = DSS(EquivariantLinear(space, 2, 3)).double()
    x = torch.randn(2, 4, 2, space.degree, dtype=torch.float64)
    assert_equivariant(layer, x, symmetry=space)
    chain = Sequential(layer, torch.nn.BatchNorm1d(3), torch.nn.ReLU()).double()
    assert_equivariant(chain, x, symmetry=space)


def test_a_symmetric_group_of_many_points_needs_no_matrix():
    G = groups.Symmetric(100_000)
    layer, x = make(G, None, bias=False)
    assert sum(b.numel() for b in layer.buffers()) < 200_000
    rest = x.sum(-1, keepdim=True) - x
    expected = torch.einsum("oc,bcs->bos", layer.weight[0], x)
    expected += torch.einsum("oc,bcs->bos", layer.weight[1], rest)
    torch.testing.assert_close(layer(x), expected, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("text", ["S5 x C4", "S20 x C30", "S6^2", "C4 wr S3", "S6^2 + S6"])
def test_starts_at_unit_scale(text):
    torch.manual_seed(0)
    G = groups.parse(text)
    y = EquivariantLinear(G, 32, 32)(torch.randn(8, 32, *G.shape))
    assert 0.8 < y.var() < 1.25


def test_a_set_of_signals_is_mapped_in_bounded_memory():
    G = groups.Symmetric(25) * groups.Cyclic(100)
    layer = EquivariantLinear(G, 4, 4)
    assert sum(b.numel() for b in layer.buffers()) < 50_000  # the dense scheme has 6,250,000
    x = torch.randn(2, 4, 25, 100)
    with torch.profiler.profile(profile_memory=True) as profile:
        y = layer(x)
    assert y.shape == x.shape
    assert max(event.cpu_memory_usage for event in profile.events()) < 10_000_000


def test_sets_without_bias_and_of_any_batch_size():
    layer, x = make(groups.parse("S5 x C4"), None, bias=False)
    assert layer.bias is None
    assert layer(x[:1]).shape == (1, 3, 5, 4)
    assert layer(x[:0]).shape == (0, 3, 5, 4)
    assert not layer(torch.zeros_like(x)).any()


def test_copies_and_saved_weights_give_the_same_layer():
    layer, x = make(groups.parse("S2 x S3^2"), None)
    twin = copy.deepcopy(layer)
    torch.testing.assert_close(twin(x), layer(x))
    twin.reset_parameters()
    assert not torch.allclose(twin(x), layer(x))
    twin.load_state_dict(layer.state_dict())
    torch.testing.assert_close(twin(x), layer(x))


@pytest.mark.parametrize("text", ["S5 x C4", "C4 wr S3", "S4^2"])
def test_a_layer_from_the_meta_device_is_the_one_whose_weights_it_gets(text):
    G = groups.parse(text)
    layer, x = EquivariantLinear(G, 3, 8), torch.randn(2, 3, *G.shape)
    with torch.device("meta"):
        filled, assigned = (EquivariantLinear(G, 3, 8) for _ in range(2))
        assert filled(torch.randn(2, 3, *G.shape)).shape == (2, 8, *G.shape)
    filled.to_empty(device="cpu").load_state_dict(layer.state_dict())
    assigned.load_state_dict(layer.state_dict(), assign=True)
    assert torch.equal(filled(x), layer(x))
    assert torch.equal(assigned(x), layer(x))
    filled.to("meta").to_empty(device="cpu").reset_parameters()
    assert 0.3 < filled.double()(x.double()).var() < 3


def test_weights_in_half_precision_are_drawn_at_the_same_scale():
    layer = EquivariantLinear(groups.Cyclic(500), 200, 2).half()  # sums of 100,000 terms
    layer.reset_parameters()
    assert 0.9 < layer.weight.std() * 100_000**0.5 < 1.1


def test_weights_may_be_of_another_type_for_a_call():
    layer, x = make(groups.parse("S5 x C4"), None)
    weights = {name: value.detach().clone() for name, value in layer.named_parameters()}
    y = torch.func.functional_call(layer.float(), weights, x)
    torch.testing.assert_close(y, layer.double()(x), atol=1e-5, rtol=1e-5)  # rounded to float32


def test_autocast_computes_in_the_lower_precision():
    torch.manual_seed(0)
    layer, x = EquivariantLinear(groups.parse("S5 x C4"), 3, 8), torch.randn(2, 3, 5, 4)
    with torch.autocast("cpu", torch.bfloat16):
        y = layer(x)
    assert y.dtype == torch.bfloat16
    torch.testing.assert_close(y.float(), layer(x), atol=0.1, rtol=0.1)  # eight bits of mantissa


def test_wrong_shapes_are_named():
    layer = EquivariantLinear(groups.parse("S5 x C4"), 3, 8)
    for shape in [(2, 3, 4, 5), (3, 5, 4), (2, 3, 20), (2, 1, 5, 4)]:
        with pytest.raises(ValueError, match=r"x must have shape \(B, 3, 5, 4\) .* got \("):
            layer(torch.zeros(shape))


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="in_channels must be at least 1, got 0"):
        EquivariantLinear(groups.Cyclic(3), 0, 1)
    with pytest.raises(ValueError, match="target must be an action of the same group"):
        EquivariantLinear(groups.Cyclic(3), 1, 1, target=groups.Cyclic(4))
    with pytest.raises(TypeError, match="x must be a tensor, got ndarray"):
        EquivariantLinear(groups.Cyclic(3), 2, 1)(np.zeros((4, 2, 3)))


def test_printing_shows_the_signature():
    G = groups.parse("S5 x C4")
    layer = EquivariantLinear(G, 3, 8, target=G.on(0), bias=False)
    assert (
        repr(layer) == "EquivariantLinear(S5 × C4: 3 × (5×4) → 8 × (5), 2 basis maps, bias=False)"
    )
    assert "3 × (5×4) → 1 × (1), 1 basis map, " in repr(EquivariantLinear(G, 3, 1, target=G.on()))


def test_schemes_too_large_to_write_are_refused():
    with pytest.raises(ValueError, match="at most 50000000 pairs of points, got 10000000000"):
        EquivariantLinear(groups.Cyclic(100_000), 1, 1)

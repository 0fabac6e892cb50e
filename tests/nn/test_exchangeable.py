import pytest
import torch

from symsets.nn.exchangeable import Exchangeable

TOLERANCE = 1e-9


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("num_points", [1, 2, 7])
@pytest.mark.parametrize("pool", ["sum", "mean", "max"])
def test_commutes_with_reordering_the_points(pool, num_points, batch):
    layer = Exchangeable(3, 4, pool=pool, size=2.0).double()
    x, perm = torch.randn(batch, 3, num_points).double(), torch.randperm(num_points)
    assert (layer(x[..., perm]) - layer(x)[..., perm]).abs().max() < TOLERANCE


def test_is_the_dense_matrix_of_the_two_basis_maps():
    layer = Exchangeable(2, 3, size=4.0).double()
    torch.nn.init.normal_(layer.bias)
    own, pooled = layer.weight.detach()
    ones = torch.ones(5, 5).double()
    matrix = torch.kron(own, torch.eye(5).double()) + torch.kron(pooled, ones) / 4
    x = torch.randn(6, 2, 5).double()
    expected = (x.flatten(1) @ matrix.T).unflatten(1, (3, 5)) + layer.bias[:, None]
    assert torch.allclose(layer(x), expected, atol=TOLERANCE)


def test_mean_divides_by_the_actual_number_of_points():
    layer = Exchangeable(2, 3, pool="mean").double()
    x = torch.randn(4, 2, 5).double()
    assert torch.allclose(layer(torch.cat([x, x], -1))[..., :5], layer(x), atol=TOLERANCE)


def test_points_may_lie_on_several_axes():
    layer = Exchangeable(2, 3)
    x = torch.randn(4, 2, 5, 6)
    assert torch.equal(layer(x).flatten(2), layer(x.flatten(2)))


@pytest.mark.parametrize("pool", ["sum", "mean", "max"])
def test_no_points_are_no_problem(pool):
    assert Exchangeable(2, 3, pool=pool)(torch.zeros(4, 2, 0)).shape == (4, 3, 0)


@pytest.mark.parametrize("pool", ["sum", "mean", "max"])
def test_gradients(pool):
    layer = Exchangeable(2, 3, pool=pool).double()
    x = torch.randn(2, 2, 4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x, *p: torch.func.functional_call(
            layer, dict(zip(["weight", "bias"], p, strict=True)), x
        ),
        (x, *layer.parameters()),
    )


def test_the_gradient_of_a_tied_maximum_is_symmetric():
    x = torch.ones(1, 2, 4, dtype=torch.double, requires_grad=True)
    Exchangeable(2, 3, pool="max").double()(x).sum().backward()
    assert torch.allclose(x.grad, x.grad[..., :1].expand_as(x.grad), atol=TOLERANCE)


@pytest.mark.parametrize("smooth", [False, True])
def test_starts_at_unit_scale(smooth):
    torch.manual_seed(0)
    layer = Exchangeable(256, 256, size=100.0)
    x = torch.randn(4, 256, 1 if smooth else 100).expand(4, 256, 100)
    assert 0.5 < layer(x).std() < 1.5


def test_autocast_gives_the_lower_precision():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert Exchangeable(2, 3)(torch.randn(4, 2, 5)).dtype == torch.bfloat16


def test_compiles_to_the_same_value_and_gradient():
    layer, x = Exchangeable(2, 3), torch.randn(4, 2, 5, requires_grad=True)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    results = []
    for run in (layer, compiled):
        y = run(x)
        results.append((y, *torch.autograd.grad(y.square().sum(), (x, layer.weight))))
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*results, strict=True))


def test_works_without_bias():
    layer = Exchangeable(2, 3, bias=False)
    assert layer.bias is None
    assert not layer(torch.zeros(1, 2, 4)).any()


def test_a_reset_draws_other_weights():
    layer = Exchangeable(2, 3)
    before = layer.weight.clone()
    layer.reset_parameters()
    assert not torch.equal(layer.weight, before)


@pytest.mark.parametrize(
    ("options", "formula"),
    [
        ({"size": 7.0}, "2 → 3, A x_p + B Σ_q x_q / 7 + b"),
        ({"pool": "max", "bias": False}, "2 → 3, A x_p + B max_q x_q"),
    ],
)
def test_repr_shows_the_formula(options, formula):
    assert repr(Exchangeable(2, 3, **options)) == f"Exchangeable({formula})"


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"pool must be one of .*'sum'\], got 'medain'"):
        Exchangeable(2, 3, pool="medain")
    with pytest.raises(ValueError, match="size must be positive, got 0"):
        Exchangeable(2, 3, size=0)
    with pytest.raises(ValueError, match=r"x must have shape \(B, 2, P\) .* got \(4, 5, 6\)"):
        Exchangeable(2, 3)(torch.zeros(4, 5, 6))
    with pytest.raises(ValueError, match=r"x must have shape \(B, 2, P\) .* got \(4, 2\)"):
        Exchangeable(2, 3)(torch.zeros(4, 2))


@pytest.mark.parametrize("pool", ["sum", "mean"])
def test_sums_too_large_for_float16_are_divided_first(pool):
    layer = Exchangeable(1, 1, pool=pool, size=2000.0).half()
    torch.nn.init.ones_(layer.weight)
    assert (layer(torch.full((1, 1, 2000), 100.0).half()) == 200).all()

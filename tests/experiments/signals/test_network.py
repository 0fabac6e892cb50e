import math

import pytest
import torch

from symsets import RaggedSets
from symsets.experiments.signals.network import MODELS, RECIPES, SignalNetwork, Standardise
from symsets.models import build
from symsets.testing import assert_equivariant, equivariance_error, roll

pytestmark = pytest.mark.filterwarnings("ignore::symsets.nn.circular.SymmetryWarning")
PARAMETERS = {  # of the released networks, in millions
    "mlp": 3.166,
    "deepsets": 3.217,
    "deepsets-max": 3.217,
    "siamese": 3.049,
    "sridhar": 3.049,
    "siamese-ds": 3.022,
    "dss-sum": 3.235,
    "dss-max": 3.235,
    "aittala": 3.218,
}


def small(model, recipe="ours", **options):
    widths = [max(2, w // 40) for w in MODELS[model]]
    return SignalNetwork(model, recipe=recipe, widths=widths, **options)


@pytest.mark.parametrize("model", PARAMETERS)
def test_published_networks_have_the_released_parameter_counts(model):
    net = SignalNetwork(model, recipe="published")
    assert round(sum(p.numel() for p in net.parameters()) / 1e6, 3) == PARAMETERS[model]


@pytest.mark.parametrize("model", MODELS)
def test_ours_are_as_large_within_five_percent(model):
    count = sum(p.numel() for p in SignalNetwork(model).parameters()) / 1e6
    assert abs(count / PARAMETERS.get(model, 3.2) - 1) < 0.05


def test_the_released_siamese_ds_ends_in_deepsets_on_vectors():
    net = small("siamese-ds", "published").double().eval()
    x = torch.randn(2, 7, 1, 100, dtype=torch.float64)
    first, _, second, _, _, last, _, head = net.net
    features = second(first(x).relu()).relu().flatten(2)  # (B, N, C L)
    message = last.context(features.amax(1))[:, None]
    heard = (last.element(features.flatten(0, 1)).unflatten(0, (2, 7)) + message).relu()
    torch.testing.assert_close(net(x), head(heard))
    assert isinstance(last.element[0], torch.nn.Linear)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("model", [m for m in MODELS if m != "mlp"])
def test_networks_are_invariant_to_the_order_of_any_sets(model, recipe):
    net = small(model, recipe).eval()
    for x in (torch.randn(2, 7, 1, 100), RaggedSets(torch.randn(6, 1, 100), [1, 5])):
        assert equivariance_error(net, x, task="classify") < 1e-9


@pytest.mark.parametrize("model", ["siamese", "siamese-ds", "dss-sum", "dss-max", "aittala"])
def test_convolutions_are_shift_invariant_where_strides_divide_the_length(model):
    net = small(model, length=96).eval()
    assert_equivariant(net, torch.randn(2, 3, 1, 96), symmetry=roll(8), task="classify")


def test_the_published_length_is_only_nearly_shift_invariant():
    net = small("dss-sum").eval()
    error = equivariance_error(net, torch.randn(2, 3, 1, 100), symmetry=roll(8), task="classify")
    assert 1e-6 < error < 0.3


def test_unit_scale_at_initialisation():
    x = 10 * torch.randn(16, 25, 1, 100)
    assert SignalNetwork("dss-sum", widths=(16, 16, 8))(x).std() < 3


def test_networks_are_made_again_from_their_arguments():
    net = small("aittala", "published", num_elements=5)
    again = build("signals", net.arguments)
    again.load_state_dict(net.state_dict())
    x = torch.randn(3, 5, 1, 100)
    assert torch.equal(again.eval()(x), net.eval()(x))


def test_standardised_sets_forget_scale_and_offset():
    x = torch.randn(2, 5, 1, 30, dtype=torch.float64)
    layer = Standardise()
    torch.testing.assert_close(layer(7 * x + 3), layer(x), rtol=1e-4, atol=1e-4)
    ragged = RaggedSets(x.flatten(0, 1), [5, 5])
    torch.testing.assert_close(layer(ragged).elements, layer(x).flatten(0, 1))
    assert layer(torch.ones(1, 2, 1, 4)).isfinite().all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SignalNetwork("dss"), r"model must be one of \['mlp', .*\], got 'dss'"),
        (
            lambda: SignalNetwork("mlp", recipe="my"),
            r"recipe must be one of \['ours', 'published'\]",
        ),
        (lambda: build("signal", {}), r"network must be one of \[.*'signals'.*\], got 'signal'"),
    ],
)
def test_bad_input_gets_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_sets_whose_entries_are_all_alike_have_a_gradient():
    x = torch.ones(1, 3, 1, 4, requires_grad=True)
    Standardise()(x).sum().backward()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("model", PARAMETERS)
def test_published_weights_start_as_xavier_uniform(model):
    for part in SignalNetwork(model, recipe="published").modules():
        if getattr(part, "weight", None) is not None and part.weight.ndim > 1:
            outs, ins, *kernel = part.weight.shape
            bound = math.sqrt(6 / ((outs + ins) * math.prod(kernel)))
            assert 0.99 * bound < part.weight.abs().max() <= bound or part.weight.numel() < 2000
            assert part.weight.abs().max() <= bound

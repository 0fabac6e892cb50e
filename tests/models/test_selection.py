import pytest
import torch
from torch import nn

from symsets import RaggedSets
from symsets.models import build
from symsets.models._blocks import MODELS, RECIPES, in_full_precision
from symsets.models.selection import WIDTHS, SelectionNetwork
from symsets.nn.base import SetModule
from symsets.testing import assert_equivariant

PARAMETERS = {  # of the released networks, in millions
    "siamese-ds": 1.757,
    "sridhar": 1.757,
    "dss-sum": 1.735,
    "dss-max": 1.735,
    "aittala": 1.722,
}
NARROW = ((2, 2, 4), (4, 4, 4), (4, 4, 8))


def count(net):
    return sum(p.numel() for p in net.parameters())


def small(model, recipe="ours", **options):
    return SelectionNetwork(model, recipe=recipe, widths=NARROW, num_elements=4, **options)


def warmed(net, pixels=64):
    """Give batch normalisation something to remember, then evaluate in float64."""
    net = net.double().train()
    with torch.no_grad():
        net(torch.randn(4, 4, 3, pixels, pixels, dtype=torch.float64))
    return net.eval()


@pytest.mark.parametrize("model", PARAMETERS)
def test_published_networks_have_the_released_parameter_counts(model):
    net = SelectionNetwork(model, recipe="published")
    assert round(count(net) / 1e6, 3) == PARAMETERS[model]


@pytest.mark.parametrize("model", MODELS)
def test_ours_are_as_large_within_five_percent(model):
    net = SelectionNetwork(model)
    assert abs(count(net) / 1e6 / PARAMETERS.get(model, 1.74) - 1) < 0.05
    assert all(width % 8 == 0 for block in net.arguments["widths"] for width in block)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("model", MODELS)
def test_scores_follow_the_order_of_any_sets(model, recipe):
    net = warmed(small(model, recipe))
    for x in (torch.randn(2, 5, 3, 64, 64), RaggedSets(torch.randn(6, 3, 64, 64), [1, 0, 5])):
        assert_equivariant(net, x, task="select", trials=1)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("model", MODELS)
def test_ragged_equals_dense_set_by_set(model, recipe):
    net = warmed(small(model, recipe))
    x = RaggedSets(torch.randn(4, 3, 64, 64, dtype=torch.float64), [1, 3])
    scores = net(x)
    assert isinstance(scores, RaggedSets)
    for one, expected in zip(x, scores, strict=True):
        torch.testing.assert_close(net(one[None])[0], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_elements_talk_in_all_models_but_siamese(model):
    net = warmed(small(model))
    x = torch.randn(1, 3, 3, 64, 64, dtype=torch.float64)
    alone = torch.allclose(net(x)[:, :1], net(x[:, :1]), rtol=1e-9)
    assert alone == (model == "siamese")


@pytest.mark.parametrize("shape", [(62, 62), (64, 64), (80, 65), (128, 128)])
def test_any_image_that_the_strides_allow_is_scored(shape):
    net = small("dss-max", in_channels=1)
    assert net(torch.randn(1, 1, 1, *shape)).shape == (1, 1)
    assert net(torch.randn(2, 7, 1, *shape)).shape == (2, 7)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("model", MODELS)
def test_gradients_reach_every_parameter(model, recipe):
    net = small(model, recipe, dropout=0.1)
    net(torch.randn(2, 3, 3, 64, 64)).square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        # biases before a difference or a normalisation have a gradient of zero
        assert parameter.ndim == 1 or parameter.grad.any(), name


def test_sums_start_at_unit_scale_in_our_recipe():
    x = torch.randn(2, 20, 3, 64, 64)
    ours = SelectionNetwork("dss-sum", widths=NARROW, num_elements=20).eval()
    published = SelectionNetwork("dss-sum", recipe="published", widths=NARROW).eval()
    assert ours(x).abs().max() < 3
    assert published(x).abs().max() > 100


@pytest.mark.parametrize("recipe", RECIPES)
def test_networks_are_made_again_from_their_arguments(recipe):
    net = small("aittala", recipe, dropout=0.2)
    again = build("selection", net.arguments)
    again.load_state_dict(net.state_dict())
    x = torch.randn(1, 3, 3, 64, 64)
    assert torch.equal(again.eval()(x), net.eval()(x))
    assert again.arguments == net.arguments


def test_printing_says_what_the_network_is():
    shown = repr(small("dss-sum"))
    assert "model=dss-sum, recipe=ours, widths=[[2, 2, 4]" in shown
    assert "element(x_i) + context(Σ_j x_j / 4)" in shown


def test_the_tables_name_every_family():
    assert set(WIDTHS["ours"]) == {"siamese", "dss", "aittala", "attention", "wreath"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SelectionNetwork("dss"), r"model must be one of \['siamese', .*\], got 'dss'"),
        (
            lambda: SelectionNetwork("dss-sum", recipe="my"),
            r"recipe must be one of \['ours', 'published'\], got 'my'",
        ),
        (
            lambda: SelectionNetwork("dss-sum", widths=(8, 8, 8)),
            r"widths must hold the channels of three blocks, got \(8, 8, 8\)",
        ),
        (
            lambda: small("dss-sum")(torch.randn(1, 2, 3, 64, 61)),
            r"x must have images of at least 62×62 pixels, got 64×61",
        ),
        (
            lambda: small("dss-sum")(torch.randn(2, 3, 64, 64)),
            r"x must be sets of images of one size, .* got elements of shape \(64, 64\)",
        ),
    ],
)
def test_bad_input_gets_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_scores_do_not_drift_away_together():
    """A softmax sees no common shift of scores, so nothing should be able to learn one."""
    x = torch.randn(2, 4, 3, 64, 64)
    widths = [[4, 4, 4]] * 3
    torch.manual_seed(0)
    ours = SelectionNetwork("dss-sum", widths=widths)
    published = SelectionNetwork("dss-sum", widths=widths, recipe="published")
    last = {}
    for name, net in (("ours", ours), ("published", published)):
        net(x).softmax(1)[:, 0].log().sum().backward()
        last[name] = [part for part in net.scores if isinstance(part, SetModule)][-1]
    assert not hasattr(last["ours"], "context")
    assert last["published"].context.weight.grad.abs().max() < 1e-5


def test_scores_are_in_full_precision_under_autocast():
    net = SelectionNetwork("dss-sum", widths=[[4, 4, 4]] * 3)
    with torch.autocast("cpu", torch.bfloat16):
        assert net(torch.randn(2, 4, 3, 64, 64)).dtype == torch.float32


def test_full_precision_reaches_elements_that_are_sets_themselves():
    points = torch.randn(6, 3, dtype=torch.bfloat16)
    x = RaggedSets(RaggedSets(points, [2, 4]), [1, 1])
    with torch.autocast("cpu", torch.bfloat16):
        assert in_full_precision(nn.Linear(3, 3), lambda x: x.dtype, x) == torch.float32

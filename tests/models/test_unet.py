import copy
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from symsets import RaggedSets
from symsets.models import build
from symsets.models._blocks import MODELS, RECIPES
from symsets.models.unet import UNet
from symsets.testing import assert_equivariant

COLORS = {  # parameters of the released networks, in millions
    "siamese-ds": 5.244,
    "sridhar": 5.244,
    "dss-sum": 5.252,
    "dss-max": 5.252,
    "aittala": 5.145,
}
BURSTS = {
    "siamese-ds": 5.152,
    "sridhar": 5.152,
    "dss-sum": 5.192,
    "dss-max": 5.192,
    "aittala": 5.227,
}
KINDS = {"colors": {"size": 64, "task": "transform"}, "bursts": {"size": 128, "task": "merge"}}
NARROW = (2, 2, 4, 4)


def count(net):
    return sum(p.numel() for p in net.parameters())


def small(model, recipe="ours", **options):
    return UNet(model, recipe=recipe, widths=NARROW, num_elements=3, **options)


def warmed(net):
    """Give batch normalisation something to remember, then evaluate in float64."""
    net = net.double().train()
    with torch.no_grad():
        net(torch.randn(2, 3, 3, 64, 64, dtype=torch.float64))
    return net.eval()


of_every_kind = pytest.mark.parametrize(
    ("model", "recipe", "task"),
    [
        *((model, recipe, "transform") for model in MODELS for recipe in RECIPES),
        # The last layers of these are the same for all models.
        *((m, recipe, "merge") for m in ("siamese", "dss-max", "aittala") for recipe in RECIPES),
    ],
)


@pytest.mark.parametrize("model", COLORS)
def test_published_networks_have_the_released_parameter_counts(model):
    colors = UNet(model, recipe="published", size=64, task="transform")
    bursts = UNet(model, recipe="published", size=128, task="merge")
    assert round(count(colors) / 1e6, 3) == COLORS[model]
    assert round(count(bursts) / 1e6, 3) == BURSTS[model]


@pytest.mark.parametrize("model", MODELS)
def test_ours_are_as_large_within_five_percent(model):
    for kind, published in (("colors", COLORS), ("bursts", BURSTS)):
        net = UNet(model, **KINDS[kind])
        assert abs(count(net) / 1e6 / published.get(model, published["siamese-ds"]) - 1) < 0.05
        assert all(width % 8 == 0 for width in net.arguments["widths"])


@of_every_kind
def test_networks_respect_the_order_of_any_sets(model, recipe, task):
    net = warmed(small(model, recipe, task=task))
    for x in (torch.randn(2, 4, 3, 64, 64), RaggedSets(torch.randn(5, 3, 64, 64), [1, 0, 4])):
        assert_equivariant(net, x, task=task, trials=1)


@of_every_kind
def test_ragged_equals_dense_set_by_set(model, recipe, task):
    net = warmed(small(model, recipe, task=task))
    x = RaggedSets(torch.randn(4, 3, 64, 64, dtype=torch.float64), [1, 3])
    for one, expected in zip(x, net(x), strict=True):
        torch.testing.assert_close(net(one[None])[0], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_elements_talk_in_all_models_but_siamese(model):
    net = warmed(UNet(model, widths=(4, 4, 8, 16), num_elements=3))
    x = torch.randn(1, 3, 3, 64, 64, dtype=torch.float64)
    alone = torch.allclose(net(x)[:, :1], net(x[:, :1]), rtol=1e-9)
    assert alone == (model == "siamese")


def plain_unet(net, x):
    """Follow the published colours network of DSS(sum), one set ``(N, C, H, W)`` at a time."""

    def apply(layers, x):
        for layer in layers:
            if hasattr(layer, "element"):
                total = x.sum(0, True) if layer.pool == "sum" else x.amax(0, keepdim=True)
                x = layer.element(x) + layer.context(total)
            else:
                x = layer(x)
        return x

    def larger(x, scale):
        return F.interpolate(x, scale_factor=scale, mode="bilinear", align_corners=True)

    one = apply(net.encoder[0], x)  # 64 px
    two = apply(net.encoder[1], F.max_pool2d(one, 2))
    three = apply(net.encoder[2], F.max_pool2d(two, 2))
    four = apply(net.encoder[3], F.max_pool2d(three, 2))  # 8 px
    corner = four[..., ::8, ::8].maximum(four[..., 1::8, ::8])
    corner = corner.maximum(four[..., ::8, 1::8]).maximum(four[..., 1::8, 1::8])
    x = larger(apply(net.bottleneck, corner), 8)
    for block, skip in zip(net.decoder, (four, three, two), strict=True):
        x = larger(apply(block, torch.cat([x, skip], 1)), 2)
    return apply(net.head, torch.cat([x, one], 1))


def test_published_network_agrees_with_a_plain_one():
    net = warmed(small("dss-sum", "published"))
    x = torch.randn(2, 3, 3, 64, 128, dtype=torch.float64)
    expected = torch.stack([plain_unet(net, one) for one in x])
    torch.testing.assert_close(net(x), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("shape", [(64, 64), (128, 64)])
def test_images_may_be_any_multiple_of_64(shape, recipe):
    x = torch.randn(1, 1, 3, *shape)
    assert small("dss-max", recipe).eval()(x).shape == x.shape
    x = torch.randn(2, 5, 1, *shape)
    net = small("aittala", recipe, task="merge", in_channels=1, out_channels=2)
    assert net(x).shape == (2, 2, *shape)


@pytest.mark.parametrize("task", ["transform", "merge"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_five_resolutions_take_multiples_of_128(recipe, task):
    net = UNet("dss-sum", size=128, recipe=recipe, widths=(2, 2, 2, 4, 4), task=task).eval()
    x = torch.randn(1, 2, 3, 128, 256)
    assert net(x).shape == (x.shape if task == "transform" else x[:, 0].shape)


def test_the_published_bottleneck_sees_a_corner_and_ours_everything():
    x = torch.zeros(1, 1, 8, 8)
    x[..., 5, 6] = 1
    assert small("dss-sum", "published").pools[-1](x).item() == 0
    assert small("dss-sum", "ours").pools[-1](x).item() == 1


@pytest.mark.parametrize("recipe", RECIPES)
def test_merged_images_stay_in_range(recipe):
    net = small("dss-sum", recipe, task="merge").eval()
    assert net(1e6 * torch.randn(1, 2, 3, 64, 64)).abs().max() <= 1


@pytest.mark.parametrize("recipe", RECIPES)
def test_ours_learns_what_the_mean_of_a_burst_lacks(recipe):
    net = small("dss-max", recipe, task="merge").eval()
    x = torch.rand(2, 3, 3, 64, 64) - 0.5
    for weight in net.head.parameters():
        nn.init.zeros_(weight)
    expected = x.mean(1) if recipe == "ours" else torch.zeros(2, 3, 64, 64)
    torch.testing.assert_close(net(x), expected)


@of_every_kind
def test_gradients_reach_every_parameter(model, recipe, task):
    net = UNet(model, recipe=recipe, widths=(4, 4, 8, 8), task=task, dropout=0.1)
    net(torch.randn(3, 2, 3, 64, 64)).square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        # biases before a difference or a normalisation have a gradient of zero
        assert parameter.ndim == 1 or parameter.grad.any(), name


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("task", ["transform", "merge"])
def test_networks_are_made_again_from_their_arguments(task, recipe):
    net = small("dss-median", recipe, task=task, dropout=0.2)
    again = build("unet", net.arguments)
    again.load_state_dict(net.state_dict())
    x = torch.randn(1, 3, 3, 64, 64)
    assert torch.equal(again.eval()(x), net.eval()(x))
    assert again.arguments == net.arguments


def test_printing_says_what_the_network_is():
    shown = repr(small("dss-sum", task="merge"))
    assert "model=dss-sum, size=64, recipe=ours, widths=[2, 2, 4, 4], task=merge" in shown
    assert "element(x_i) + context(Σ_j x_j / 3)" in shown
    assert "element(max_j x_j)" in shown


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: UNet("dss"), r"model must be one of \['siamese', .*\], got 'dss'"),
        (lambda: UNet("dss-sum", recipe="my"), r"recipe must be one of \['ours', 'published'\]"),
        (
            lambda: UNet("dss-sum", task="select"),
            r"task must be one of \['transform', 'merge'\], got 'select'",
        ),
        (lambda: UNet("dss-sum", size=96), r"size must be one of \[64, 128\], got 96"),
        (
            lambda: UNet("dss-sum", size=128, widths=NARROW),
            r"widths must hold 5 numbers of channels for size 128, got \[2, 2, 4, 4\]",
        ),
        (
            lambda: small("dss-sum")(torch.randn(1, 2, 3, 64, 96)),
            r"x must have images whose height and width 64 divides, got 64×96",
        ),
        (
            lambda: small("dss-sum")(RaggedSets(torch.randn(2, 3, 64), [2])),
            r"x must be sets of images of one size, .* got elements of shape \(3, 64\)",
        ),
    ],
)
def test_bad_input_gets_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("model", ["dss-sum", "siamese-ds", "aittala"])
def test_published_bottlenecks_keep_the_variance_of_a_context_repeated_over_the_set(model):
    make = partial(UNet, model, recipe="published", widths=(2, 2, 4, 4))
    net = make(num_elements=5).double().train()
    layer = net.bottleneck[0]
    x = torch.randn(4, 5, layer.context[0].in_channels, 1, 1, dtype=torch.float64)
    linear, norm = copy.deepcopy(layer.context)
    plain = nn.BatchNorm2d(norm.num_features).double()
    for step in range(3):
        context = linear(x.amax(1) + step)
        repeated = plain(context[:, None].expand(-1, 5, -1, -1, -1).flatten(0, 1))
        given = layer.context(x.amax(1) + step)
        torch.testing.assert_close(given, repeated.unflatten(0, (4, 5))[:, 0])
    torch.testing.assert_close(layer.context[1].running_mean, plain.running_mean)
    torch.testing.assert_close(layer.context[1].running_var, plain.running_var)
    state = net.state_dict()
    assert state.keys() == make(num_elements=2).state_dict().keys()

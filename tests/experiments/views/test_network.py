import pytest
import torch
import torch.nn.functional as F

from symsets import RaggedSets
from symsets.experiments.views.loss import views_loss
from symsets.experiments.views.network import AGGREGATES, WIDTHS, ViewsNetwork
from symsets.models import build
from symsets.models._blocks import MODELS, RECIPES
from symsets.testing import assert_equivariant
from symsets.train.ensemble import Ensemble

F64 = torch.float64


def small(model, recipe="ours", aggregate="block", widths=(4, 8, 8)):
    return ViewsNetwork(model, recipe=recipe, aggregate=aggregate, widths=widths)


def warmed(net):
    """Give batch normalisation something to remember, then evaluate in float64."""
    net = net.double().train()
    with torch.no_grad():
        net(torch.randn(4, 3, 3, 16, 16, dtype=F64))
    return net.eval()


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("model", MODELS)
def test_networks_respect_the_order_of_any_sets(model, recipe, aggregate):
    net = warmed(small(model, recipe, aggregate))
    for x in (torch.randn(2, 4, 3, 16, 16), RaggedSets(torch.randn(5, 3, 16, 16), [1, 0, 4])):
        assert_equivariant(net, x, task="transform", trials=1)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("model", MODELS)
def test_ragged_equals_dense_set_by_set(model, recipe, aggregate):
    net = warmed(small(model, recipe, aggregate))
    x = RaggedSets(torch.randn(4, 3, 16, 16, dtype=F64), [1, 3])
    for one, expected in zip(x, net(x), strict=True):
        torch.testing.assert_close(net(one[None])[0], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("model", MODELS)
def test_views_meet_in_all_models_but_siamese(model, aggregate):
    net = warmed(small(model, aggregate=aggregate))
    x = torch.randn(1, 3, 3, 16, 16, dtype=F64)
    alone = torch.allclose(net(x)[:, :1], net(x[:, :1]), rtol=1e-9)
    assert alone == (model == "siamese")


def plain(net, x, meet):
    """Follow the network of recipe published, one set ``(N, C, H, W)`` at a time."""

    def block(layers, x):
        for part in layers:
            x = part.act(part.norm(part.layer.element(x)))
        return x

    kept = []
    for part, meeting in zip(net.encoder, net.down_meetings, strict=True):
        fine = block(part, x)
        x, where = F.max_pool2d(fine, 2, return_indices=True)
        kept.append((fine, where))
        x = meet(meeting, x)
    for k, part in enumerate(net.decoder):
        fine, where = kept.pop()
        x = block(part, torch.cat([F.max_unpool2d(x, where, 2), fine], 1))
        if k < len(net.decoder) - 1:
            x = meet(net.up_meetings[k], x)
    return net.head[0].element(x)


@pytest.mark.parametrize(
    ("model", "meet"),
    [
        ("sridhar", lambda layer, x: x - x.mean(0, keepdim=True)),
        ("dss-sum", lambda layer, x: x + layer.context(x.sum(0, keepdim=True))),
        ("siamese", lambda layer, x: x),
    ],
)
def test_published_networks_agree_with_plain_ones(model, meet):
    net = warmed(small(model, "published"))
    x = torch.randn(2, 3, 3, 16, 24, dtype=F64)
    expected = torch.stack([plain(net, one, meet) for one in x])
    torch.testing.assert_close(net(x), expected, rtol=1e-9, atol=1e-9)


def test_published_networks_have_the_blocks_of_vgg16():
    net = ViewsNetwork("sridhar", recipe="published")
    maps = [m for m in net.encoder.modules() if isinstance(m, torch.nn.Conv2d)]
    widths = [64, 64, 128, 128, *3 * [256], *6 * [512]]
    assert [m.out_channels for m in maps] == widths
    # VGG16's convolutions, as torchvision counts them
    assert sum(p.numel() for m in maps for p in m.parameters()) == 14_714_688


def test_ours_has_channels_in_multiples_of_eight():
    assert all(width % 8 == 0 for width in WIDTHS["ours"])


@pytest.mark.parametrize("num_views", [1, 2, 8])
@pytest.mark.parametrize("model", MODELS)
def test_any_number_of_views(model, num_views):
    net = small(model).eval()
    assert net(torch.randn(2, num_views, 3, 16, 24)).shape == (2, num_views, 7, 16, 24)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("model", MODELS)
def test_gradients_reach_every_parameter(model, recipe, aggregate):
    net = small(model, recipe, aggregate)
    target = torch.rand(3, 2, 7, 16, 16)
    target[:, :, 0] = target[:, :, 0].round()
    views_loss(net(torch.randn(3, 2, 3, 16, 16)), target).backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        # biases before a difference or a normalisation have a gradient of zero
        assert parameter.ndim == 1 or parameter.grad.any(), name


@pytest.mark.parametrize("model", ["dss-sum", "sridhar", "attention"])
def test_several_networks_train_as_one(model):
    members = [small(model) for _ in range(2)]
    x, y = torch.randn(2, 3, 3, 3, 16, 16), torch.rand(2, 3, 3, 7, 16, 16).round()
    together = Ensemble(members)(x, y, then=views_loss)
    alone = torch.stack([views_loss(m(a), b) for m, a, b in zip(members, x, y, strict=True)])
    torch.testing.assert_close(together, alone)


def test_coordinates_start_in_the_middle():
    out = small("dss-sum").eval()(torch.rand(2, 3, 3, 16, 16))
    assert (out[:, :, 1:].mean() - 0.5).abs() < 0.3
    assert out[:, :, 0].mean().abs() < 0.3


def test_networks_are_made_again_from_their_arguments():
    net = ViewsNetwork("aittala", recipe="published", widths=(4, 6, 8), aggregate="layer")
    again = build("views", net.arguments)
    again.load_state_dict(net.state_dict())
    x = torch.randn(1, 3, 3, 16, 16)
    assert torch.equal(again.eval()(x), net.eval()(x))
    assert again.arguments == net.arguments


def test_printing_says_what_the_network_is():
    shown = repr(small("dss-sum"))
    assert "model=dss-sum, recipe=ours, widths=[4, 8, 8]" in shown
    assert "element(x_i) + context(Σ_j x_j / 3)" in shown


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ViewsNetwork("dss"), r"model must be one of \['siamese', .*\], got 'dss'"),
        (lambda: ViewsNetwork("dss-sum", recipe="my"), r"recipe must be one of \['ours'"),
        (
            lambda: ViewsNetwork("dss-sum", aggregate="never"),
            r"aggregate must be one of \['block', 'layer'\], got 'never'",
        ),
        (lambda: ViewsNetwork("dss-sum", widths=(8,)), r"widths must hold 2 to 5 numbers of chan"),
        (
            lambda: small("dss-sum")(torch.randn(1, 2, 3, 16, 12)),
            r"x must have images whose height and width 8 divides, got 16×12",
        ),
    ],
)
def test_bad_input_gets_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()

"""Every scheme is a model of every network, one that a user registers included."""

import runpy
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

import symsets
from symsets import DSS, register_scheme
from symsets.experiments.shapes.network import ShapeNetwork
from symsets.experiments.signals.network import SignalNetwork
from symsets.experiments.views.network import ViewsNetwork
from symsets.models import SelectionNetwork, UNet
from symsets.nn.registry import unregister_scheme
from symsets.testing import assert_equivariant

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "own_scheme.py"
NETWORKS = {
    "signals": (SignalNetwork, {"widths": (4, 4, 4), "length": 16}, (1, 16), "classify"),
    "selection": (SelectionNetwork, {"widths": [[4, 4, 4]] * 3}, (3, 62, 62), "select"),
    "unet": (UNet, {"widths": (4, 4, 4, 4), "num_elements": 3}, (3, 64, 64), "transform"),
    "shapes": (ShapeNetwork, {"widths": (4, 4, 4)}, (3, 8), "select"),
    "views": (ViewsNetwork, {"widths": (8, 8), "num_elements": 3}, (3, 8, 8), "transform"),
}


@pytest.fixture
def contrast():
    yield runpy.run_path(str(EXAMPLE))["Contrast"]
    unregister_scheme("contrast")


@pytest.mark.parametrize("recipe", ["ours", "published"])
@pytest.mark.parametrize("scheme", ["contrast", "dss-power2", "dss-median", "wreath"])
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.filterwarnings("ignore:.*only nearly equivariant")
def test_any_scheme_is_a_model_of_every_network(contrast, name, scheme, recipe):
    network, options, shape, task = NETWORKS[name]
    torch.manual_seed(0)
    net = network(scheme, recipe=recipe, **options)
    for part in net.modules():
        if isinstance(part, _BatchNorm):
            part.momentum = None  # evaluation with the statistics of the one batch
    x = torch.randn(2, 3, *shape)
    net(x).square().sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    if scheme == "contrast":
        assert any(isinstance(part, contrast) for part in net.modules())
    assert_equivariant(net.eval(), x, task=task)


@pytest.mark.parametrize("own", ["dss-of-mine", "deepsets-of-mine"])
@pytest.mark.parametrize("recipe", ["ours", "published"])
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.filterwarnings("ignore:.*only nearly equivariant")
def test_a_scheme_may_be_called_like_a_family(name, recipe, own):
    class Mine(DSS):
        pass

    @register_scheme(own)
    def build(make, in_channels, out_channels, *, size):
        return Mine(make(in_channels, out_channels), pool="mean")

    network, options, shape, _ = NETWORKS[name]
    try:
        net = network(own, recipe=recipe, **options)
    finally:
        unregister_scheme(own)
    assert any(isinstance(part, Mine) for part in net.modules())
    if network is SignalNetwork:  # DeepSets would flatten signals first
        assert not any(isinstance(part, nn.Flatten) for part in net.modules())
    assert net(torch.randn(2, 3, *shape)).isfinite().all()


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.filterwarnings("ignore:.*only nearly equivariant")
def test_default_widths_are_those_of_dss(contrast, name):
    network, options, _, _ = NETWORKS[name]
    rest = {key: value for key, value in options.items() if key != "widths"}
    widths = [network(scheme, **rest).arguments["widths"] for scheme in ("contrast", "dss-sum")]
    assert widths[0] == widths[1]


@pytest.mark.parametrize("name", NETWORKS)
def test_a_word_that_is_no_scheme_is_refused_with_all_choices(contrast, name):
    network, options, _, _ = NETWORKS[name]
    with pytest.raises(ValueError, match=r"model must be one of .*'contrast'.*, got 'contrsat'"):
        network("contrsat", **options)


def test_a_saved_network_needs_its_scheme(contrast, tmp_path):
    net = SelectionNetwork("contrast", widths=[[4, 4, 4]] * 3)
    symsets.saving.save_registered(tmp_path, "selection", net.arguments, net.state_dict())
    x = torch.randn(1, 2, 3, 62, 62)
    again = symsets.load(tmp_path)
    assert isinstance(again, nn.Module)
    assert torch.equal(again.eval()(x), net.eval()(x))
    unregister_scheme("contrast")
    with pytest.raises(ValueError, match="got 'contrast'"):
        symsets.load(tmp_path)
    runpy.run_path(str(EXAMPLE))  # there again
    symsets.load(tmp_path)

"""What all registered networks have in common."""

import inspect

import numpy as np
import pytest
import torch

import symsets
from symsets.experiments.shapes.network import ShapeNetwork
from symsets.experiments.signals.network import SignalNetwork
from symsets.models import SelectionNetwork, UNet, build, register_network
from symsets.models.registry import _NETWORKS

COUNTS = ("num_elements", "in_channels", "out_channels", "length")
WIDTHS = {"selection": [[4, 0, 4], [4], [4]], "shapes": [4, 0, 4], "signals": [4, 0, 4]}


def test_no_network_takes_the_name_of_another(monkeypatch):
    monkeypatch.setattr("symsets.models.registry._NETWORKS", dict(_NETWORKS))
    register_network("mine")(UNet)
    for name in ("mine", "signals"):
        with pytest.raises(
            ValueError, match=f"^name must be new, but there is a network '{name}' already$"
        ):
            register_network(name)(ShapeNetwork)
    register_network("signals")(SignalNetwork)  # as a module that is loaded again does


MODELS = {"weights": "acting"}  # of networks that have no schemes


def taking(argument):
    """Return the names of the networks that take an argument."""
    return [n for n in _NETWORKS if argument in inspect.signature(_NETWORKS[n]).parameters]


@pytest.mark.parametrize("recipe", ["ours", "published"])
@pytest.mark.parametrize(("name", "count"), [(n, c) for c in COUNTS for n in taking(c)])
def test_counts_are_positive_integers(name, count, recipe):
    recipes = {"recipe": recipe} if name in taking("recipe") else {}
    with pytest.raises(ValueError, match=f"^{count} must be at least 1, got 0$"):
        build(name, {"model": MODELS.get(name, "dss-sum"), **recipes, count: 0})
    with pytest.raises(TypeError, match=f"^{count} must be an integer, got 2.5$"):
        build(name, {"model": MODELS.get(name, "dss-sum"), **recipes, count: 2.5})


@pytest.mark.parametrize("name", taking("widths"))
def test_no_layer_is_without_channels(name):
    with pytest.raises(ValueError, match=r"^widths must be at least 1, got 0$"):
        build(
            name, {"model": MODELS.get(name, "dss-sum"), "widths": WIDTHS.get(name, [8, 0, 8, 8])}
        )


@pytest.mark.parametrize("name", taking("widths"))
def test_no_widths_are_not_those_of_the_recipe(name):
    with pytest.raises(ValueError, match=r"^widths must hold .*, got \[\]$"):
        build(name, {"model": MODELS.get(name, "dss-sum"), "widths": []})


def test_a_class_of_ones_own_keeps_the_arguments_that_it_passes_on():
    class Mine(SelectionNetwork):
        def __init__(self, seed):
            super().__init__("dss-sum", in_channels=1)
            self.seed = seed

    net = Mine(3)
    assert net(torch.randn(1, 2, 1, 80, 80)).shape == (1, 2)
    assert net.arguments["in_channels"] == 1
    assert "seed" not in net.arguments


def test_arguments_are_kept_as_plain_numbers(tmp_path):
    net = UNet("dss-sum", widths=np.array([8, 8, 8, 8]), num_elements=np.int64(3))
    assert net.arguments["widths"] == [8, 8, 8, 8]
    symsets.save(net, tmp_path / "net")
    assert symsets.load(tmp_path / "net").arguments == net.arguments
    assert SignalNetwork("dss-sum", widths=range(4, 7)).arguments["widths"] == [4, 5, 6]
    assert SignalNetwork("dss-sum").arguments["widths"] == [160, 160, 80]

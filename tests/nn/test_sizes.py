"""A network made for any size is the trained one at its size, and steady at others."""

import pytest
import torch
from torch import nn

from symsets.experiments.views.network import ViewsNetwork
from symsets.nn import DSS, Classify, Merge, Sequential, Wreath, for_any_size


def network() -> Sequential:
    layers = [DSS(nn.Linear(2, 8), size=3), nn.ReLU(), DSS(nn.Linear(8, 8), size=3)]
    return Sequential(*layers, Classify(8, 4, size=3)).double()


def test_nothing_changes_at_the_size_of_training() -> None:
    trained, x = network(), torch.randn(5, 3, 2, dtype=torch.float64)
    torch.testing.assert_close(for_any_size(trained)(x), trained(x))


def test_a_set_that_is_repeated_gives_the_same() -> None:
    trained, x = network(), torch.randn(5, 3, 2, dtype=torch.float64)
    twice = torch.cat([x, x], dim=1)
    torch.testing.assert_close(for_any_size(trained)(twice), trained(x))
    assert not torch.allclose(trained(twice), trained(x))


def test_the_trained_network_stays_as_it_is() -> None:
    trained = network()
    before = str(trained)
    for_any_size(trained)
    assert str(trained) == before


def test_wreath_layers_too() -> None:
    trained = Wreath(nn.Linear(2, 8), size=3).double()
    x = torch.randn(5, 3, 2, dtype=torch.float64)
    changed, twice = for_any_size(trained), torch.cat([x, x], dim=1)
    torch.testing.assert_close(changed(x), trained(x))
    torch.testing.assert_close(changed(twice)[:, :3], trained(x))


def test_power_sums_are_named() -> None:
    with pytest.raises(ValueError, match="must not divide power sums by a size, got DSS with pool"):
        for_any_size(Sequential(DSS(nn.Linear(2, 8), pool="power2", size=3)))
    assert for_any_size(DSS(nn.Linear(2, 8), pool="power2")).pool == "power2"


@pytest.mark.parametrize("pool", ["max", "mean", "median"])
def test_other_pools_stay(pool: str) -> None:
    assert for_any_size(DSS(nn.Linear(2, 8), pool=pool)).pool == pool


def test_plain_sums_stay() -> None:
    assert for_any_size(DSS(nn.Linear(2, 8))).pool == "sum"
    assert for_any_size(Merge(nn.Linear(2, 8), size=3)).pool == "mean"


def test_networks_of_models_too() -> None:
    trained = ViewsNetwork("dss-sum", widths=(8, 16, 16), num_elements=3).eval()
    changed = for_any_size(trained)
    x = torch.rand(1, 3, 3, 32, 32)
    torch.testing.assert_close(changed(x), trained(x))
    twice = torch.cat([x, x], dim=1)
    torch.testing.assert_close(changed(twice)[:, :3], trained(x), atol=1e-4, rtol=1e-4)

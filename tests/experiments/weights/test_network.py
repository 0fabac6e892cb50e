"""Networks that read weights: their symmetry, and where it is missing."""

import pytest
import torch
from torch import nn

import symsets
from symsets.experiments.weights.fitting import draw
from symsets.experiments.weights.network import MODELS, WeightNetwork
from symsets.experiments.weights.space import WeightSpace
from symsets.testing import assert_equivariant

WIDTHS = (2, 6, 5, 1)
SPACE = WeightSpace(WIDTHS)
EQUIVARIANT = ("acting", "dws", "deepsets")


def network(model, widths=WIDTHS, channels=8):
    torch.manual_seed(0)
    net = WeightNetwork(model, widths=widths, num_classes=3, channels=channels)
    return net.double().eval()


def vectors(space=SPACE, num=4):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(num, 1, space.size, generator=generator, dtype=torch.float64)


def flipped(x):
    """Negate some neurons: what reads them undoes it, since the sine is odd."""
    weights, biases = SPACE.split(x)
    for k, n in enumerate(SPACE.hidden):
        sign = torch.where(torch.arange(n) % 3 == 0, -1.0, 1.0).double()
        weights[k], biases[k] = weights[k] * sign, biases[k] * sign
        weights[k + 1] = weights[k + 1] * sign[:, None]
    return SPACE.join(weights, biases)


@pytest.mark.parametrize("model", EQUIVARIANT)
@pytest.mark.parametrize("widths", [WIDTHS, (2, 32, 32, 1), (3, 4, 2), (2, 4, 3, 5, 1)])
def test_reordering_neurons_changes_nothing(model, widths):
    space, net = WeightSpace(widths), network(model, widths)
    x = vectors(space)
    moved = space.reorder(x, space.random_orders(x))
    torch.testing.assert_close(net(moved), net(x), rtol=0, atol=1e-9)
    assert torch.pdist(net(x)).min() > 1e-3  # it tells networks apart


class OfSets(nn.Module):
    """Take sets of one, as the checker gives them."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x.squeeze(1))


@pytest.mark.parametrize("model", EQUIVARIANT)
def test_the_checker_finds_the_symmetry(model):
    x = vectors().unsqueeze(1)  # (B, 1, 1, D)
    assert_equivariant(OfSets(network(model)), x, symmetry=SPACE.group, task="classify")


class Broken(nn.Module):
    """Read weights after one neuron was given a mark."""

    def __init__(self):
        super().__init__()
        self.net = network("acting")
        self.mark = torch.eye(SPACE.size, dtype=torch.float64)[0]

    def forward(self, x):
        return self.net(x + self.mark)


@pytest.mark.parametrize("net", [Broken(), network("mlp"), network("mlp-reordered")])
def test_a_broken_symmetry_is_found(net):
    x = vectors()
    moved = SPACE.reorder(x, SPACE.random_orders(x))
    assert (net(moved) - net(x)).abs().max() > 1e-4
    with pytest.raises(AssertionError, match="the symmetry of the elements is not kept"):
        assert_equivariant(OfSets(net), x.unsqueeze(1), symmetry=SPACE.group, task="classify")


def test_signs_of_neurons_say_nothing_where_weights_act():
    x = vectors()
    points = torch.randn(5, 2, dtype=torch.float64)
    same = [draw(SPACE, one.squeeze(1), points) for one in (x, flipped(x))]
    torch.testing.assert_close(*same)
    acting, dws = network("acting"), network("dws")
    torch.testing.assert_close(acting(flipped(x)), acting(x), rtol=0, atol=1e-9)
    assert not torch.allclose(dws(flipped(x)), dws(x), atol=1e-3)


@pytest.mark.parametrize("model", MODELS)
def test_single_networks_do_not_meet_and_all_weights_learn(model):
    net, x = network(model), vectors()
    torch.testing.assert_close(torch.cat([net(one) for one in x.split(1)]), net(x))
    net(x).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in net.parameters())


@pytest.mark.parametrize("model", MODELS)
def test_a_saved_network_comes_back(model, tmp_path):
    net = network(model).float()
    symsets.save(net, tmp_path / "net")
    x = vectors().float()
    assert torch.equal(symsets.load(tmp_path / "net").eval()(x), net(x))


def test_what_is_no_network_is_refused():
    with pytest.raises(ValueError, match="model must be one of"):
        WeightNetwork("perceptron")
    with pytest.raises(ValueError, match=r"x must have shape \(B, 1, 59\), got \(2, 59\)"):
        network("acting")(torch.zeros(2, 59))

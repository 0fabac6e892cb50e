import copy

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from symsets.data import LabelledSets
from symsets.experiments.signals.network import SignalNetwork
from symsets.train.average import refresh_statistics
from symsets.train.ensemble import Ensemble
from symsets.train.fitting import fit_together
from symsets.train.metrics import ACCURACY, Task
from symsets.train.plan import Plan


def members(num=3):
    return [
        SignalNetwork("dss-sum", widths=(4, 4, 2), num_elements=3, length=8).double()
        for _ in range(num)
    ]


def inputs(num=3):
    return torch.randn(num, 5, 3, 1, 8, dtype=torch.float64), torch.randint(3, (num, 5))


def test_members_compute_what_they_would_alone():
    nets, (x, y) = members(), inputs()
    ensemble = Ensemble(nets)
    losses = ensemble(x, y, then=cross_entropy)
    losses.sum().backward()
    for k, net in enumerate(nets):
        loss = cross_entropy(net(x[k]), y[k])
        loss.backward()
        torch.testing.assert_close(losses[k], loss)
        for name, p in net.named_parameters():
            together = ensemble.stacked.get_parameter(name).grad[k]
            torch.testing.assert_close(together, p.grad, rtol=1e-9, atol=1e-12)
        for name, value in net.named_buffers():
            torch.testing.assert_close(ensemble.stacked.get_buffer(name)[k], value)


def test_members_train_in_half_precision():
    nets, (x, y) = [net.float() for net in members()], inputs()
    gradients = []
    for enabled in (False, True):
        ensemble = Ensemble(nets)
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled, cache_enabled=False):
            losses = ensemble(x.float(), y, then=cross_entropy)
        losses.sum().backward()
        gradients.append(torch.cat([p.grad.flatten() for p in ensemble.parameters()]))
    exact, half = gradients
    assert (half - exact).norm() < 0.1 * exact.norm()


def test_half_precision_side_by_side_is_that_of_a_member_alone():
    nets, x = [net.float() for net in members()], inputs()[0].float()
    with torch.autocast("cpu", torch.bfloat16):
        together = Ensemble(nets)(x)
        alone = [net(x[k]) for k, net in enumerate(nets)]
    assert torch.equal(together, torch.stack(alone))


@pytest.mark.parametrize("num", [2, 4])
def test_every_member_needs_its_own_batch(num):
    with pytest.raises(ValueError, match=rf"inputs must have 3 batches, got .*\({num}, 5"):
        Ensemble(members())(inputs(num)[0])


def test_one_member_needs_no_vectorisation():
    (net,), (x, y) = members(1), inputs(1)
    ensemble = Ensemble([net])
    torch.testing.assert_close(ensemble(x)[0], net(x[0]))
    assert ensemble(x, y, then=cross_entropy).shape == (1,)


def test_modes_reach_the_members_however_they_are_set():
    ensemble = Ensemble(members(1))
    x, _ = inputs(1)
    for module in ensemble.modules():  # as Lightning restores modes after validation
        module.training = False
    before = copy.deepcopy(ensemble.state_dict())
    ensemble(x)
    assert all(torch.equal(v, before[k]) for k, v in ensemble.state_dict().items())
    ensemble.training = True
    ensemble(x)
    assert not all(torch.equal(v, before[k]) for k, v in ensemble.state_dict().items())


def test_states_of_members_come_out_as_they_went_in():
    nets = members()
    ensemble = Ensemble(nets)
    for k, net in enumerate(nets):
        state = ensemble.member_state(k)
        assert all(torch.equal(state[name], value) for name, value in net.state_dict().items())


def test_refreshed_statistics_are_the_mean_over_batches():
    net = nn.Sequential(nn.BatchNorm1d(2))
    ensemble = Ensemble([net, net]).eval()
    batches = [torch.randn(2, 6, 2) + k for k in range(3)]
    refresh_statistics(ensemble, batches)
    expected = torch.stack([b.mean(1) for b in batches]).mean(0)
    torch.testing.assert_close(ensemble.stacked[0].running_mean, expected)
    assert not ensemble.training
    assert ensemble.template[0].momentum == 0.1


def test_networks_without_statistics_are_left_alone():
    ensemble = Ensemble([nn.Linear(2, 2)])

    def none():
        raise AssertionError("no batch is needed")
        yield

    refresh_statistics(ensemble, none())


class Peculiar(nn.Module):
    """A network with a frozen weight, a tied one, and a buffer that is not saved."""

    def __init__(self):
        super().__init__()
        self.frozen = nn.Linear(3, 3).requires_grad_(False)
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.register_buffer("mask", torch.rand(3), persistent=False)

    def forward(self, x):
        return self.second(self.first(self.frozen(x * self.mask)).tanh())


@pytest.mark.parametrize("num", [1, 3])  # three: as long as the buffer
def test_frozen_and_tied_weights_and_unsaved_buffers_stay_so(num):
    nets, x = [Peculiar() for _ in range(num)], torch.randn(num, 5, 3)
    ensemble = Ensemble(nets)
    out = ensemble(x)
    torch.testing.assert_close(out, torch.stack([net(x[k]) for k, net in enumerate(nets)]))
    assert len(list(ensemble.parameters())) == len(list(nets[0].parameters()))
    assert ensemble.stacked.second.weight is ensemble.stacked.first.weight
    assert "mask" not in ensemble.member_state(0)
    out.sum().backward()
    assert ensemble.stacked.frozen.weight.grad is None
    nets[0](x[0]).sum().backward()
    ours = ensemble.stacked.first.weight.grad[0]
    torch.testing.assert_close(ours, nets[0].first.weight.grad)


def test_fitting_leaves_frozen_weights_alone():
    net = Peculiar()
    data = LabelledSets(torch.randn(32, 3), torch.randint(3, (32,)))
    task = Task(cross_entropy, (ACCURACY,))
    (fitted,) = fit_together([net], [0], Plan(epochs=2, batch_size=8), data, data, task)
    after = fitted.best
    assert torch.equal(after["frozen.weight"], net.frozen.weight)
    assert not torch.equal(after["first.weight"], net.first.weight)
    assert torch.equal(after["first.weight"], after["second.weight"])


class Twice(nn.Module):
    """A network that uses one part twice."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(3, 3)] * 2)
        self.norm = nn.BatchNorm1d(3)
        self.again = self.norm

    def forward(self, x):
        for part in self.parts:
            x = part(x).tanh()
        return self.again(self.norm(x))


@pytest.mark.parametrize("num", [1, 2])
def test_parts_may_be_used_twice(num):
    nets, x = [Twice() for _ in range(num)], torch.randn(num, 5, 3)
    ensemble = Ensemble(nets)
    out = ensemble(x)
    torch.testing.assert_close(out, torch.stack([net(x[k]) for k, net in enumerate(nets)]))
    out.square().sum().backward()
    nets[0](x[0]).square().sum().backward()
    ours = ensemble.stacked.parts[1].weight.grad[0]
    torch.testing.assert_close(ours, nets[0].parts[0].weight.grad)
    assert ensemble.stacked.norm.num_batches_tracked.tolist() == [2] * num


def test_networks_must_be_alike():
    def network(*rest):
        return nn.Sequential(nn.Linear(3, 4), *rest)

    message = "networks must have parts and shapes alike, network 1 has not"
    with pytest.raises(ValueError, match=message):
        Ensemble([network(nn.Dropout(0.1)), network(nn.Dropout(0.9))])
    with pytest.raises(ValueError, match=message):
        Ensemble([network(), network(nn.ReLU())])
    other = network()
    other[0].register_parameter("extra", nn.Parameter(torch.zeros(2)))
    with pytest.raises(ValueError, match=message):
        Ensemble([network(), other])
    with pytest.raises(ValueError, match=r"networks must hold at least one network, got none"):
        Ensemble([])


class Reassigning(nn.Module):
    def __init__(self):
        super().__init__()
        self.map = nn.Linear(3, 3)
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x):
        self.mean = 0.5 * self.mean + 0.5 * x.mean(0).detach()
        return self.map(x - self.mean)


@pytest.mark.parametrize("num", [1, 2])
def test_buffers_must_be_changed_in_place(num):
    ensemble = Ensemble([Reassigning() for _ in range(num)])
    with pytest.raises(ValueError, match=r"buffer 'mean' must be changed in place"):
        ensemble(torch.randn(num, 5, 3))

"""Networks to lift, and what the tests of lifting share."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from symsets import RaggedSets, lift
from symsets.nn import CircularConv1d

SCHEMES = [*(f"dss-{p}" for p in ("sum", "mean", "max", "median", "power2")), "attention", "isab"]
SCHEMES += ["wreath"]


def circular(i, o):
    return nn.Conv1d(i, o, 3, padding=1, padding_mode="circular")


class Net(nn.Module):
    """Residual sums, concatenations, functional calls, a branch; signals to vectors."""

    def __init__(self):
        super().__init__()
        self.stem = circular(2, 4)
        self.block = nn.Sequential(CircularConv1d(4, 4, 3), nn.BatchNorm1d(4), nn.ReLU())
        self.mix = nn.Conv1d(8, 4, 1)
        self.head = nn.Linear(4, 3)

    def features(self, x):
        x = F.elu(self.stem(x))
        x = x + self.block(x)
        return self.mix(torch.cat([x, x.flip(1)], dim=1))

    def forward(self, x, pooled=True):
        x = self.features(x)
        return self.head(x.mean(-1)) if pooled else x


class Map(nn.Module):
    """Signals to signals, with checkpoints if asked for."""

    def __init__(self, reentrant=None, nested=False):
        super().__init__()
        self.first, self.second, self.third = circular(2, 3), circular(3, 3), circular(3, 2)
        self.reentrant, self.nested = reentrant, nested

    def middle(self, x):
        return F.elu(self.second(x))

    def body(self, x):
        x = F.elu(self.first(x))
        x = self.again(self.middle, x) if self.nested else self.middle(x)
        return self.third(x)

    def again(self, fn, x):
        return x if self.reentrant is None else checkpoint(fn, x, use_reentrant=self.reentrant)

    def forward(self, x):
        return self.body(x) if self.reentrant is None else self.again(self.body, x)


class Apply(nn.Module):
    """Run ``fn(self, x)`` with some layers at hand."""

    def __init__(self, fn, **layers):
        super().__init__()
        self.fn = fn
        for name, layer in layers.items():
            setattr(self, name, layer)

    def forward(self, x, *args, **kwargs):
        return self.fn(self, x, *args, **kwargs)


def perturbed(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return module


def lifted(model, scheme="dss-sum", **options):
    return perturbed(lift(model.double(), scheme, **options))


def ragged(sizes=(2, 0, 3, 1), channels=2, length=8):
    return RaggedSets(torch.randn(sum(sizes), channels, length, dtype=torch.float64), sizes)


def dense(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def gradients(net, *batches):
    net.zero_grad()
    loss = sum(rows(net(batch)).pow(2).sum() for batch in batches)
    loss.backward()
    return {name: p.grad.clone() for name, p in net.named_parameters()}


def rows(out):
    return out.elements if isinstance(out, RaggedSets) else out


def assert_same(a, b, tolerance=1e-12):
    assert a.keys() == b.keys()
    for name in a:
        torch.testing.assert_close(a[name], b[name], rtol=tolerance, atol=tolerance)


def without_checkpoints(net):
    """Return the same network with the same weights, keeping all activations."""
    plain = copy.deepcopy(net)
    for module in plain.modules():
        if isinstance(module, Map):
            module.reentrant = None
            module.nested = False
    return plain
